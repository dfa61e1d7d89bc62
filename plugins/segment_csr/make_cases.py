"""Writes cases.json: segments of rows by NumPy, as torch_scatter's segment_csr has them."""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

random = numpy.random.RandomState(0)
REDUCE = {"sum": numpy.sum, "mean": numpy.mean, "min": numpy.min, "max": numpy.max}


def segments(name, columns, starts, reduce, attributes=None):
    # Sixteenths, which fp16 holds.
    x = (random.randint(-64, 65, (starts[-1] + 2, columns)) / 16).astype("float32")
    y = [REDUCE[reduce](x[a:b].astype("float64"), 0) if b > a else numpy.zeros(columns) for a, b in zip(starts, starts[1:])]
    case("SegmentCSR", name, {"reduce": reduce} if attributes is None else attributes, {"src": x, "indptr": numpy.int64(starts)},
         {"out": numpy.array(y).reshape(len(y), columns).astype("float32")})


for kind in REDUCE:
    segments(kind, 5, [0, 3, 3, 4, 11], kind)
    segments(f"{kind}, many columns", 300, [1, 3, 6], kind)
segments("defaults", 2, [0, 2], "sum", {})
segments("no segments", 3, [0], "max")
segments("no columns", 0, [0, 2], "mean")
write(__file__)
