"""Writes cases.json: features at places of a grid. Needs NumPy."""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

random = numpy.random.RandomState(0)


def scatter(name, counts, pillars, features, rows, columns):
    x = random.randint(-32, 33, (len(counts), pillars, features)).astype("float32") / 16
    coordinates = numpy.zeros((len(counts), pillars, 4), "int32")
    y = numpy.zeros((len(counts), features, rows, columns), "float32")
    for n, count in enumerate(counts):
        places = random.permutation(rows * columns)[:pillars]
        coordinates[n, :, 2], coordinates[n, :, 3] = places // columns, places % columns
        for p in range(count):
            y[n, :, coordinates[n, p, 2], coordinates[n, p, 3]] = x[n, p]
    case("PillarScatterPlugin", name, {"dense_shape": [rows, columns]},
         {"features": x, "coordinates": coordinates, "num_pillars": numpy.int32(counts)}, {"y": y})


scatter("two frames", [7, 3], 8, 5, 4, 6)
scatter("64 features", [5], 5, 64, 3, 3)
scatter("no pillars", [0], 3, 2, 2, 2)
scatter("no frames", [], 3, 2, 2, 2)
write(__file__)
