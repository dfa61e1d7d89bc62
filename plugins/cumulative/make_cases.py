"""Writes cases.json: what torch.cumsum and torch.cumprod give. Needs PyTorch."""
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

generator = torch.Generator().manual_seed(0)


def add(name, shape, dim):
    # Few distinct values, so that fp16 holds sums and products.
    whole = torch.randint(-2, 3, shape, generator=generator)
    signs = torch.randint(0, 2, shape, generator=generator) * 2 - 1
    halves = torch.where(torch.arange(signs.numel()).reshape(shape) % 2 > 0, 0.5, 2.0)
    for number, kind in enumerate(("sum", "prod")):
        for x in (whole if kind == "sum" else signs, whole.float() / 4 if kind == "sum" else signs * halves):
            y = torch.cumsum(x, dim) if kind == "sum" else torch.cumprod(x, dim)
            case("TorchCumPluginDynamic", f"{name}, {kind}, {x.dtype}", {"dim": dim, "cum_type": number},
                 {"x": x.to(torch.int32).numpy() if not x.is_floating_point() else x.numpy()},
                 {"y": y.to(torch.int32).numpy() if not x.is_floating_point() else y.numpy()})


for dim in range(-3, 3):
    add(f"axis {dim}", (3, 7, 5), dim)
add("long", (1, 300), 1)
add("one element", (1,), 0)
add("nothing", (0, 3), 1)
case("TorchCumPluginDynamic", "a choice by name", {"cum_type": "prod"}, {"x": torch.tensor([2.0, 3, 4]).numpy()},
     {"y": torch.tensor([2.0, 6, 24]).numpy()})
write(__file__)
