"""Writes cases.json: what PyTorch's bilinear and nearest interpolation give. Needs PyTorch."""
import pathlib
import sys

import numpy
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

generator = torch.Generator().manual_seed(0)


def add(name, shape, factor, align_corners, attributes=None):
    # Multiples of 1/16 within 2, so that fp16 holds the inputs exactly.
    x = torch.randint(-32, 33, shape, generator=generator).float() / 16
    y = torch.nn.functional.interpolate(x, scale_factor=factor, mode="bilinear", align_corners=align_corners)
    if attributes is None:  # as the tutorial's program gives them
        attributes = {"scaleFactor": numpy.int8([factor]), "alignCorners": numpy.int8([align_corners])}
    case("UpsamplePlugin", name, attributes, {"x": x.numpy()}, {"y": y.numpy()})


for corners in (False, True):
    suffix = ", corners aligned" if corners else ""
    add("twice" + suffix, (2, 3, 4, 5), 2, corners)
    add("three times" + suffix, (1, 1, 3, 2), 3, corners)
    add("as it is" + suffix, (1, 2, 3, 3), 1, corners)
    add("one pixel" + suffix, (1, 2, 1, 1), 4, corners)
add("defaults", (1, 1, 3, 4), 2, False, {})
add("int32 attributes", (1, 1, 3, 4), 5, True, {"scaleFactor": 5, "alignCorners": 1})
case("UpsamplePlugin", "no batch", {}, {"x": numpy.zeros((0, 2, 3, 3), "float32")},
     {"y": numpy.zeros((0, 2, 6, 6), "float32")})
case("UpsamplePlugin", "no pixels", {}, {"x": numpy.zeros((1, 2, 0, 3), "float32")},
     {"y": numpy.zeros((1, 2, 0, 6), "float32")})

# UpSamplePlugin_TRT.
for name, shape, factor in [("nearest, twice", (2, 3, 4, 5), 2.0), ("nearest, three times", (1, 1, 3, 2), 3.0),
                            ("nearest, a fraction", (1, 2, 5, 7), 1.5), ("nearest, smaller", (1, 2, 9, 6), 0.7),
                            ("nearest, one pixel", (1, 1, 1, 1), 5.0), ("nearest, no batch", (0, 1, 2, 2), 2.0)]:
    x = torch.randint(-32, 33, shape, generator=generator).float() / 16
    y = torch.nn.functional.interpolate(x, scale_factor=factor, mode="nearest")
    case("UpSamplePlugin_TRT", name, {} if factor == 2 else {"scale": factor}, {"x": x.numpy()},
         {"y": y.numpy()}, version="01", namespace="_TRT")
    case("ResizeNearest_TRT", name, {"scale": factor}, {"x": x.numpy()}, {"y": y.numpy()})
bytes_of = numpy.arange(-6, 6, dtype="int8").reshape(1, 2, 2, 3)
case("UpSamplePlugin_TRT", "nearest, int8", {}, {"x": bytes_of},
     {"y": bytes_of.repeat(2, 2).repeat(2, 3)}, version="01", namespace="_TRT")
write(__file__)
