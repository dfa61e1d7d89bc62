"""Writes cases.json: what PyTorch's bicubic interpolation gives. Needs PyTorch."""
import pathlib
import sys

import numpy
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402


def add(name, batch, channels, size_in, size_out, align_corners, seed, attributes=None):
    # Multiples of 1/16 within 2, so that fp16 holds the inputs exactly.
    generator = torch.Generator().manual_seed(seed)
    shape = (batch, channels, *size_in)
    x = torch.randint(-32, 33, shape, generator=generator).float() / 16
    y = torch.nn.functional.interpolate(x, size=size_out, mode="bicubic", align_corners=align_corners)
    case("DynamicTRTResize", name,
         {"align_corners": int(align_corners)} if attributes is None else attributes,
         {"x": x.numpy(), "size_tensor": numpy.zeros((1, 1, *size_out))}, {"y": y.numpy()},
         any_type=("size_tensor",))


seed = 0
for corners in (True, False):
    for case_name, *sizes in [
        ("larger", 1, 2, (4, 5), (7, 9)),
        ("smaller", 2, 1, (9, 7), (4, 3)),
        ("same", 1, 1, (3, 4), (3, 4)),
        ("one pixel in", 1, 1, (1, 1), (3, 2)),
        ("one pixel out", 1, 1, (4, 6), (1, 1)),
        ("tall and flat", 1, 1, (2, 8), (11, 3)),
    ]:
        seed += 1
        add(case_name + (", corners aligned" if corners else ""), *sizes, corners, seed)
add("corners are aligned by default", 1, 2, (4, 5), (7, 9), True, 13, {})
add("no batch", 0, 2, (4, 5), (7, 9), True, 14)
write(__file__)
