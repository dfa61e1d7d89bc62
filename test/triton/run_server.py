"""Tests the backend in Triton Inference Server itself, the one in PyPI's wheel nvidia-pytriton, on models of all kinds.

    .venv/bin/python -B test/triton/run_server.py WHEEL [--backends FOLDER] [NAME of a test]

FOLDER is where an installation has its backends, out/lib/triton/backends by default. tritonclient asks the server, and NumPy says what
is right.
"""
import argparse
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

import ml_dtypes
import numpy as np
import tritonclient.grpc
import tritonclient.http
from onnx import TensorProto, helper, numpy_helper
from tritonclient.utils import InferenceServerException

ROOT = pathlib.Path(__file__).resolve().parents[2]
SERVER = "pytriton/tritonserver/bin/tritonserver"
SECONDS = 120  # until the server is there, and until it has gone
TYPES = {"FP32": (TensorProto.FLOAT, np.float32), "FP16": (TensorProto.FLOAT16, np.float16), "BF16": (TensorProto.BFLOAT16, ml_dtypes.bfloat16),
         "INT8": (TensorProto.INT8, np.int8), "UINT8": (TensorProto.UINT8, np.uint8), "INT32": (TensorProto.INT32, np.int32),
         "INT64": (TensorProto.INT64, np.int64), "BOOL": (TensorProto.BOOL, np.bool_)}
WEIGHTS = np.random.default_rng(0).standard_normal((4, 5)).astype(np.float32)


