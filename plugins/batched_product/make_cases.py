"""Writes cases.json: what torch.bmm gives. Needs PyTorch."""
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

generator = torch.Generator().manual_seed(0)


def add(name, batch, m, k, n):
    # Multiples of 1/8 within 1, so that fp16 holds the inputs exactly.
    a = torch.randint(-8, 9, (batch, m, k), generator=generator).float() / 8
    b = torch.randint(-8, 9, (batch, k, n), generator=generator).float() / 8
    case("TorchBmmPluginDynamic", name, {}, {"a": a.numpy(), "b": b.numpy()},
         {"y": torch.bmm(a.double(), b.double()).float().numpy()})


add("two products", 2, 3, 4, 5)
add("longer than vectors", 1, 17, 33, 18)
add("one element", 3, 1, 1, 1)
add("no sums", 2, 3, 0, 2)
add("no products", 0, 3, 2, 2)
write(__file__)
