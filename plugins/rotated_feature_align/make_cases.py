"""Writes cases.json: mmcv.ops.rotated_feature_align by its definition. Needs NumPy."""
import math
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

random = numpy.random.RandomState(0)


def bilinear(plane, row, column):
    """0 further out than a pixel; the edge goes on for that pixel."""
    height, width = plane.shape
    if not (-1 <= row <= height and -1 <= column <= width):
        return 0.0
    row, column = (min(max(at, 0), extent - 1) for at, extent in ((row, height), (column, width)))
    top, left = (min(int(at), max(extent - 2, 0)) for at, extent in ((row, height), (column, width)))
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    down, across = row - top, column - left
    return ((1 - down) * ((1 - across) * plane[top, left] + across * plane[top, right])
            + down * ((1 - across) * plane[bottom, left] + across * plane[bottom, right]))


def align(name, images, channels, height, width, points, scale, corner=None):
    x = random.randint(-32, 33, (images, channels, height, width)).astype("float32") / 16
    if corner is not None:
        x[:, :, 0, 0] = corner
    boxes = numpy.empty((images, height, width, 5), "float32")
    boxes[..., :2] = random.randint(-32, 16 * max(height, width) + 32, (images, height, width, 2)) / 16 / scale
    boxes[..., 2:4] = random.randint(0, 65, (images, height, width, 2)) / 16 / scale
    boxes[..., 4] = random.randint(-64, 65, (images, height, width)) / 16
    y = x.astype("float64")
    for n, i, j in numpy.ndindex(images, height, width):
        row, column, wide, tall = (float(v) * scale for v in boxes[n, i, j, :4])
        cosine, sine = math.cos(boxes[n, i, j, 4]), math.sin(boxes[n, i, j, 4])
        # In turn: the centre, and corners to both sides of it along the box's own axes.
        moves = [(0, 0)] + [(a * wide / 2, b * tall / 2) for a in (1, -1) for b in (1, -1)][:points - 1]
        for c in range(channels):
            y[n, c, i, j] += sum(bilinear(x[n, c].astype("float64"), row + sine * a + cosine * b, column + cosine * a - sine * b)
                                 for a, b in moves)
    case("MMCVRotatedFeatureAlign", name, {"spatial_scale": scale, "points": points}, {"features": x, "best_rbboxes": boxes},
         {"output": y.astype("float32")})


align("centres", 2, 3, 5, 4, 1, 1.0)
align("corners, too", 2, 2, 4, 6, 5, 0.125)
align("one pixel", 1, 1, 1, 1, 5, 1.0)
align("NaNs outside of boxes", 1, 1, 3, 3, 1, 1.0, corner=numpy.nan)
align("no images", 0, 2, 3, 3, 1, 1.0)
write(__file__)
