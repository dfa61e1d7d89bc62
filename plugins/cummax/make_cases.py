"""Writes cases.json: what torch.cummax and torch.cummin give. Needs PyTorch."""
import pathlib
import sys

import numpy
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

generator = torch.Generator().manual_seed(0)
NAN = float("nan")


def sixteenths(*shape):
    # Multiples of 1/16 within 2, so that fp16 holds the inputs exactly; many are equal.
    return torch.randint(-32, 33, shape, generator=generator).float() / 16


def of_first(x, dim, find):
    """Values and positions of the first extremum so far, by NumPy's rule for equal elements."""
    x = numpy.moveaxis(x.numpy(), dim, -1)
    places = numpy.stack([find(x[..., :k + 1], axis=-1) for k in range(x.shape[-1])], -1)
    values = numpy.take_along_axis(x, places, -1)
    return numpy.moveaxis(values, -1, dim).copy(), numpy.moveaxis(places, -1, dim).copy()


def add(name, x, dim, attributes=None):
    attributes = {"dim": dim} if attributes is None else attributes
    kinds = {"cummax": (torch.cummax, numpy.argmax), "cummin": (torch.cummin, numpy.argmin)}
    for number, (plugin, (last, find)) in enumerate(kinds.items()):
        def both(rule, ties, values, indices):
            outputs = {"values": numpy.asarray(values), "indices": numpy.asarray(indices).astype(numpy.int32)}
            case(plugin, f"{name}, {rule}", {**attributes, **ties}, {"x": x.numpy()}, outputs)
            if x.dim() == 1:
                for either in ("cummaxmin", "TorchCumMaxMinPluginDynamic"):
                    case(either, f"{plugin}: {name}, {rule}", {**attributes, **ties, "cum_type": number},
                         {"x": x.numpy()}, outputs)

        both("last", {}, *last(x, dim))
        if x.numel() > 0:
            both("first", {"ties": "first"}, *of_first(x, dim, find))


x = sixteenths(2, 3, 2, 1, 4)
for dim in range(-5, 5):
    add(f"dim {dim}", x, dim)
add("one dimension", sixteenths(7), 0)
add("first dimension by default", sixteenths(3, 4), 0, {})
add("longer than vectors", sixteenths(2, 110), 1)
add("wider than vectors", sixteenths(2, 2, 67), 1)
add("rising", torch.arange(100).reshape(2, 50).float(), 1)
add("falling", -torch.arange(100).reshape(2, 50).float(), 1)
add("all equal", torch.ones(70), 0)
add("NaNs", torch.tensor([[1, NAN, 3, NAN, 2], [NAN, 1, 2, 3, 4], [4, 3, 2, 1, NAN]]), 1)
add("NaNs down", torch.tensor([[1, NAN, 3, NAN, 2], [NAN, 1, 2, 3, 4], [4, 3, 2, 1, NAN]]), 0)
late = torch.zeros(96)
late[70] = NAN
add("late NaN", late, 0)
add("infinities", torch.tensor([float("-inf"), 1, float("inf"), 2, float("inf"), float("-inf")]), 0)
add("nothing", torch.zeros(2, 0, 3), 1)
add("no lines", torch.zeros(0, 3), 1)
write(__file__)
