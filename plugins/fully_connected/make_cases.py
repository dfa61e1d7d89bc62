"""Writes cases.json: what NumPy's product gives in float64. Needs NumPy."""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

random = numpy.random.RandomState(0)


def sixteenths(*shape):
    # Multiples of 1/16 within 2, so that fp16 holds them exactly.
    return random.randint(-32, 33, shape).astype("float32") / 16


def product(name, rows, batch, depth, columns):
    x, weights = sixteenths(rows, batch, depth), sixteenths(depth, columns)
    y = (x.astype("float64") @ weights).astype("float32")
    case("CustomFCPluginDynamic", name, {"out_dims": columns, "type_id": 0, "W": weights.flatten()},
         {"input": x.reshape(rows, batch, depth, 1, 1)}, {"output": y.reshape(rows, batch, columns, 1, 1)})


product("a product", 3, 2, 5, 7)
product("longer than vectors", 2, 9, 33, 18)
product("one element", 1, 1, 1, 1)
product("no rows", 0, 2, 4, 3)
write(__file__)
