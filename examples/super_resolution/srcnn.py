"""The SRCNN network in PyTorch, and how it is scored.

Pixels are RGB in [0, 1]. The network enlarges a picture by bicubic interpolation (A = -0.75, border
clamped, align_corners = 0), then refines it with three convolutions.
"""

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image

import pictures

ALIGN_CORNERS = False


def resize_bicubic(small, size):
    """What Test::DynamicTRTResize computes: (N, C, H, W) to the (height, width) in `size`."""
    return F.interpolate(small, size=tuple(size), mode="bicubic", align_corners=ALIGN_CORNERS)


class Srcnn(torch.nn.Module):
    """9x9/64, ReLU, 5x5/32, ReLU, 5x5/3 on the resized picture."""

    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(3, 64, 9, padding=4)
        self.conv2 = torch.nn.Conv2d(64, 32, 5, padding=2)
        self.conv3 = torch.nn.Conv2d(32, 3, 5, padding=2)

    def refine(self, resized):
        """The convolutions alone, on a picture that is resized already."""
        return self.conv3(F.relu(self.conv2(F.relu(self.conv1(resized)))))

    def forward(self, small, factor):
        """`factor` is (1, 1, H2, W2); only its shape counts."""
        return self.refine(resize_bicubic(small, factor.shape[2:]))

    @torch.no_grad()
    def start_as_identity(self):
        """Makes the untrained network return the resized picture, plus a little noise."""
        for conv in (self.conv1, self.conv2, self.conv3):
            torch.nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
            torch.nn.init.zeros_(conv.bias)
        self.conv1.weight[:3] = 0
        self.conv2.weight[:3] = 0
        self.conv3.weight.mul_(0.001)
        for conv in (self.conv1, self.conv2, self.conv3):
            centre = conv.kernel_size[0] // 2
            for channel in range(3):
                conv.weight[channel, channel, centre, centre] = 1


def to_tensor(photo):
    """Pillow RGB picture to fp32 (1, 3, H, W) in [0, 1]."""
    pixels = np.array(photo, dtype=np.float32) / np.float32(255)
    return torch.from_numpy(pixels.transpose(2, 0, 1)[None].copy())


def to_photo(tensor):
    """fp32 (1, 3, H, W) in [0, 1] to an 8-bit Pillow RGB picture, clamped and rounded."""
    pixels = tensor[0].clamp(0, 1).mul(255).round().byte().permute(1, 2, 0)
    return Image.fromarray(pixels.cpu().numpy())


@torch.no_grad()
def score(model, path, factor):
    """PSNR of the photo shrunk by `factor` and enlarged again: the network's bicubic step alone,
    Pillow's bicubic (A = -0.5), and the whole network."""
    original = pictures.crop_to_multiple(pictures.read_photo(path), factor)
    small = pictures.shrink(original, factor)
    resized = resize_bicubic(to_tensor(small), (original.height, original.width))
    device = model.conv1.weight.device
    return {
        "bicubic": pictures.psnr(to_photo(resized), original),
        "pillow": pictures.psnr(small.resize(original.size, Image.BICUBIC), original),
        "srcnn": pictures.psnr(to_photo(model.refine(resized.to(device))), original),
    }
