"""tenon.quantize, and builds in int8 by samples. Expected values by NumPy."""
import numpy as np
import onnx
import pytest
import tenon
from models import model, value
from onnx import helper, numpy_helper

RANDOM = np.random.default_rng(4)
WEIGHTS = {f"w{i}": RANDOM.standard_normal((16, 16)).astype(np.float32) for i in range(3)}
SAMPLES = RANDOM.standard_normal((12, 16)).astype(np.float32)


def chain():
    nodes, last = [], "x"
    for i in range(3):
        nodes += [helper.make_node("MatMul", [last, f"w{i}"], [f"h{i}"], name=f"product{i}"), helper.make_node("Tanh", [f"h{i}"], [f"t{i}"])]
        last = f"t{i}"
    return model(nodes, [value("x", ["n", 16])], [value(last, ["n", 16])], WEIGHTS)


def constants(quantized):
    return {t.name: numpy_helper.to_array(t) for t in onnx.load_model_from_string(quantized).graph.initializer}


def kept(quantized):
    metadata = {p.key: p.value for p in onnx.load_model_from_string(quantized).metadata_props}
    return metadata.get("tenon.kept_float", "").split()


def test_scales(tmp_path):
    quantized = tenon.quantize(chain(), tmp_path / "q.onnx", data={"x": SAMPLES}, algorithm="minmax")
    assert (tmp_path / "q.onnx").read_bytes() == quantized
    found = constants(quantized)
    assert found["x_scale"] == pytest.approx(abs(SAMPLES).max() / 127)
    np.testing.assert_allclose(found["w0_scale"], abs(WEIGHTS["w0"]).max(0) / 127, rtol=1e-6)
    assert kept(quantized) == []


def test_what_stays_in_float(tmp_path):
    cache = tmp_path / "cache"
    quantized = tenon.quantize(chain(), data={"x": SAMPLES}, cache=cache, keep_float=["product1"])
    assert kept(quantized) == ["product1"] and "w1" in constants(quantized)
    quantized = tenon.quantize(chain(), cache=cache, max_loss=1e-2, loss_data={"x": SAMPLES})
    assert 0 < len(kept(quantized)) < 3
    assert not kept(tenon.quantize(chain(), cache=cache, max_loss=1, loss_metric="cosine", loss_data={"x": SAMPLES}))


def test_preparations():
    quantized = tenon.quantize(chain(), data={"x": SAMPLES}, smooth_quant=True, bias_correction=True, equalize=True)
    expected = np.sqrt(abs(SAMPLES).max(0) / abs(WEIGHTS["w0"]).max(1))
    np.testing.assert_allclose(1 / constants(quantized)["x_smoothing"], expected, rtol=1e-5)


def test_refusals(tmp_path):
    with pytest.raises(tenon.Error, match="--calibData"):
        tenon.quantize(chain())
    with pytest.raises(tenon.Error, match="no node 'nowhere'"):
        tenon.quantize(chain(), data={"x": SAMPLES}, keep_float=["nowhere"])
    with pytest.raises(FileNotFoundError, match="none.onnx"):
        tenon.quantize(tmp_path / "none.onnx", data={"x": SAMPLES})


def rounding(**options):
    """A convolution by one: what comes out is what the range of x makes of four numbers."""
    one = model([helper.make_node("Conv", ["x", "w"], ["y"])], [value("x", [1, 1, 2, 2])], [value("y", [1, 1, 2, 2])],
                {"w": np.ones((1, 1, 1, 1), np.float32)})
    engine = tenon.compile(one, precision="int8", target="cpu", **options)
    return engine(np.array([0.3, 1.6, -70, 300], np.float32).reshape(1, 1, 2, 2)).ravel().tolist()


def test_builds_by_samples():
    samples = np.array([3, -127, 1, 5], np.float64).reshape(4, 1, 1, 1) * np.ones((1, 1, 2, 2))
    assert rounding(calibration={"x": samples}) == pytest.approx([0, 2, -70, 127], rel=5e-3)


@pytest.mark.parametrize("calibration, text", [
    ({}, "no samples of input 'x'"),
    ({"x": np.ones((3, 2, 2, 2), np.float32)}, r"'x' has samples of \(2, 2, 2\), and the input \(1, 1, 2, 2\)"),
    ({"x": np.ones((0, 1, 2, 2), np.float32)}, "expected arrays of as many samples each, 1 or more"),
])
def test_samples_that_do_not_fit(calibration, text):
    with pytest.raises(ValueError, match=text):
        rounding(calibration=calibration)


def test_quantized_models_need_no_samples():
    quantized = tenon.quantize(chain(), data={"x": SAMPLES})
    by_flag = tenon.compile(quantized, precision="int8", shapes={"x": (4, 16)})(SAMPLES[:4])
    np.testing.assert_array_equal(by_flag, tenon.compile(quantized, shapes={"x": (4, 16)})(SAMPLES[:4]))
