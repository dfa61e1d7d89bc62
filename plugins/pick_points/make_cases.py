"""Writes cases.json: mmcv.ops.three_interpolate, grouping_operation and gather_points by their definitions. Needs NumPy."""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

random = numpy.random.RandomState(0)


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
