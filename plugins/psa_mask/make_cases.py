"""Writes cases.json: mmcv.ops.PSAMask by its definition. Needs NumPy."""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

random = numpy.random.RandomState(0)


def sixteenths(*shape):
    # Multiples of 1/16 within 2, so that fp16 holds them exactly.
    return random.randint(-32, 33, shape).astype("float32") / 16


def psa(name, images, size, extents):
    x = sixteenths(images, size[0] * size[1], *extents)
    places = [(i, j) for i in range(extents[0]) for j in range(extents[1])]
    collect = numpy.zeros((images, len(places), *extents), "float32")
    distribute = numpy.zeros_like(collect)
    for a, (i, j) in enumerate(places):
        for b, (k, m) in enumerate(places):
            row, column = k - i + (size[0] - 1) // 2, m - j + (size[1] - 1) // 2
            if 0 <= row < size[0] and 0 <= column < size[1]:
                collect[:, b, i, j] = distribute[:, a, k, m] = x[:, row * size[1] + column, i, j]
    for number, (kind, y) in enumerate((("collect", collect), ("distribute", distribute))):
        case("MMCVPSAMask", f"{name}, {kind}", {"psa_type": number, "mask_size": list(size)}, {"input": x}, {"output": y})


psa("masks as large as images", 2, (5, 7), (3, 4))
psa("smaller masks", 1, (3, 1), (4, 3))
psa("one element", 1, (1, 1), (2, 2))
psa("no images", 0, (3, 3), (2, 2))
write(__file__)
