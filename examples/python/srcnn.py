"""Super-resolution with an operator of its own, by MMDeploy's functions.

    python srcnn.py [FOLDER]

PyTorch exports the operator as a node Test::DynamicTRTResize, since its class says so; Tenon has a
plugin of that name, which takes the size of the result from the shape of its second input. The
plan goes to FOLDER/srcnn3.engine. Needs PyTorch.
"""
import pathlib
import sys
import tempfile

import numpy as np
import torch
from torch import nn
from torch.nn.functional import interpolate

from tenon.mmdeploy import TRTWrapper, from_onnx


class DynamicTRTResize(torch.autograd.Function):
    """Bicubic interpolation to the height and width of another tensor."""

    @staticmethod
    def forward(ctx, input, size_tensor, align_corners=False):
        return interpolate(input, size=size_tensor.shape[-2:], mode="bicubic",
                           align_corners=align_corners)

    @staticmethod
    def symbolic(g, input, size_tensor, align_corners=False):
        return g.op("Test::DynamicTRTResize", input, size_tensor, align_corners_i=align_corners)


class SuperResolution(nn.Module):
    """SRCNN (Dong et al. 2014) behind the resize."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 9, padding=4)
        self.conv2 = nn.Conv2d(64, 32, 1)
        self.conv3 = nn.Conv2d(32, 3, 5, padding=2)

    def forward(self, x, size_tensor):
        x = DynamicTRTResize.apply(x, size_tensor)
        return self.conv3(torch.relu(self.conv2(torch.relu(self.conv1(x)))))


def main(folder):
    torch.manual_seed(0)
    model = SuperResolution().eval()
    picture, factor = torch.rand(1, 3, 256, 256), torch.rand(1, 1, 512, 512)
    torch.onnx.export(
        model, (picture, factor), str(folder / "srcnn3.onnx"), opset_version=11,
        input_names=["input", "factor"], output_names=["output"],
        dynamic_axes={"factor": {2: "height", 3: "width"}, "output": {2: "height", 3: "width"}},
        **({"dynamo": False} if torch.__version__ >= "2.5" else {}))

    fixed = {"min_shape": [1, 3, 256, 256], "opt_shape": [1, 3, 256, 256],
             "max_shape": [1, 3, 256, 256]}
    varied = {"min_shape": [1, 1, 256, 256], "opt_shape": [1, 1, 512, 512],
              "max_shape": [1, 1, 1024, 1024]}
    from_onnx(str(folder / "srcnn3.onnx"), str(folder / "srcnn3"),
              input_shapes={"input": fixed, "factor": varied})

    wrapper = TRTWrapper(str(folder / "srcnn3.engine"), ["output"])
    factor = torch.rand(1, 1, 768, 768)  # not the optimal shape
    found = wrapper({"input": picture, "factor": factor})["output"]
    with torch.no_grad():
        expected = model(picture, factor)
    assert found.shape == (1, 3, 768, 768)
    assert np.allclose(found.numpy(), expected.numpy(), rtol=1e-3, atol=1e-5)
    print(f"as PyTorch: {float((found - expected).abs().max()):.2g} at most")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(pathlib.Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(pathlib.Path(temporary))
