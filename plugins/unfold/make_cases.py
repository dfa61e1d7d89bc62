"""Writes cases.json: what PyTorch's unfold gives. Needs PyTorch."""
import pathlib
import sys

import torch
import torch.nn.functional as functional

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

generator = torch.Generator().manual_seed(0)


def add(name, shape, **attributes):
    # All types of elements hold them.
    x = torch.randint(-100, 101, shape, generator=generator).float()
    y = functional.unfold(x, **attributes)
    lists = {key: list(value) if isinstance(value, tuple) else [value] for key, value in attributes.items()}
    case("TorchUnfoldPluginDynamic", name, lists, {"x": x.numpy()}, {"y": y.numpy()})


add("windows of 3", (2, 2, 5, 6), kernel_size=3)
add("rows and columns differ", (1, 2, 7, 5), kernel_size=(3, 2), dilation=(2, 1), padding=(1, 0), stride=(1, 2))
add("padded", (1, 1, 3, 3), kernel_size=3, padding=2, stride=2)
add("one element", (2, 3, 2, 2), kernel_size=1)
write(__file__)
