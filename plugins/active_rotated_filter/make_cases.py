"""Writes cases.json: mmcv.ops.active_rotated_filter by its definition. Needs NumPy."""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

random = numpy.random.RandomState(0)


def rotate(name, outputs, inputs, orientations, size, rotations):
    x = random.randint(-32, 33, (outputs, inputs, orientations, *size)).astype("float32") / 16
    entries = orientations * size[0] * size[1]
    indices = numpy.stack([random.permutation(entries) + 1 for _ in range(rotations)], -1)
    y = numpy.zeros((outputs, rotations, inputs, entries), "float32")
    for rotation in range(rotations):
        y[:, rotation][:, :, indices[:, rotation] - 1] = x.reshape(outputs, inputs, entries)
    case("MMCVActiveRotatedFilter", name, {},
         {"input": x, "indices": indices.reshape(orientations, *size, rotations).astype("int32")},
         {"output": y.reshape(outputs * rotations, inputs * orientations, *size)})


rotate("eight rotations", 2, 3, 2, (3, 3), 8)
rotate("filters of one element", 3, 2, 4, (1, 1), 4)
rotate("no filters", 0, 2, 1, (3, 3), 2)
write(__file__)
