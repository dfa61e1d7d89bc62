"""The large CNNs that the onnx wheel carries without their weights, run by `tenon run`.

Each computes its weights from a constant; the wheel has the right output for the input that its own
test runner makes: the numbers from 0 to 1 in order.
"""
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy as np
import onnx
from onnx import numpy_helper

TENON = os.environ["TENON"]
MODELS = pathlib.Path(onnx.__file__).parent / "backend/test/data/light"


def counted_input(value):
    shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
    count = int(np.prod(shape))
    return (np.arange(count).reshape(shape) / count).astype(np.float32)


class LightModels(unittest.TestCase):
    def check(self, path):
        graph = onnx.load(path).graph
        weights = {tensor.name for tensor in graph.initializer}
        inputs = {v.name: counted_input(v) for v in graph.input if v.name not in weights}
        expected = numpy_helper.to_array(onnx.load_tensor(str(path).replace(".onnx", "_output_0.pb")))
        with tempfile.TemporaryDirectory() as folder:
            given, made = f"{folder}/in.npz", f"{folder}/out.npz"
            np.savez(given, **inputs)
            answer = subprocess.run([TENON, "run", path, f"--inputs={given}", f"--outputs={made}"],
                                    capture_output=True, text=True)
            self.assertEqual(answer.returncode, 0, answer.stdout + answer.stderr)
            found = np.load(made)[graph.output[0].name]
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)


def add_test(path):
    name = path.stem.removeprefix("light_")
    setattr(LightModels, f"test_{name}", lambda self: self.check(path))


for model in sorted(MODELS.glob("light_*.onnx")):
    add_test(model)
unittest.main()
