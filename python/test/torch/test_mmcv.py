"""tenon.mmcv's wrapper and functions with PyTorch; test_mmcv_operators.py has MMCV's operators."""
import pytest
import torch

from tenon import mmcv


@pytest.fixture
def convolution(tmp_path):
    module = torch.nn.Conv2d(3, 4, 3).eval()
    x = torch.rand(1, 3, 8, 8)
    file = str(tmp_path / "convolution.onnx")
    torch.onnx.export(module, (x,), file, input_names=["x"], output_names=["y"],
                      dynamic_axes={"x": {2: "h", 3: "w"}})
    engine = mmcv.onnx2trt(file, {"x": [[1, 3, 4, 4], [1, 3, 8, 8], [1, 3, 16, 16]]})
    with torch.no_grad():
        return engine, x, module(x)


def test_wrapper(convolution, tmp_path):
    engine, x, expected = convolution
    path = str(tmp_path / "a.trt")
    mmcv.save_trt_engine(engine, path)
    for source in (engine, path, mmcv.load_trt_engine(path)):
        wrapper = mmcv.TRTWrapper(source, ["x"], ["y"])
        torch.testing.assert_close(wrapper({"x": x})["y"], expected, rtol=1e-3, atol=1e-5)
    assert mmcv.TRTWraper is mmcv.TRTWrapper


def test_wrapper_in_a_state_dict(convolution):
    engine, x, expected = convolution
    model = torch.nn.Sequential(mmcv.TRTWrapper(engine))
    state = model.state_dict()
    assert state["0.input_names"] == ["x"] and state["0.output_names"] == ["y"]

    other = torch.nn.Sequential(mmcv.TRTWrapper(engine))
    other[0]._engine = None  # what it holds comes from the state alone
    other.load_state_dict(state)
    torch.testing.assert_close(other({"x": x})["y"], expected, rtol=1e-3, atol=1e-5)


def test_wrapper_of_wrong_names_and_things(convolution):
    engine, x, _ = convolution
    with pytest.raises(ValueError, match="no output 'z'; there are"):
        mmcv.TRTWrapper(engine, output_names=["z"])
    with pytest.raises(TypeError, match="path of a plan or an ICudaEngine, found int"):
        mmcv.TRTWrapper(3)
    with pytest.raises(TypeError, match="expected {input: tensor}, found Tensor"):
        mmcv.TRTWrapper(engine)(x)
    with pytest.raises(TypeError, match="input 'x': expected a tensor, found ndarray"):
        mmcv.TRTWrapper(engine)({"x": x.numpy()})
    with pytest.raises(ValueError, match=r"'x' expects shape from \(1, 3, 4, 4\)"):
        mmcv.TRTWrapper(engine)({"x": torch.rand(1, 3, 3, 3)})


def test_long_inputs_become_int(tmp_path):
    class Sum(torch.nn.Module):
        def forward(self, x):
            return x + x
    file = str(tmp_path / "sum.onnx")
    torch.onnx.export(Sum(), (torch.arange(3, dtype=torch.int32),), file, input_names=["x"],
                      output_names=["y"])
    wrapper = mmcv.TRTWrapper(mmcv.onnx2trt(file, {}))
    assert wrapper({"x": torch.tensor([1, 2, 3])})["y"].tolist() == [2, 4, 6]
