"""Writes cases.json: blocks that NumPy takes. Needs NumPy."""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402


def add(name, outer, extent, inner, picked, index_type="int32", negative=False):
    state = numpy.random.RandomState(extent)
    data = state.randint(-50, 50, (*outer, extent, *inner)).astype("float32")
    indices = state.randint(-extent if negative else 0, extent, (*outer, picked)).astype(index_type)
    wide = indices.reshape(*indices.shape, *(1,) * len(inner)) % max(extent, 1)
    output = numpy.take_along_axis(data, wide.astype("int64"), len(outer))
    case("GatherTopk", name, {}, {"data": data, "indices": indices}, {"output": output})


add("batches", (2,), 5, (3,), 4)
add("two axes before, two behind", (2, 3), 4, (2, 3), 5)
add("no axis before", (), 6, (3,), 4)
add("no axis behind", (3,), 5, (), 2)
add("one", (1,), 1, (1,), 1)
add("nothing picked", (2,), 3, (2,), 0)
add("no batch", (0,), 3, (2,), 2)
add("wide negative indices", (2,), 7, (3,), 5, "int64", True)
write(__file__)
