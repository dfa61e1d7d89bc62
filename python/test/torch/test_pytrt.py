"""tenon.pytrt.from_torch."""
import torch

from tenon import pytrt


def test_from_torch(tmp_path):
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Hardswish())
    x = torch.rand(4, 3, 8, 8)
    infer = pytrt.from_torch(module, x, onnx_save_file=tmp_path / "a.onnx",
                             engine_save_file=tmp_path / "a.trtmodel")
    assert infer.get_input_name() == "input.0" and infer.get_output_name() == "output.0"
    for source in (infer, pytrt.load(str(tmp_path / "a.trtmodel"))):
        for batch in (4, 1):
            with torch.no_grad():
                expected = module(x[:batch])
            torch.testing.assert_close(source(x[:batch]), expected, rtol=1e-4, atol=1e-5)
    fixed = pytrt.from_torch(module, x, dynamic=False)
    assert fixed.inputs[0].shape == (4, 3, 8, 8)
