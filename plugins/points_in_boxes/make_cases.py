"""Writes cases.json: mmcv.ops.points_in_boxes_part and points_in_boxes_all by their definition. Needs NumPy."""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402
from point_clouds import cloud  # noqa: E402

random = numpy.random.RandomState(0)


def inside(name, batch, count, box_count):
    points = cloud(random, batch, count, 16)
    boxes = numpy.empty((batch, box_count, 7), "float32")
    boxes[..., :3] = cloud(random, batch, box_count, 16)
    boxes[..., 3:6] = random.randint(32, 128, (batch, box_count, 3)) / 16
    boxes[..., 6] = random.randint(-64, 65, (batch, box_count)) / 16
    b = boxes.astype("float64")[:, None]
    d = points.astype("float64")[:, :, None] - b[..., :3]
    turned = (d[..., 0] + 1j * d[..., 1]) * numpy.exp(-1j * b[..., 6])
    margins = numpy.stack([b[..., 3] / 2 - abs(turned.real), b[..., 4] / 2 - abs(turned.imag)])
    assert (abs(margins) > 1e-5).all(), "too close to tell in fp32"
    found = (margins > 0).all(0) & (d[..., 2] >= 0) & (d[..., 2] <= b[..., 5])
    first = numpy.where(found.any(-1), found.argmax(-1), -1) if box_count else numpy.full((batch, count), -1)
    overlapping = int((found.sum(-1) > 1).sum())
    assert found.any() == (min(count, box_count) > 0) and (overlapping > 0) == (min(count, box_count) > 1), "cases that say nothing"
    inputs = {"points": points, "boxes": boxes}
    case("MMCVPointsInBoxesPart", name, {}, inputs, {"box_idxs_of_pts": first.astype("int32")})
    case("MMCVPointsInBoxesAll", name, {}, inputs, {"box_idxs_of_pts": found.astype("int32")})


inside("two clouds", 2, 60, 5)
inside("one box", 1, 40, 1)
inside("no boxes", 1, 4, 0)
inside("no points", 1, 0, 3)
write(__file__)
