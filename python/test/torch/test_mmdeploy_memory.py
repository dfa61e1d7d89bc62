"""tenon.mmdeploy's allocator and calibrator."""
import sys
import types

import numpy as np
import pytest
import torch

import tenon
from tenon import mmdeploy
from tenon import tensorrt as trt
from tenon._export import to_onnx


def test_an_engine_in_memory_of_torch(tmp_path):
    module, x = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU()), torch.rand(1, 3, 8, 8)
    tenon.compile(module, inputs=x).save(tmp_path / "a.engine")
    allocator = mmdeploy.TorchAllocator()
    engine = mmdeploy.load(str(tmp_path / "a.engine"), allocator)
    found, = mmdeploy.TRTWrapper(engine)({"input": x}).values()
    with torch.no_grad():
        torch.testing.assert_close(found, module(x), rtol=1e-3, atol=1e-5)
    address = allocator.allocate(100, 256, 0)
    assert address % 256 == 0 and address in allocator.mems
    assert allocator.deallocate(address) and not allocator.deallocate(address)


SAMPLES = {"calib_data": {"end2end": {"input": {
    "0": np.arange(12.0).reshape(1, 3, 2, 2), "1": np.ones((1, 3, 9, 9))}}}}
SHAPES = {"input": {"opt_shape": [1, 3, 4, 3]}}


def test_calibrator(monkeypatch):
    opened = types.SimpleNamespace(File=lambda file, mode: SAMPLES)  # has HDF5's layout
    monkeypatch.setitem(sys.modules, "h5py", opened)
    calibrator = mmdeploy.HDF5Calibrator("calib.h5", SHAPES)
    assert isinstance(calibrator, trt.IInt8Calibrator)
    assert calibrator.get_batch_size() == 1
    assert calibrator.get_algorithm() == trt.CalibrationAlgoType.ENTROPY_CALIBRATION_2
    calibrator.get_batch(["input"])
    first = np.tile(np.arange(12.0).reshape(1, 3, 2, 2), (1, 1, 2, 2))[:, :, :4, :3]
    np.testing.assert_array_equal(calibrator.arrays["input"], first)
    address, = calibrator.get_batch(["input"])
    assert address == calibrator.arrays["input"].ctypes.data
    assert calibrator.arrays["input"].shape == (1, 3, 4, 3)
    assert calibrator.get_batch(["input"]) is None
    with pytest.raises(ValueError, match="no calib_data/part"):
        mmdeploy.HDF5Calibrator("calib.h5", SHAPES, "part")


def test_builds_in_int8(tmp_path):
    """One channel times one, by minima and maxima: the largest sample is 127, and what comes out is rounded."""
    one = tmp_path / "one.onnx"
    module = torch.nn.Conv2d(1, 1, 1, bias=False)
    torch.nn.init.ones_(module.weight)
    one.write_bytes(to_onnx(module, (torch.rand(1, 1, 2, 2),), ["input"], ["output"], {}, 17))
    samples = {"calib_data": {"end2end": {"input": {"0": np.full((1, 1, 2, 2), -127.0), "1": np.ones((1, 1, 2, 2))}}}}
    shapes = {"input": dict.fromkeys(("min_shape", "opt_shape", "max_shape"), [1, 1, 2, 2])}
    param = {"calib_file": samples, "algorithm": trt.CalibrationAlgoType.MINMAX_CALIBRATION}
    engine = mmdeploy.from_onnx(str(one), str(tmp_path / "one"), shapes, int8_mode=True, int8_param=param)
    x = torch.tensor([0.3, 1.6, -70, 300]).reshape(1, 1, 2, 2)
    found, = mmdeploy.TRTWrapper(engine)({"input": x}).values()
    assert found.ravel().tolist() == [0, 2, -70, 127]


def test_calibrator_without_h5py(monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match="pip install h5py"):
        mmdeploy.HDF5Calibrator("calib.h5", SHAPES)
