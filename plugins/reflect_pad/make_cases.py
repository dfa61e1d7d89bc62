"""Writes cases.json: what torch.nn.functional.pad gives with mode "reflect". Needs PyTorch."""
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

generator = torch.Generator().manual_seed(0)


def add(name, shape, padding, attribute=None):
    # Multiples of 1/16 within 2, so that fp16 holds the inputs exactly.
    x = torch.randint(-32, 33, shape, generator=generator).float() / 16
    y = torch.nn.functional.pad(x, padding, mode="reflect")
    case("ReflectPad", name, {"padding": list(attribute or padding)}, {"x": x.numpy()}, {"y": y.numpy()},
         tolerance=(0, 0))


add("all sides alike", (1, 2, 4, 5), (2, 2, 2, 2), attribute=[2])
add("every side", (2, 3, 4, 5), (1, 4, 3, 2))
add("as much as fits", (1, 1, 3, 2), (1, 1, 2, 2))
add("nothing", (1, 2, 3, 3), (0, 0, 0, 0))
add("one side", (1, 2, 3, 3), (0, 0, 0, 2))
add("line", (2, 3, 7), (3, 6))
add("volume", (1, 2, 3, 4, 5), (1, 2, 3, 0, 2, 1))
add("no batch dimension", (2, 3, 4), (1, 2, 2, 0))
add("one element", (1, 1, 1, 1), (0, 0, 0, 0))
add("no batch", (0, 2, 3, 3), (1, 1, 1, 1))
add("wide rows", (1, 2, 3, 75), (9, 20, 1, 1))
write(__file__)
