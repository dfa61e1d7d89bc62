"""Writes cases.json: what numpy.linalg.inv gives in float64. Needs NumPy."""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

random = numpy.random.RandomState(0)


def inverse(name, x):
    case("InverseTRT", name, {}, {"x": x.astype("float32")},
         {"y": numpy.linalg.inv(x).astype("float32")}, tolerance=(1e-4, 1e-2))


inverse("four by four", random.randint(-32, 33, (2, 3, 4, 4)) / 16 + 3 * numpy.eye(4))
inverse("a pivot of zero", numpy.array([[[0.0, 1, 0], [2, 0, 0], [0, 0, 4]]]))
inverse("one element", numpy.array([[4.0]]))
inverse("larger", random.randint(-32, 33, (9, 9)) / 16 + 8 * numpy.eye(9))
case("InverseTRT", "no matrices", {}, {"x": numpy.zeros((0, 3, 3), "float32")}, {"y": numpy.zeros((0, 3, 3), "float32")})
write(__file__)
