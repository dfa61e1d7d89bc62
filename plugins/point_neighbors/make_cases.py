"""Writes cases.json: mmcv.ops.ball_query, knn and three_nn by their definitions. Needs NumPy."""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402
from point_clouds import cloud, squares  # noqa: E402

random = numpy.random.RandomState(0)


def ball(name, batch, count, centers, samples, least, most):
    points, middle = cloud(random, batch, count, 16), cloud(random, batch, centers, 16)
    if count and centers:
        middle[:, 0] = points[:, -1]  # a distance of 0
    d = squares(middle, points)
    indices = numpy.zeros((batch, centers, samples), "int32")
    for n, c in numpy.ndindex(batch, centers):
        found = numpy.flatnonzero((d[n, c] == 0) | ((d[n, c] >= least ** 2) & (d[n, c] < most ** 2)))[:samples]
        if len(found):
            indices[n, c] = found[0]
            indices[n, c, :len(found)] = found
    case("MMCVBallQuery", name, {"min_radius": float(least), "max_radius": float(most), "sample_num": samples},
         {"points": points, "centers": middle}, {"indices": indices})


ball("balls", 2, 50, 7, 5, 0, 3)
ball("shells", 1, 60, 9, 4, 2, 3.5)
ball("nothing near", 1, 10, 3, 3, 0, 0.125)
ball("no points", 1, 0, 2, 3, 0, 1)
ball("no centers", 1, 4, 0, 3, 0, 1)


def knn(name, batch, count, centers, k, most=64):
    points, middle = cloud(random, batch, count, most), cloud(random, batch, centers, most)
    indices = squares(middle, points).argsort(-1, kind="stable")[:, :, :k].transpose(0, 2, 1)
    case("MMCVKNN", name, {"k": k}, {"points": points, "centers": middle},
         {"indices": numpy.ascontiguousarray(indices).astype("int32")})


knn("two clouds", 2, 30, 5, 4)
knn("equal distances", 1, 40, 6, 8, 2)
knn("all", 1, 5, 2, 5)
knn("none", 1, 5, 2, 0)


def three_nn(name, batch, targets, sources):
    a, b = cloud(random, batch, targets), cloud(random, batch, sources)
    d = squares(a, b)
    indices = numpy.zeros((batch, targets, 3), "int32")
    distances = numpy.full((batch, targets, 3), numpy.inf, "float32")
    order = d.argsort(-1, kind="stable")[:, :, :3]
    indices[:, :, :order.shape[2]] = order
    distances[:, :, :order.shape[2]] = numpy.sqrt(numpy.take_along_axis(d, order, -1))
    case("MMCVThreeNN", name, {}, {"target": a, "source": b}, {"distances": distances, "indices": indices})


three_nn("two clouds", 2, 7, 20)
three_nn("two sources", 1, 4, 2)
three_nn("no targets", 1, 0, 3)
write(__file__)
