"""Writes cases.json: what torch.topk gives, and of equal elements the first ones. Needs PyTorch."""
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

generator = torch.Generator().manual_seed(0)


def add(name, shape, k, axis=-1, largest=True, most=100, change=None):
    x = torch.randint(-most, most + 1, shape, generator=generator).float()
    if change is not None:
        change(x)
    order = torch.argsort(x, dim=axis, descending=largest, stable=True)
    indices = order.narrow(axis, 0, k)
    values = x.gather(axis, indices)
    assert torch.equal(values.nan_to_num(), torch.topk(x, k, axis, largest).values.nan_to_num())
    case("TopkLastDim", name, {"type_id": 0, "k": k, "is_largest": int(largest), "axis": axis}, {"x": x.numpy()},
         {"values": values.numpy(), "indices": indices.to(torch.int32).numpy()})


for largest in (True, False):
    suffix = "" if largest else ", smallest"
    add("rows" + suffix, (3, 4, 17), 5, largest=largest)
    add("a middle axis" + suffix, (2, 9, 3), 4, 1, largest)
    add("equal elements" + suffix, (2, 40), 12, largest=largest, most=3)
    add("all" + suffix, (2, 8), 8, 1, largest)
    add("NaN" + suffix, (1, 9), 3, largest=largest, change=lambda x: x[0, 4].fill_(float("nan")))
add("long rows", (2, 300), 3)
add("none", (2, 5), 0)
add("no rows", (0, 5), 2)
write(__file__)
