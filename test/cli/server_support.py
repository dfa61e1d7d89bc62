"""A server, and what tests of it share."""
import re
import subprocess
import urllib.error
import urllib.request

import numpy as np
from onnx import TensorProto, helper, save

from support import TENON, CliTest


class ServerTest(CliTest):
    """Starts `tenon serve` and asks it."""

    def start(self, *options):
        """A server of the folder `models`, when it is ready; its port is `self.port`."""
        self.server = subprocess.Popen(
            [TENON, "serve", self.folder / "models", "--http-address=127.0.0.1", "--http-port=0", "--grpc-address=127.0.0.1", "--grpc-port=0",
             "--metrics-port=0", *options],
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.server.stderr.close)
        self.addCleanup(self.server.wait)
        self.addCleanup(self.server.kill)
        self.said = ""
        for line in self.server.stderr:
            self.said += line
            if line == "tenon-server: ready\n":
                break
        self.port = int(re.search(r"HTTPS? at 127.0.0.1:(\d+)", self.said)[1])
        self.grpc_port = int(re.search(r"gRPC at 127.0.0.1:(\d+)", self.said)[1])
        self.metrics_port = int(re.search(r"metrics at 127.0.0.1:(\d+)", self.said)[1])

    def ask(self, path, body=None, port=None, headers={}):
        """The response's status and its body."""
        request = urllib.request.Request(f"http://127.0.0.1:{port or self.port}{path}", data=body, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return response.status, response.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def write_model(self):
        """y = Gemm(x, w, b), of any batch."""
        (self.folder / "models").mkdir(exist_ok=True)
        random = np.random.default_rng(5)
        self.w, self.b = random.normal(size=(3, 2)).astype(np.float32), random.normal(size=2).astype(np.float32)
        constants = [helper.make_tensor(n, TensorProto.FLOAT, a.shape, a.flatten()) for n, a in (("w", self.w), ("b", self.b))]
        save(helper.make_model(helper.make_graph(
            [helper.make_node("Gemm", ["x", "w", "b"], ["y"])], "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2])], constants),
            opset_imports=[helper.make_opsetid("", 17)], ir_version=8), self.folder / "models/linear.onnx")
