"""A server of a folder of models as a process, for tests of it: how it is started, asked and watched."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

import numpy as np
from onnx import TensorProto, helper, save


class Server:
    """`tenon serve FOLDER` on ports of its own, ready."""

    def __init__(self, tenon, folder, *options, http="127.0.0.1", grpc="127.0.0.1"):
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [tenon, "serve", folder, f"--http-address={http}", "--http-port=0", f"--grpc-address={grpc}", "--grpc-port=0",
             "--metrics-address=127.0.0.1", "--metrics-port=0", *options], stderr=subprocess.PIPE, text=True)
        said = ""
        for line in self.process.stderr:
            said += line
            if line == "tenon-server: ready\n":
                break
        else:
            raise RuntimeError("the server ended: " + said)
        ports = {name.lower(): int(port) for name, port in re.findall(r"(HTTP|gRPC|metrics) at 127.0.0.1:(\d+)", said)}
        self.http, self.grpc, self.metrics = ports.get("http"), ports.get("grpc"), ports["metrics"]
        self.reader = subprocess.Popen(["cat"], stdin=self.process.stderr, stdout=self.log)  # what is not read would stop it

    def ask(self, path, body=None, port=None):
        """The response's status and its body."""
        request = urllib.request.Request(f"http://127.0.0.1:{port or self.http}{path}", data=body)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, response.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def infer(self, model, x):
        body = {"inputs": [{"name": "x", "datatype": "FP32", "shape": list(x.shape), "data": x.ravel().tolist()}]}
        status, answer = self.ask(f"/v2/models/{model}/infer", json.dumps(body).encode())
        if status != 200:
            return status, answer.decode()
        output, = json.loads(answer)["outputs"]
        return status, np.array(output["data"], np.float32).reshape(output["shape"])

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def resident(self):
        """MiB."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    def is_alive(self):
        return self.process.poll() is None

    def end(self):
        """SIGTERM; the exit status. Of a server that ends with another than 0, what it logged is shown."""
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(timeout=60)
            self.reader.wait()
            if status != 0:
                self.log.seek(0)
                sys.stderr.write(self.log.read()[-20000:])
            return status
        finally:
            self.process.kill()
            self.reader.wait()
            self.process.stderr.close()
            self.log.close()


def write_products(path, size, layers, end, seed=5):
    """y = end(tanh(... tanh(x w1) ... wn)) of any batch, with w of size x size; `end` is a plugin that gives what it takes. Returns the same
    in NumPy."""
    random = np.random.default_rng(seed)
    weights = [(random.normal(size=(size, size)) / size**0.5).astype(np.float32) for _ in range(layers)]
    nodes, name = [], "x"
    for i in range(layers):
        nodes += [helper.make_node("MatMul", [name, f"w{i}"], [f"p{i}"]), helper.make_node("Tanh", [f"p{i}"], [f"t{i}"])]
        name = f"t{i}"
    nodes.append(helper.make_node(end, [name], ["y"], domain="tenon"))
    write_model(path, nodes, ["n", size], [helper.make_tensor(f"w{i}", TensorProto.FLOAT, w.shape, w.tobytes(), raw=True) for i, w in enumerate(weights)],
                [helper.make_opsetid("tenon", 1)])

    def answer(x):
        for w in weights:
            x = np.tanh(x @ w)
        return x

    return answer


def write_model(path, nodes, shape, constants=(), opsets=(), output=None):
    """From x to y, of the same shape or that of `output`."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, of) for name, of in (("x", shape), ("y", output or shape)))
    path.parent.mkdir(parents=True, exist_ok=True)
    save(helper.make_model(helper.make_graph(nodes, "g", [x], [y], constants), ir_version=8,
                           opset_imports=[helper.make_opsetid("", 17), *opsets]), path)
