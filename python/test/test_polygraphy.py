"""Polygraphy's commands run on Tenon."""
import subprocess
import sys

import numpy as np
import onnx
import protos
import pytest
from programs import run


SAVE = """
import numpy as np
from polygraphy.comparator import IterationResult, RunResults
from polygraphy.json import save_json
x = np.random.default_rng(0).random((2, 3), np.float32)
save_json([{"x": x}], "inputs.json")
for name, y in (("outputs", x @ np.arange(6, dtype=np.float32).reshape(3, 2)),
                ("wrong", np.zeros((2, 2), np.float32))):
    results = RunResults()
    results.add([IterationResult({"y": y})], runner_name=name)
    results.save(name + ".json")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """model.onnx, y = x @ w for (n, 3), with inputs and outputs as Polygraphy stores them."""
    folder = tmp_path_factory.mktemp("polygraphy")
    weights = np.arange(6, dtype=np.float32).reshape(3, 2)
    model = protos.model([protos.helper.make_node("MatMul", ["x", "w"], ["y"], name="product")],
                         [("x", protos.FLOAT, ("n", 3))], [("y", protos.FLOAT, ("n", 2))],
                         [("w", weights)])
    onnx.save(model, folder / "model.onnx")
    subprocess.run([sys.executable, "-c", SAVE], cwd=folder, check=True)
    return folder


def polygraphy(*arguments, folder):
    status, text = run("polygraphy", *arguments, folder=folder)
    assert status == 0, text
    return text


PROFILE = ("--trt-min-shapes", "x:[1,3]", "--trt-opt-shapes", "x:[2,3]", "--trt-max-shapes", "x:[4,3]")


def test_polygraphy_run(folder):
    text = polygraphy("run", "model.onnx", "--trt", *PROFILE, "--load-inputs", "inputs.json",
                      "--load-outputs", "outputs.json", folder=folder)
    assert "Pass Rate: 100.00%" in text


def test_polygraphy_run_finds_differences(folder):
    status, text = run("polygraphy", "run", "model.onnx", "--trt", *PROFILE, "--load-inputs",
                       "inputs.json", "--load-outputs", "wrong.json", folder=folder)
    assert status != 0 and "Pass Rate: 0.00%" in text


def test_polygraphy_convert_and_inspect(folder):
    polygraphy("convert", "model.onnx", "-o", "model.engine", *PROFILE, folder=folder)
    text = polygraphy("inspect", "model", "model.engine", folder=folder)
    assert "x [dtype=float32, shape=(-1, 3)]" in text and "1 Profile" in text
    text = polygraphy("inspect", "model", "model.onnx", "--show", "layers", "--display-as=trt",
                      folder=folder)
    assert "product" in text
    polygraphy("convert", "model.onnx", "-o", "detailed.engine", "--profiling-verbosity", "detailed",
               *PROFILE, folder=folder)
    text = polygraphy("inspect", "model", "detailed.engine", "--show", "layers", folder=folder)
    assert "product [Op: " in text and "{x [dtype=float32, shape=(-1, 3), Format: Row major linear FP32]}" in text
    text = polygraphy("run", "model.engine", "--trt", "--load-inputs", "inputs.json",
                      "--load-outputs", "outputs.json", folder=folder)
    assert "Pass Rate: 100.00%" in text


def test_polygraphy_finds_what_a_model_needs(folder):
    """Two nodes that nobody knows, next to each other, between others."""
    tensors = ["x", "a", "b", "c", "y"]
    nodes = [protos.helper.make_node(op, tensors[i:i + 1], tensors[i + 1:i + 2])
             for i, op in enumerate(("Relu", "Frobnicate", "Frobnicate", "Relu"))]
    values = [protos.helper.make_tensor_value_info(name, protos.FLOAT, (2, 3)) for name in tensors]
    graph = protos.helper.make_graph(nodes, "test", values[:1], values[-1:], value_info=values[1:-1])
    onnx.save(protos.helper.make_model(graph), folder / "unknown.onnx")
    text = polygraphy("inspect", "capability", "unknown.onnx", "--with-partitioning", "-o", "parts",
                      folder=folder)
    assert "[[1, 3]]" in text  # from node 1 to node 3, which is not among them
    supported = sorted(path.name for path in (folder / "parts").glob("supported*"))
    assert supported == ["supported_subgraph-nodes-0-0.onnx", "supported_subgraph-nodes-3-3.onnx"]
    text = polygraphy("inspect", "capability", "unknown.onnx", "-o", "reasons", folder=folder)
    assert text.count("Frobnicate") >= 2


def test_polygraphy_surgeon(folder):
    polygraphy("surgeon", "sanitize", "model.onnx", "-o", "clean.onnx", "--fold-constants",
               folder=folder)
    onnx.checker.check_model(onnx.load(folder / "clean.onnx"))
