"""Writes cases.json: what PyTorch gives for Stable Diffusion's fused layers. Needs NumPy and PyTorch."""
import pathlib
import sys

import numpy
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

generator = torch.Generator().manual_seed(0)


def sixteenths(*shape):
    # Multiples of 1/16 within 2, so that fp16 holds the inputs exactly.
    return torch.randint(-32, 33, shape, generator=generator).float() / 16


for name, shape in [("tokens", (2, 3, 16)), ("longer than vectors", (1, 2, 82)), ("axes behind", (1, 2, 4, 3)),
                    ("no batch", (0, 2, 4))]:
    x = sixteenths(*shape)
    value, gate = x.double().chunk(2, 2)
    case("SplitGeLU", name, {}, {"x": x.numpy()}, {"y": (value * torch.nn.functional.gelu(gate)).float().numpy()})

for name, batch, channels, height, width in [("two images", 2, 5, 3, 4), ("one pixel", 1, 1, 1, 1), ("no batch", 0, 3, 2, 2)]:
    x, residual = sixteenths(batch, height * width, channels), sixteenths(batch, height * width, channels)
    bias = sixteenths(channels)
    y = (x + bias + residual).permute(0, 2, 1).reshape(batch, channels, height, width)
    case("SeqLen2Spatial", name, {},
         {"x": x.numpy(), "bias": bias.numpy(), "residual": residual.numpy(),
          "size": numpy.zeros((batch, channels, height, width), "float32")}, {"y": y.numpy()}, any_type=("size",))
write(__file__)
