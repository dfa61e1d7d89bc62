"""The blocks of docs/guide/server.md, and those of README.md that ask a server: commands and configurations."""
import io
import json
import os
import re
import shlex
import subprocess
import sys

import numpy as np
from onnx import TensorProto, helper, save
from PIL import Image

from server_support import ServerTest
from support import SOURCE

sys.path.insert(0, str(SOURCE / "test/docs"))
from blocks import blocks_of  # noqa: E402


def blocks(page, language):
    """Those that this test runs."""
    return [block.text for block in blocks_of(SOURCE / page) if block.argument == "test/cli/serve_guide_test.py" and block.language == language]


class ServeGuide(ServerTest):
    def write(self, name, config, nodes=(), inputs=(), outputs=(), constants=()):
        """A model with a configuration; it has a graph unless it is a stage of the server or an ensemble."""
        folder = self.folder / "models" / name
        folder.mkdir(parents=True)
        (folder / "config.pbtxt").write_text(config)
        if nodes:
            (folder / "1").mkdir()
            values = [[helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in side] for side in (inputs, outputs)]
            arrays = [helper.make_tensor(n, TensorProto.FLOAT if a.dtype == np.float32 else TensorProto.INT64, a.shape, a.ravel()) for n, a in constants]
            save(helper.make_model(helper.make_graph(nodes, "g", *values, arrays), opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
                 folder / "1/model.onnx")

    def test_commands(self):
        """As they stand there, but for the ports."""
        first, *others = blocks("docs/guide/server.md", "sh") + blocks("README.md", "sh")
        make, serve = re.fullmatch(r"(.*)^(tenon serve models)\n", first, re.S | re.M).groups()
        environment = os.environ | {"PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}
        subprocess.run(["bash", "-ec", make], cwd=self.folder, env=environment, check=True)
        self.start()
        lines = [line for text in others for line in text.splitlines() if not line.startswith(serve)]
        self.assertGreater(len(lines), 5)
        answers = {}
        for line in lines:
            words = shlex.split(line.replace("localhost:8000", f"127.0.0.1:{self.port}").replace("localhost:8002", f"127.0.0.1:{self.metrics_port}"), comments=True)
            self.assertEqual(words[:2], ["curl", "-s"])
            body = words[words.index("-d") + 1].encode() if "-d" in words else b"" if "POST" in words else None
            url = next(word for word in words if word.startswith("127.0.0.1"))
            port, path = re.fullmatch(r"127.0.0.1:(\d+)(/.*)", url).groups()
            status, answers[path] = self.ask(path, body, port)
            self.assertEqual(status, 200, line)
        self.assertEqual(json.loads(answers["/v2/models/linear/infer"])["outputs"][0]["data"], [2, 4, 6])

    def test_configurations(self):
        """Models of the shapes that they are for are ready, and the ensemble finds its box."""
        detector, labels, ensemble, voice = blocks("docs/guide/server.md", "")
        pixels = [("images", ["n", 3, "height", "width"])]
        self.write("detector", detector, [helper.make_node("GlobalAveragePool", ["images"], ["means"])], pixels, [("means", ["n", 3, 1, 1])])
        self.write("linear", labels, [helper.make_node("Relu", ["x"], ["y"])], [("x", ["n", 2])], [("y", ["n", 2])])
        (self.folder / "models/linear/labels.txt").write_text("cat\ndog\n")
        self.write("detect", ensemble)
        self.write("decode", 'backend: "tenon_picture"')
        self.write("boxes", 'backend: "tenon_boxes"')
        self.write("yolov8n", "max_batch_size: 0", [helper.make_node("GlobalAveragePool", ["images"], ["means"]),
                                                    helper.make_node("Slice", ["means", "begin", "end", "axis"], ["red"]),
                                                    helper.make_node("Reshape", ["red", "shape"], ["score"]),
                                                    helper.make_node("Concat", ["box", "score"], ["output0"], axis=1)],
                   [("images", [1, 3, 640, 640])], [("output0", [1, 5, 1])],
                   [("begin", np.array([0])), ("end", np.array([1])), ("axis", np.array([1])), ("shape", np.array([1, 1, 1])),
                    ("box", np.array([320, 320, 64, 64], np.float32).reshape(1, 4, 1))])
        self.write("voice", voice, [helper.make_node("ReduceMean", ["input"], ["mean"], axes=[1]), helper.make_node("ReduceMean", ["state"], ["old"], axes=[0, 2], keepdims=0),
                                    helper.make_node("Add", ["mean", "old"], ["output"]), helper.make_node("Add", ["state", "mean"], ["stateN"])],
                   [("input", [1, "samples"]), ("state", [2, "n", 128])], [("output", [1, 1]), ("stateN", [2, 1, 128])])
        self.start()
        self.assertEqual(self.ask("/v2/health/ready")[0], 200, self.said)
        file = io.BytesIO()
        Image.new("RGB", (640, 640), (204, 0, 0)).save(file, "JPEG", quality=100)
        answers = self.infer("detect", {"picture": (np.frombuffer(file.getvalue(), np.uint8), "UINT8")})
        np.testing.assert_allclose(answers["detection_boxes"], [288, 288, 352, 352], atol=1)
        np.testing.assert_allclose(answers["detection_scores"], [0.8], atol=0.01)
        classes = self.infer("linear", {"x": (np.array([[1, 3]], np.float32), "FP32")}, outputs=[{"name": "y", "parameters": {"classification": 1}}])
        self.assertEqual(list(classes["y"]), ["3:1:dog"])
        for begins, expected in (True, 1), (False, 2):  # ones, and the state of before
            sequence = {"sequence_id": 1, "sequence_start": begins}
            heard = self.infer("voice", {"input": (np.ones((1, 576), np.float32), "FP32")}, parameters=sequence)
            np.testing.assert_allclose(heard["output"], [expected], rtol=1e-5)

    def infer(self, model, inputs, **more):
        """{output: its elements}."""
        tensors = [{"name": name, "datatype": datatype, "shape": list(array.shape), "data": array.ravel().tolist()} for name, (array, datatype) in inputs.items()]
        status, answer = self.ask(f"/v2/models/{model}/infer", json.dumps({"inputs": tensors, **more}).encode())
        self.assertEqual(status, 200, answer)
        return {output["name"]: output["data"] for output in json.loads(answer)["outputs"]}
