"""Writes cases.json: debug plugins give what they get. Needs NumPy."""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

ARRAYS = {
    "floats": numpy.arange(-6, 6, dtype="float32").reshape(3, 4) / 4,
    "NaN": numpy.array([1, numpy.nan], "float32"),
    "nothing": numpy.zeros((0, 2), "float32"),
    "scalar": numpy.float32(2.5),
    "int32": numpy.arange(3, dtype="int32"),
    "int64": numpy.arange(3, dtype="int64"),
    "int8": numpy.arange(-1, 2, dtype="int8"),
    "bool": numpy.array([True, False]),
}
for plugin in ("DebugPlugin", "DebugDynamicPlugin"):
    for name, array in ARRAYS.items():
        case(plugin, name, {"label": name, "count": 2}, {"x": array}, {"y": array}, tolerance=(0, 0))
write(__file__)
