"""tenon.mmdeploy's wrapper and functions with PyTorch; test_mmdeploy_operators.py has MMDeploy's operators."""
import json

import pytest
import torch

from tenon import mmdeploy
from tenon import tensorrt as trt


@pytest.fixture
def model(tmp_path):
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU()).eval()
    x = torch.rand(1, 3, 64, 64)
    file = str(tmp_path / "end2end.onnx")
    torch.onnx.export(module, (x,), file, input_names=["input"], output_names=["output"],
                      dynamic_axes={"input": {0: "n", 2: "h", 3: "w"}})
    with torch.no_grad():
        return file, x, module(x)


CONFIG = {"backend_config": {
    "type": "tensorrt",
    "common_config": {"fp16_mode": False, "max_workspace_size": 1 << 20},
    "model_inputs": [{"input_shapes": {"input": {
        "min_shape": [1, 3, 32, 32], "opt_shape": [1, 3, 64, 64], "max_shape": [2, 3, 64, 64]}}}]}}


@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
def test_onnx2tensorrt_and_wrapper(model, tmp_path, device):
    file, x, expected = model
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    for config in (CONFIG, str(tmp_path / "config.json")):
        mmdeploy.onnx2tensorrt(str(tmp_path / "work"), "end2end.engine", 0, config, file, device)
        engine = mmdeploy.load(str(tmp_path / "work" / "end2end.engine"))
        assert isinstance(engine, trt.ICudaEngine)
        wrapper = mmdeploy.TRTWrapper(engine, ["output"])
        torch.testing.assert_close(wrapper({"input": x})["output"], expected, rtol=1e-3, atol=1e-5)
    with pytest.raises(AssertionError, match=r"'input' expects shape from \(1, 3, 32, 32\)"):
        wrapper({"input": torch.rand(1, 3, 16, 16)})
    with pytest.raises(AssertionError, match="'input' expects shape"):
        wrapper({"input": torch.rand(3, 64, 64)})


def test_manager(model, tmp_path):
    file, x, expected = model
    manager = mmdeploy.TensorRTManager
    plans = manager.to_backend([file], str(tmp_path / "plans"), CONFIG)
    wrapper = manager.build_wrapper(plans, device="cpu")
    torch.testing.assert_close(wrapper({"input": x})["output"], expected, rtol=1e-3, atol=1e-5)
    assert manager.is_available(with_custom_ops=True)
    lines = []
    assert manager.get_version() in manager.check_env(lines.append)
    assert len(lines) == 2


def test_plugins_and_versions():
    import ctypes
    assert mmdeploy.load_tensorrt_plugin() is True
    names = [creator.name for creator in trt.get_plugin_registry().plugin_creator_list]
    assert "DynamicTRTResize" in names
    ctypes.CDLL(mmdeploy.get_ops_path())
    assert float(mmdeploy.search_cuda_version()) >= 12
    assert mmdeploy.get_trt_log_level() == trt.Logger.WARNING


def test_failures(model, tmp_path):
    file, _, _ = model
    (tmp_path / "bad.onnx").write_bytes(b"rubbish")
    with pytest.raises(RuntimeError, match="Failed to parse onnx, "):
        mmdeploy.from_onnx(str(tmp_path / "bad.onnx"), str(tmp_path / "bad"), {})
    shapes = CONFIG["backend_config"]["model_inputs"][0]["input_shapes"]
    with pytest.raises(ValueError, match="'x': expected a dictionary of min_shape, opt_shape, max_"):
        mmdeploy.from_onnx(file, str(tmp_path / "a"), {"x": {"min_shape": [1, 3]}})
    with pytest.raises(ValueError, match="int8_param has no .calib_file."):
        mmdeploy.from_onnx(file, str(tmp_path / "a"), shapes, int8_mode=True)
    with pytest.raises(ValueError, match="device 'tpu'"):
        mmdeploy.onnx2tensorrt(str(tmp_path), "a.engine", 0, CONFIG, file, device="tpu")
    with pytest.raises(ValueError, match="deploy_cfg has 1 model_inputs"):
        mmdeploy.onnx2tensorrt(str(tmp_path), "a.engine", 1, CONFIG, file)
    with pytest.raises(TypeError, match="Config.fromfile"):
        mmdeploy.onnx2tensorrt(str(tmp_path), "a.engine", 0, "config.py", file)
