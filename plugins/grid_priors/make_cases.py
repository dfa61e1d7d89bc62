"""Writes cases.json: anchors on a grid, as NumPy adds them. Needs NumPy."""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402


def add(name, anchors, height, width, stride_h=None, stride_w=None):
    base = (numpy.random.RandomState(anchors).randint(-64, 64, (anchors, 4)) / 4).astype("float32")
    y, x = numpy.meshgrid(numpy.arange(height) * (stride_h or 1),
                          numpy.arange(width) * (stride_w or 1), indexing="ij")
    shifts = numpy.stack([x, y, x, y], -1).reshape(-1, 1, 4)
    priors = (shifts + base[None]).reshape(-1, 4).astype("float32")
    attributes = {} if stride_h is None else {"stride_h": stride_h, "stride_w": stride_w}
    case("GridPriorsTRT", name, attributes,
         {"base_anchors": base, "height": numpy.zeros(height), "width": numpy.zeros(width)},
         {"priors": priors}, any_type=("height", "width"))
    if stride_h == stride_w:
        case("GridAnchorDynamicPluginDynamic", name, {"stride": stride_h or 1},
             {"feature": numpy.zeros((2, 3, height, width)), "base_anchors": base}, {"anchors": priors},
             any_type=("feature",))


add("two strides", 3, 2, 5, 8, 4)
add("strides of one", 2, 3, 2)
add("one of each", 1, 1, 1, 16, 16)
add("no rows", 2, 0, 3, 8, 8)
add("no anchors", 0, 2, 3, 8, 8)
write(__file__)
