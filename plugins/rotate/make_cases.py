"""Writes cases.json: what PyTorch's grid_sample gives. Needs NumPy and PyTorch."""
import math
import pathlib
import sys

import numpy
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402
from quantized import quantized_case  # noqa: E402

random = numpy.random.RandomState(0)


def sixteenths(*shape):
    # Multiples of 1/16 within 2, so that fp16 holds them exactly.
    return random.randint(-32, 33, shape).astype("float32") / 16


def rotate(name, shape, angle, center, interpolation, largest=None):
    x = sixteenths(*shape)
    height, width = shape[1:]
    turn = -math.radians(angle)
    cx, cy = center[0] - width * 0.5, center[1] - height * 0.5
    cosine, sine = math.cos(turn), math.sin(turn)
    theta = torch.tensor([[cosine, sine, -cx * cosine - cy * sine + cx],
                          [-sine, cosine, cx * sine - cy * cosine + cy]], dtype=torch.float64)
    columns = torch.arange(width, dtype=torch.float64) + 0.5 - width * 0.5
    rows = torch.arange(height, dtype=torch.float64) + 0.5 - height * 0.5
    places = torch.stack([columns.expand(height, width), rows[:, None].expand(height, width),
                          torch.ones(height, width, dtype=torch.float64)], -1)
    grid = places @ theta.T / torch.tensor([width * 0.5, height * 0.5])
    names, attributes = ("RotateTRT", "RotateTRT2"), {"interpolation": interpolation}
    inputs = {"img": x, "angle": numpy.float32([angle]), "center": numpy.float32(center)}

    def rotated(inputs):
        return torch.nn.functional.grid_sample(torch.from_numpy(inputs["img"]).double()[None], grid[None],
                                               ("bilinear", "nearest")[interpolation], "zeros", False)[0].numpy()

    if largest is not None:
        return quantized_case(names, name, attributes, inputs, rotated, "y", real=("angle", "center"), largest=largest)
    for plugin in names:
        case(plugin, name, attributes, inputs, {"y": rotated(inputs).astype("float32")})


rotate("bilinear", (2, 6, 7), 30.0, (3.5, 2.5), 0)
rotate("bilinear, about a corner", (1, 5, 5), -45.0, (0.0, 0.0), 0)
rotate("nearest", (3, 5, 8), 17.0, (4.0, 2.0), 1)
rotate("nearest, not turned", (1, 4, 4), 0.0, (2.0, 2.0), 1)
rotate("a quarter", (1, 4, 4), 90.0, (2.0, 2.0), 0)
rotate("no channels", (0, 3, 3), 10.0, (1.0, 1.0), 0)
rotate("int8", (3, 5, 8), 17.0, (4.0, 2.0), 0, 127)
rotate("int8, nearest", (2, 6, 7), 33.0, (3.25, 2.5), 1, 127)
rotate("int8 that saturates", (1, 6, 5), -45.0, (1.0, 2.0), 0, 220)
write(__file__)
