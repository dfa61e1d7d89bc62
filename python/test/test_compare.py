"""tenon.compare: errors by tensor. Expected values by NumPy."""
import numpy as np
import pytest
import tenon
from models import model, value
from onnx import helper


def chain(weights):
    nodes, last = [], "x"
    for i in range(len(weights)):
        nodes += [helper.make_node("MatMul", [last, f"w{i}"], [f"h{i}"]), helper.make_node("Tanh", [f"h{i}"], [f"t{i}"])]
        last = f"t{i}"
    return model(nodes, [value("x", ["n", 8])], [value(last, ["n", 8])], {f"w{i}": w for i, w in enumerate(weights)})


def test_what_a_layer_adds_and_what_it_inherits(tmp_path):
    random = np.random.default_rng(3)
    weights = [random.standard_normal((8, 8), np.float32) / 3 for _ in range(4)]
    changed = [w + np.float32(0.02) * (i == 1) for i, w in enumerate(weights)]
    x, page = random.standard_normal((2, 8), np.float32), tmp_path / "page.html"
    report = tenon.compare(chain(changed), chain(weights), {"x": x}, page=page)
    expected, found = x.astype(np.float64), x.astype(np.float64)
    for a, b in zip(weights, changed):
        expected, found = np.tanh(expected @ a), np.tanh(found @ b)
    output, = report["outputs"]
    assert output["total"]["max"] == pytest.approx(abs(found - expected).max(), abs=1e-5)
    assert output["own"]["of_range"] < 1e-5 < output["inherited"]["of_range"]
    adds = {t["tensor"] for t in report["tensors"] if t["own"]["of_range"] > 1e-3}
    assert adds and adds <= {"h1", "t1"}
    assert "tanh" in page.read_text().lower()  # the layers, of which the page draws a graph


def test_outputs_alone():
    report = tenon.compare(chain([np.eye(8, dtype=np.float32)]), layers=False, options=["--shapes=x:3x8"])
    assert report["tensors"] == [] and report["outputs"][0]["total"]["of_range"] < 1e-6


def test_plans_by_their_outputs(tmp_path):
    x = np.random.default_rng(2).standard_normal((2, 8), np.float32)
    for name, factor in (("a.plan", 1), ("b.plan", 2)):
        tenon.compile(chain([factor * np.eye(8, dtype=np.float32)]), shapes={"x": (2, 8)}).save(tmp_path / name)
    report = tenon.compare(tmp_path / "a.plan", tmp_path / "b.plan", {"x": x})
    assert report["outputs"][0]["total"]["max"] == pytest.approx(abs(np.tanh(x) - np.tanh(2 * x)).max(), abs=1e-5)


def test_refusals(tmp_path):
    with pytest.raises(FileNotFoundError, match="none.onnx"):
        tenon.compare(tmp_path / "none.onnx")
    with pytest.raises(TypeError, match="found int"):
        tenon.compare(3)
    with pytest.raises(tenon.Error, match="input 'x' is dynamic"):
        tenon.compare(chain([np.eye(8, dtype=np.float32)]))
