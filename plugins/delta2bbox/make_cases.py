"""Writes cases.json: mmdet's delta2bbox by its formula. Needs NumPy."""
import math
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402


def add(name, images, count, classes, box_classes, attributes, clip=None, wide=1):
    state = numpy.random.RandomState(len(name))
    scores = state.randint(0, 17, (images, count, classes)).astype("float32") / 16
    deltas = state.randint(-16, 17, (images, count, box_classes, 4)).astype("float32") / 16 * wide
    first = state.randint(0, 32, (count, 2))
    anchors = numpy.concatenate([first, first + state.randint(1, 32, (count, 2))], -1).astype("float32")
    means, deviations = attributes.get("target_means", [0] * 4), attributes.get("target_stds", [1] * 4)
    d = deltas * deviations + means
    limit = math.log(1000 / 16)
    size = (anchors[:, 2:] - anchors[:, :2])[None, :, None]
    centre = ((anchors[:, 2:] + anchors[:, :2]) / 2)[None, :, None] + d[..., :2] * size
    half = size * numpy.exp(d[..., 2:].clip(-limit, limit)) / 2
    boxes = numpy.concatenate([centre - half, centre + half], -1)
    if clip is not None:
        boxes = numpy.maximum(0, numpy.minimum(boxes, numpy.array([clip[1], clip[0]] * 2) - 1))
    rows = max(count, attributes.get("min_num_bbox", 1000))
    padded = numpy.zeros((images, rows, classes), "float32")
    padded[:, :count] = scores
    out = numpy.zeros((images, rows, box_classes * 4), "float32")
    out[:, :count] = boxes.reshape(images, count, box_classes * 4)
    inputs = {"scores": scores, "deltas": deltas.reshape(images, count, box_classes * 4), "anchors": anchors}
    if clip is not None:
        inputs["clip_range"] = numpy.int32(clip)
    case("Delta2BBoxPluginDynamic", name, attributes, inputs, {"padded_scores": padded, "boxes": out},
         tolerance=(1e-5, 4e-3))


add("two images", 2, 5, 3, 1, {"min_num_bbox": 7, "target_means": [0.0, 0.25, 0.0, 0.0],
                               "target_stds": [0.5, 0.5, 0.25, 0.25]})
add("clipped, a box for each class", 1, 6, 3, 3, {"min_num_bbox": 1}, (30, 40))
add("deltas beyond what is taken", 1, 4, 1, 1, {"min_num_bbox": 4, "target_stds": [0.0, 0.0, 1.0, 1.0]}, (500, 600), 8)
add("no boxes", 2, 0, 2, 1, {"min_num_bbox": 3})
add("defaults", 1, 2, 1, 1, {})
write(__file__)
