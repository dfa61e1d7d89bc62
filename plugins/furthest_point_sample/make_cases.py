"""Writes cases.json: mmcv.ops.furthest_point_sample by its definition. Needs NumPy."""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402
from point_clouds import cloud, squares  # noqa: E402

random = numpy.random.RandomState(0)


def furthest(name, batch, count, samples, most=64):
    points = cloud(random, batch, count, most)
    d = squares(points, points)
    indices = numpy.zeros((batch, samples), "int32")
    for n in range(batch):
        nearest, last = numpy.full(count, numpy.inf), 0
        for s in range(samples):
            indices[n, s] = last
            nearest = numpy.minimum(nearest, d[n, last])
            last = int(nearest.argmax())
    case("MMCVFurthestPointSample", name, {"num_points": samples}, {"points": points}, {"indices": indices})


furthest("two clouds", 2, 40, 10)
furthest("equal distances", 1, 30, 12, 3)
furthest("more than there are", 1, 3, 6)
furthest("many points", 1, 300, 5)
furthest("none", 2, 5, 0)
furthest("no clouds", 0, 5, 2)
write(__file__)
