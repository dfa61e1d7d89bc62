"""Writes cases.json: what PyTorch's bicubic interpolation gives. Needs NumPy and PyTorch."""
import pathlib
import sys

import numpy
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402


def add(name, shape, factors, align_corners, seed, attributes=None):
    # Multiples of 1/16 within 2, so that fp16 holds the inputs exactly.
    x = numpy.random.RandomState(seed).randint(-32, 33, shape).astype("float32") / 16
    if 0 in shape:
        y = numpy.zeros((*shape[:2], *(int(e * f) for e, f in zip(shape[2:], factors))), "float32")
    else:
        y = torch.nn.functional.interpolate(torch.from_numpy(x), scale_factor=factors, mode="bicubic",
                                            align_corners=align_corners).numpy()
    case("TRTBicubicInterpolate", name,
         {"scale_factor": list(factors), **(attributes if attributes is not None else
                                            {"align_corners": int(align_corners)})},
         {"input": x}, {"output": y})


for seed, align_corners in enumerate((True, False)):
    suffix = ", corners aligned" if align_corners else ""
    add("twice" + suffix, (2, 1, 3, 5), (2.0, 2.0), align_corners, seed)
    add("by fractions" + suffix, (1, 2, 5, 7), (1.5, 2.5), align_corners, 10 + seed)
    # 0.7 as a float is less than 0.7, but 10 elements give 7.
    add("smaller" + suffix, (1, 1, 10, 9), (0.7, 1 / 3), align_corners, 20 + seed)
    add("higher and narrower" + suffix, (1, 1, 2, 12), (4.3, 0.25), align_corners, 30 + seed)
    add("one pixel" + suffix, (1, 3, 1, 1), (3.0, 1.0), align_corners, 40 + seed)
add("corners are aligned by default", (1, 1, 3, 3), (2.0, 3.0), True, 50, {})
add("no batch", (0, 2, 3, 3), (2.0, 1.5), False, 51)
write(__file__)