def model(nodes, inputs, outputs, constants=()):
    """`inputs` and `outputs` are (name, type, shape), `constants` are arrays by name."""
    values = [[helper.make_tensor_value_info(*one) for one in some] for some in (inputs, outputs)]
    made = helper.make_graph(nodes, "g", *values, [numpy_helper.from_array(array, name) for name, array in dict(constants).items()])
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def linear():
    """y = x times WEIGHTS, of N rows."""
    return model([helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", TensorProto.FLOAT, ["N", 4])],
                 [("y", TensorProto.FLOAT, ["N", 5])], {"w": WEIGHTS})


def models():
    """{name: (model, what config.pbtxt has besides the backend)}."""
    real, whole = TensorProto.FLOAT, TensorProto.INT64
    made = {f"transpose_{name.lower()}": (model([helper.make_node("Transpose", ["x"], ["y"], perm=[0, 2, 1])], [("x", number, ["N", 2, 3])],
                                                [("y", number, ["N", 3, 2])]), "") for name, (number, _) in TYPES.items()}
    made["linear"] = (linear(), "")
    made["batched"] = (linear(), "max_batch_size: 16 instance_group { kind: KIND_CPU count: 2 } "
                                 "dynamic_batching { max_queue_delay_microseconds: 20000 }")
    made["whole"] = (linear(), 'input { name: "x" data_type: TYPE_FP32 dims: [-1, 4] }')
    made["two"] = (model([helper.make_node("Neg", ["x"], ["y"]), helper.make_node("Abs", ["x"], ["z"])], [("x", real, [3])],
                         [("y", real, [3]), ("z", real, [3])]), "")
    made["scalars"] = (model([helper.make_node("Add", ["x", "one"], ["y"])], [("x", whole, ["N"])], [("y", whole, ["N"])],
                             {"one": np.array([1])}), "")
    made["first"] = (model([helper.make_node("Slice", ["x", "zero", "count"], ["y"])], [("x", real, [10]), ("count", whole, [1])],
                           [("y", real, ["n"])], {"zero": np.array([0])}),
                     'parameters { key: "min_shapes" value { string_value: "count:0" } } '
                     'parameters { key: "max_shapes" value { string_value: "count:10" } }')
    made["sequence"] = (model([helper.make_node("Add", ["x", "start"], ["y"])], [("x", real, ["N", 1]), ("start", real, ["N", 1])],
                              [("y", real, ["N", 1])]),
                        'sequence_batching { control_input { name: "start" '
                        "control { kind: CONTROL_SEQUENCE_START fp32_false_true: [0, 100] } } }")
    made["large"] = (model([helper.make_node("Neg", ["x"], ["y"])], [("x", real, ["N", 1 << 20])], [("y", real, ["N", 1 << 20])]), "")
    made["broken"] = (linear(), 'input { name: "x" data_type: TYPE_FP32 dims: 7 }')
    made["text"] = (b"no model", "")
    return made


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Server:
    """tritonserver on a repository in a folder of its own."""

    def __init__(self, wheel, backends, folder):
        with zipfile.ZipFile(wheel) as files:
            files.extractall(folder)
        (folder / SERVER).chmod(0o755)
        for name, (content, config) in models().items():
            version = folder / "models" / name / "1"
            version.mkdir(parents=True)
            (version / "model.onnx").write_bytes(content)
            (version.parent / "config.pbtxt").write_text(f'backend: "tenon" {config}\n')
        self.http, self.grpc, metrics = free_ports(3)
        self.log = folder / "log"
        options = {"model-repository": folder / "models", "backend-directory": backends, "http-address": "127.0.0.1", "http-port": self.http,
                   "grpc-address": "127.0.0.1", "grpc-port": self.grpc, "metrics-port": metrics, "metrics-address": "127.0.0.1",
                   "exit-on-error": "false", "backend-config": "tenon,threads=2", "model-control-mode": "explicit", "load-model": "*"}
        with self.log.open("w") as log:
            self.process = subprocess.Popen([folder / SERVER, *(f"--{key}={value}" for key, value in options.items())], stdout=log,
                                            stderr=log)
        self.client = tritonclient.http.InferenceServerClient(f"127.0.0.1:{self.http}", concurrency=16, network_timeout=SECONDS)
        self.wait()

    def wait(self):
        for _ in range(SECONDS):
            try:
                if self.client.get_model_repository_index() and self.client.is_server_live():
                    return
            except OSError:
                time.sleep(1)
            if self.process.poll() is not None:
                break
        sys.exit(f"tritonserver did not start:\n{self.log.read_text()}")

    def stop(self):
        """Its exit status, after it has unloaded all."""
        self.client.close()  # it waits for connections
        self.process.terminate()
        return self.process.wait(SECONDS)


def asked(library, arrays):
    """Inputs of a request, by name."""
    inputs = []
    for name, array in arrays.items():
        datatype = next(key for key, (_, one) in TYPES.items() if one == array.dtype)
        inputs.append(library.InferInput(name, list(array.shape), datatype))
        inputs[-1].set_data_from_numpy(array)
    return inputs


class ServerTest(unittest.TestCase):
    server = None

    def setUp(self):
        self.client = self.server.client

    def infer(self, name, arrays, **options):
        return self.client.infer(name, asked(tritonclient.http, arrays), **options)

    def test_all_models_but_broken_ones_are_ready(self):
        states = {one["name"]: one.get("state") for one in self.client.get_model_repository_index()}
        self.assertEqual({name for name, state in states.items() if state != "READY"}, {"broken", "text"})

    def test_the_configuration_is_completed(self):
        config = self.client.get_model_config("linear")
        self.assertEqual(config["max_batch_size"], 4)
        self.assertEqual([(one["name"], one["data_type"], one["dims"]) for one in config["input"] + config["output"]],
                         [("x", "TYPE_FP32", [4]), ("y", "TYPE_FP32", [5])])
        self.assertIn("dynamic_batching", config)
        self.assertEqual(config["instance_group"][0]["kind"], "KIND_CPU")

    def test_types(self):
        for name, (_, kind) in TYPES.items():
            with self.subTest(name):
                x = (np.arange(12).reshape(2, 2, 3) % (2 if name == "BOOL" else 100)).astype(kind)
                y = self.infer(f"transpose_{name.lower()}", {"x": x}).as_numpy("y")
                np.testing.assert_array_equal(y, x.transpose(0, 2, 1))

    def test_requests_become_batches(self):
        random = np.random.default_rng(1)
        xs = [random.standard_normal((1 + i % 3, 4)).astype(np.float32) for i in range(300)]
        answers = [self.client.async_infer("batched", asked(tritonclient.http, {"x": x})) for x in xs]
        for x, answer in zip(xs, answers):
            np.testing.assert_allclose(answer.get_result().as_numpy("y"), x @ WEIGHTS, rtol=1e-5, atol=1e-6)
        statistics = self.client.get_inference_statistics("batched")["model_stats"][0]
        self.assertEqual(statistics["inference_stats"]["success"]["count"], len(xs))
        self.assertEqual(statistics["inference_count"], sum(len(x) for x in xs))
        self.assertLess(statistics["execution_count"], len(xs))

    def test_shapes_with_the_batch_in_the_configuration(self):
        x = np.ones((3, 4), np.float32)
        self.assertEqual(self.client.get_model_config("whole")["max_batch_size"], 0)
        np.testing.assert_allclose(self.infer("whole", {"x": x}).as_numpy("y"), x @ WEIGHTS, rtol=1e-5)
        with self.assertRaisesRegex(InferenceServerException, "input 'x' has the shape 9x4; expected 1x4 to 4x4"):
            self.infer("whole", {"x": np.ones((9, 4), np.float32)})

    def test_only_outputs_that_are_wanted(self):
        x = np.array([-1, 0, 2], np.float32)
        answer = self.infer("two", {"x": x}, outputs=[tritonclient.http.InferRequestedOutput("z")])
        np.testing.assert_array_equal(answer.as_numpy("z"), abs(x))
        self.assertIsNone(answer.as_numpy("y"))

    def test_a_number_for_each_item(self):
        answer = self.infer("scalars", {"x": np.array([[4], [6]])})
        np.testing.assert_array_equal(answer.as_numpy("y"), [[5], [7]])

    def test_values_decide_shapes(self):
        x = np.arange(10, dtype=np.float32)
        for count in (0, 3, 10):
            answer = self.infer("first", {"x": x, "count": np.array([count])})
            np.testing.assert_array_equal(answer.as_numpy("y"), x[:count])
        with self.assertRaisesRegex(InferenceServerException, "count"):
            self.infer("first", {"x": x, "count": np.array([11])})

    def test_sequences_have_control_inputs(self):
        x = np.array([[1]], np.float32)
        found = [self.infer("sequence", {"x": x}, sequence_id=7, sequence_start=i == 0, sequence_end=i == 2).as_numpy("y")[0, 0]
                 for i in range(3)]
        self.assertEqual(found, [101, 1, 1])

    def test_inputs_of_many_buffers(self):
        x = np.random.default_rng(2).standard_normal((4, 1 << 20)).astype(np.float32)
        np.testing.assert_array_equal(self.infer("large", {"x": x}).as_numpy("y"), -x)
        with tritonclient.grpc.InferenceServerClient(f"127.0.0.1:{self.server.grpc}") as client:
            answer = client.infer("large", asked(tritonclient.grpc, {"x": x}))
        np.testing.assert_array_equal(answer.as_numpy("y"), -x)

    def test_errors_say_why_a_model_is_not_there(self):
        with self.assertRaisesRegex(InferenceServerException, "input 'x' is 7 in the configuration, and 4 in the model"):
            self.client.load_model("broken")
        with self.assertRaisesRegex(InferenceServerException, "text/1/model.onnx"):
            self.client.load_model("text")
        config = json.dumps({"backend": "tenon", "input": [{"name": "x", "dims": [4], "data_type": "TYPE_FP32"}]})
        self.client.load_model("broken", config=config)
        x = np.ones((1, 4), np.float32)
        np.testing.assert_allclose(self.infer("broken", {"x": x}).as_numpy("y"), x @ WEIGHTS, rtol=1e-5)
        self.client.unload_model("broken")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("wheel", type=pathlib.Path)
    parser.add_argument("--backends", type=pathlib.Path, default=ROOT / "out/lib/triton/backends")
    options, rest = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="tenon_triton_") as folder:
        ServerTest.server = Server(options.wheel, options.backends.resolve(), pathlib.Path(folder))
        result = unittest.main(argv=[sys.argv[0], *rest], exit=False).result
        status = ServerTest.server.stop()
        if not result.wasSuccessful() or status != 0:
            print(ServerTest.server.log.read_text()[-6000:])
            print(f"tritonserver ended with {status}")
    return 0 if result.wasSuccessful() and status == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
