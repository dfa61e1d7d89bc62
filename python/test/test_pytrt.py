"""tenon.pytrt on NumPy's arrays; torch/test_pytrt.py has from_torch."""
import pathlib
import struct

import numpy as np
import onnx
import protos
import pytest
from onnx import helper
from PIL import Image

import tenon
from tenon import pytrt


def model():
    node = helper.make_node("ReduceSum", ["x"], ["y"], keepdims=0)
    node.input.append("axes")
    return protos.model([node], [("x", protos.FLOAT, ("n", 3, "h"))],
                        [("y", protos.FLOAT, ("n", 3))], [("axes", np.int64([2]))])


def test_a_file_becomes_a_callable(tmp_path):
    onnx.save(model(), tmp_path / "a.onnx")
    plan = str(tmp_path / "a.trtmodel")
    assert pytrt.compile_onnx_to_file(4, str(tmp_path / "a.onnx"), plan, inputs_dims=[[3, 5]])
    x = np.random.rand(3, 3, 5).astype(np.float32)
    for infer in (pytrt.load(plan), pytrt.load_infer_file(plan), pytrt.load(pathlib.Path(plan).read_bytes())):
        np.testing.assert_allclose(infer(x), x.sum(2), rtol=1e-6)
        assert (infer.num_input, infer.num_output, infer.max_batch_size) == (1, 1, 4)
        assert infer.get_input_name() == "x" and infer.is_output_name("y")
    infer.save(tmp_path / "b.trtmodel")
    assert pytrt.load(str(tmp_path / "b.trtmodel")).serial_engine() == infer.serial_engine()
    with pytest.raises(TypeError, match=r"expected a tensorrt.ICudaEngine, found str; tenon.load\(\) takes"):
        pytrt.Infer(plan)
    with pytest.raises(ValueError, match="'x' expects shape"):
        infer(np.zeros((5, 3, 5), np.float32))


def test_bytes_become_a_plan():
    data = pytrt.compile_onnxdata_to_memory(2, model().SerializeToString(), inputs_dims=[[1, 3, 2]])
    assert pytrt.load_infer_data(data)(np.ones((2, 3, 2), np.float32)).tolist() == [[2] * 3] * 2


def test_what_is_not_supported_says_so():
    data = model().SerializeToString()
    with pytest.raises(ValueError, match=r"'x' has shape \(-1, 3, -1\): give the extents"):
        pytrt.compile_onnxdata_to_memory(2, data)
    with pytest.raises(NotImplementedError, match="pytrt.Yolo is not supported yet"):
        pytrt.Yolo
    with pytest.raises(ValueError, match="no device 1"):
        pytrt.set_devie(1)


def test_pictures_calibrate(tmp_path):
    """What reaches the network is as tensorRT_Pro has it: BGR, in the middle, through the norm."""
    random = np.random.default_rng(3)
    weights = random.standard_normal((8, 3, 3, 3)).astype(np.float32)
    network = protos.model([helper.make_node("Conv", ["x", "w"], ["y"], pads=[1] * 4)], [("x", protos.FLOAT, ("n", 3, "h", "w"))],
                           [("y", protos.FLOAT, ("n", 8, "h", "w"))], [("w", weights)])
    for i in range(4):
        Image.fromarray(random.integers(0, 256, (24, 48, 3), dtype=np.uint8)).save(tmp_path / f"{i}.png")
    norm = pytrt.Norm.mean_std([.485, .456, .406], [.229, .224, .225], 1 / 255, pytrt.ChannelType.Invert)
    cache = tmp_path / "ranges.txt"
    plans = [pytrt.compile_onnxdata_to_memory(2, network.SerializeToString(), mode, [[3, 24, 48]], int8_norm=norm,
                                              int8_image_directory=str(tmp_path), int8_entropy_calibrator_file=str(cache))
             for mode in (pytrt.Mode.INT8, pytrt.Mode.FP32)]
    pixels = np.stack([np.asarray(Image.open(tmp_path / f"{i}.png"))[..., ::-1] for i in range(2)])
    x = np.concatenate([pytrt.normalize(norm, picture) for picture in pixels])
    found, expected = (pytrt.load_infer_data(plan)(x) for plan in plans)
    error = np.sqrt(np.mean((found - expected) ** 2) / np.mean(expected ** 2))
    assert 0 < error < .02
    with pytest.raises(tenon.Error, match="holds no .npz file, and no .jpg"):
        pytrt.compile_onnxdata_to_memory(2, network.SerializeToString(), pytrt.Mode.INT8, [[3, 24, 48]],
                                         int8_image_directory=str(pathlib.Path(__file__).parent))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.uint8])
@pytest.mark.parametrize("shape", [(), (3,), (2, 1, 3)])
def test_tensor_files(dtype, shape, tmp_path):
    array = (np.random.rand(*shape) * 9 if shape else np.float64(4)).astype(dtype)
    pytrt.save_tensor(np.asarray(array), tmp_path / "a.tensor")
    loaded = pytrt.load_tensor(tmp_path / "a.tensor")
    assert loaded.dtype == dtype
    np.testing.assert_array_equal(loaded, array)


def test_the_layout_of_a_tensor_file(tmp_path):
    pytrt.save_tensor(np.float32([[1, 2]]), tmp_path / "a.tensor")
    assert (tmp_path / "a.tensor").read_bytes() == struct.pack(
        "<IIIiiff", 0xFCCFE2E2, 2, 0, 1, 2, 1.0, 2.0)


@pytest.mark.parametrize("content, text", [
    (b"abc", "has 3 bytes"), (b"x" * 40, "no tensor file"),
    (struct.pack("<IIIi", 0xFCCFE2E2, 1, 0, 3), r"0 elements for shape \(3,\)"),
    (struct.pack("<III", 0xFCCFE2E2, 7, 0), "no tensor file"),
    (struct.pack("<IIIi", 0xFCCFE2E2, 1, 0, -1), "elements for shape")])
def test_files_that_are_no_tensors(content, text, tmp_path):
    (tmp_path / "a.tensor").write_bytes(content)
    with pytest.raises(ValueError, match=text):
        pytrt.load_tensor(tmp_path / "a.tensor")


def test_pictures_become_tensors():
    picture = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    planes = picture.transpose(2, 0, 1)[None].astype(np.float32)
    np.testing.assert_array_equal(pytrt.normalize(pytrt.Norm.none(), picture), planes)
    np.testing.assert_allclose(
        pytrt.normalize(pytrt.Norm.alpha_beta(1 / 255, 1, pytrt.ChannelType.Invert), picture),
        planes[:, ::-1] / 255 + 1, rtol=1e-6)
    mean, std = [1, 2, 3], [2, 4, 8]
    np.testing.assert_allclose(
        pytrt.normalize(pytrt.Norm.mean_std(mean, std, 0.5), picture),
        (planes * 0.5 - np.float32(mean).reshape(3, 1, 1)) / np.float32(std).reshape(3, 1, 1))
