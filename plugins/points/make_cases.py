"""Writes cases.json: mmcv's operators on points by their definitions. Needs NumPy."""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

random = numpy.random.RandomState(0)


def cloud(batch, count, most=64):
    # Multiples of 1/4, so that fp16 holds the points, and float the squares of distances.
    return random.randint(-most, most + 1, (batch, count, 3)).astype("float32") / 4


def squares(a, b):
    """(B, M, N): of the distances of each of a from each of b."""
    return ((a[:, :, None].astype("float64") - b[:, None]) ** 2).sum(-1)


def furthest(name, batch, count, samples, most=64):
    points = cloud(batch, count, most)
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


def ball(name, batch, count, centers, samples, least, most):
    points, middle = cloud(batch, count, 16), cloud(batch, centers, 16)
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
    points, middle = cloud(batch, count, most), cloud(batch, centers, most)
    indices = squares(middle, points).argsort(-1, kind="stable")[:, :, :k].transpose(0, 2, 1)
    case("MMCVKNN", name, {"k": k}, {"points": points, "centers": middle},
         {"indices": numpy.ascontiguousarray(indices).astype("int32")})


knn("two clouds", 2, 30, 5, 4)
knn("equal distances", 1, 40, 6, 8, 2)
knn("all", 1, 5, 2, 5)
knn("none", 1, 5, 2, 0)


def three_nn(name, batch, targets, sources):
    a, b = cloud(batch, targets), cloud(batch, sources)
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


def picks(name, batch, channels, count, results, group):
    features = random.randint(-32, 33, (batch, channels, count)).astype("float32") / 16
    three = random.randint(0, max(count, 1), (batch, results, 3)).astype("int32")
    weights = random.randint(0, 17, (batch, results, 3)).astype("float32") / 16
    many = random.randint(0, max(count, 1), (batch, results, group)).astype("int32")
    y = numpy.zeros((batch, channels, results), "float32")
    grouped = numpy.zeros((batch, channels, results, group), "float32")
    for n in range(batch):
        y[n] = (features[n][:, three[n]] * weights[n]).sum(-1)
        grouped[n] = features[n][:, many[n]]
    case("MMCVThreeInterpolate", name, {}, {"features": features, "indices": three, "weights": weights}, {"y": y})
    case("MMCVGroupPoints", name, {}, {"features": features, "indices": many}, {"y": grouped})
    first = numpy.ascontiguousarray(many[:, :, 0]) if group else numpy.zeros((batch, results), "int32")
    case("MMCVGatherPoints", name, {}, {"features": features, "indices": first},
         {"y": numpy.stack([f[:, i] for f, i in zip(features, first)]) if batch else y})


picks("two clouds", 2, 3, 9, 5, 4)
picks("one of each", 1, 1, 1, 1, 1)
picks("no results", 2, 3, 4, 0, 2)
picks("no clouds", 0, 3, 4, 2, 2)
write(__file__)
