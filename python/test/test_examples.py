"""The examples that need no PyTorch run; torch/test_examples.py has the others."""
import os
import pathlib
import subprocess
import sys

import onnx
import protos
import pytest

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "python"
SRCNN = EXAMPLES.parent / "super_resolution" / "srcnn.onnx"


@pytest.mark.parametrize("name, arguments, text", [
    ("first_steps", [], "TypeError: input 'images' expects an array of float32, found float64"),
    ("hand_built_network", [], "(1, 3, 9, 7) became (1, 3, 10, 12)"),
    ("plugins", [], "3 plugins give what NumPy gives"),
    ("network_by_hand", [SRCNN], "6 layers by hand; largest difference from the model's own: "),
    ("profile_and_progress", [SRCNN], "%  conv2 + conv2.relu"),
    ("python_plugin", [], "as numpy.pad gives it"),
    ("edit_model", [], "three at once differ from one after the other by "),
    ("serve", [], "100 answers, the last: 99 99 99 99 -> 792"),
    ("edit_graph", [], "after:  ['MatMul', 'Relu']"),
    ("refit", [], "bytes needs ['projection.weight']")])
def test_example(name, arguments, text, tmp_path):
    done = subprocess.run([sys.executable, EXAMPLES / f"{name}.py", *arguments], capture_output=True, text=True,
                          env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert text in done.stdout


def test_a_model_becomes_a_plan_file(tmp_path):
    node = protos.helper.make_node("Softmax", ["x"], ["y"])
    onnx.save(protos.model([node], [("x", protos.FLOAT, ("n", 3))], [("y", protos.FLOAT, ("n", 3))]),
              tmp_path / "model.onnx")
    done = subprocess.run([sys.executable, EXAMPLES / "build_from_onnx.py", tmp_path / "model.onnx",
                           tmp_path / "model.plan"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "y: float32 (2, 3), mean 0.3333\n"
