"""Writes cases.json: what PyTorch's grid_sample gives. Needs NumPy and PyTorch."""
import itertools
import pathlib
import sys

import numpy
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402
from quantized import quantized_case  # noqa: E402

INTERPOLATIONS = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")


def add(name, x_shape, extents, seed, interpolation=0, padding=0, align_corners=0, attributes=None):
    random = numpy.random.RandomState(seed)
    # Multiples of 1/16 and 1/32, so that fp16 holds them exactly.
    x = (random.randint(-32, 33, x_shape) / 16).astype("float32")
    grid = random.randint(-60, 61, (x_shape[0], *extents, len(extents))) / 32
    grid = grid.astype("float32")
    y = torch.nn.functional.grid_sample(torch.from_numpy(x), torch.from_numpy(grid),
                                        INTERPOLATIONS[interpolation], PADDINGS[padding],
                                        bool(align_corners))
    if attributes is None:
        attributes = {"interpolation_mode": interpolation, "padding_mode": padding,
                      "align_corners": align_corners}
    case("grid_sampler", name, attributes, {"input": x, "grid": grid}, {"output": y.numpy()})
    # The same grid with coordinates in planes, ten times as large: eighths, which fp16 holds, none halfway between
    # two pixels.
    grid = numpy.round(grid * 20) / 2 + 0.125
    y = torch.nn.functional.grid_sample(torch.from_numpy(x), torch.from_numpy(grid / 10), INTERPOLATIONS[interpolation],
                                        PADDINGS[padding], bool(align_corners))
    for suffix in ("", "2"):
        case(f"GridSampler{len(extents)}DTRT{suffix}", name, attributes,
             {"input": x, "grid": numpy.ascontiguousarray(numpy.moveaxis(grid, -1, 1))}, {"output": y.numpy()})


def quantized(name, x_shape, extents, seed, interpolation=0, padding=0, align_corners=0, largest=127):
    random = numpy.random.RandomState(seed)
    inputs = {"input": (random.randint(-32, 33, x_shape) / 16).astype("float32"),
              "grid": (random.randint(-150, 151, (x_shape[0], len(extents), *extents)) / 10).astype("float32")}

    def sampled(inputs):
        grid = torch.from_numpy(numpy.moveaxis(inputs["grid"], 1, -1) / 10)
        return torch.nn.functional.grid_sample(torch.from_numpy(inputs["input"]), grid, INTERPOLATIONS[interpolation],
                                               PADDINGS[padding], bool(align_corners)).numpy()

    quantized_case([f"GridSampler{len(extents)}DTRT{suffix}" for suffix in ("", "2")], name,
                   {"interpolation_mode": interpolation, "padding_mode": padding, "align_corners": align_corners}, inputs,
                   sampled, "output", largest=largest)


kinds = itertools.product(range(3), range(3), range(2))
for seed, (interpolation, padding, align_corners) in enumerate(kinds):
    name = f"{INTERPOLATIONS[interpolation]}, {PADDINGS[padding]}"
    name += ", corners aligned" if align_corners else ""
    kind = (interpolation, padding, align_corners)
    add(name, (2, 3, 4, 5), (3, 6), seed, *kind)
    add(f"one pixel, {name}", (1, 1, 1, 1), (1, 9), 100 + seed, *kind)
    if interpolation != 2:
        add(f"volume, {name}", (1, 2, 3, 4, 2), (2, 1, 5), 200 + seed, *kind)
add("defaults", (1, 2, 3, 3), (2, 2), 300, attributes={})
add("volumes, defaults", (2, 1, 2, 3, 3), (2, 2, 1), 301, attributes={})
# More channels and places than the kernel takes at a time.
add("many channels", (1, 71, 2, 2), (1, 3), 302)
add("many places", (2, 1, 5, 4), (7, 10), 303, 2)
add("no batch", (0, 2, 3, 3), (2, 2), 304)
add("no places", (1, 2, 3, 3), (0, 2), 305)
quantized("int8", (2, 3, 4, 5), (3, 6), 400)
quantized("int8, bicubic that saturates", (1, 5, 4, 3), (4, 4), 401, 2, 1, 1, 160)
quantized("int8, nearest", (1, 2, 4, 5), (2, 5), 412, 1, 2)
quantized("int8 volume", (1, 2, 3, 4, 2), (2, 1, 5), 403)
write(__file__)
