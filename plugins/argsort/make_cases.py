"""Writes cases.json: the order and the unique ones of integers, by NumPy."""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

random = numpy.random.RandomState(0)
LIMITS = numpy.iinfo("int64")


def both(name, x):
    x = numpy.int64(x)
    case("Argsort", name, {}, {"x": x}, {"y": numpy.argsort(x, kind="stable").astype("int64")})
    unique, inverse, counts = numpy.unique(x, return_inverse=True, return_counts=True)
    case("CustomUnique", name, {}, {"x": x}, {"unique": unique, "inverse": inverse.reshape(-1).astype("int64"),
                                              "counts": counts.astype("int64"), "num_out": numpy.int64(len(unique))})


both("some", random.randint(-9, 10, 40))
both("more than a block", random.randint(-300, 300, 1500))
# Cases hold integers that a double has.
both("far apart", [2**53, -2**53, 0, -1, 1, 2**40, -2**40, 255, 256, -256, 0])
both("one", [7])
both("all alike", [3] * 5)
both("none", [])
write(__file__)
