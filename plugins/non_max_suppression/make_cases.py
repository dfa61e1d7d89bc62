"""Writes cases.json: what torchvision's non-maximum suppression keeps within each class, and for the
ONNX operator what ONNX Runtime keeps; for rotated boxes, what polygons clipped in double precision
keep.

Needs NumPy, PyTorch, torchvision, onnx and ONNX Runtime.
"""
import pathlib
import sys

import numpy
import onnx
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402
from detections import (corners, kept_of_class, nms, random_boxes,  # noqa: E402
                        random_scores)
from rotated import random_rotated_boxes, rotated_nms  # noqa: E402


def centered(boxes):
    """Corners as centres and sizes; exact in fp16 for corners in multiples of 1/8."""
    low, high = boxes[..., :2], boxes[..., 2:]
    return numpy.concatenate([(low + high) / 2, high - low], -1)


def padded(rows, count):
    table = numpy.full((count, 3), -1, "int32")
    if rows:
        table[:len(rows)] = rows
    return table


def rows_of(boxes, scores, suppress, most=None, **rule):
    return [(image, kind, box) for image in range(len(scores)) for kind in range(scores.shape[1])
            for box in kept_of_class(boxes[image], scores[image, kind], suppress=suppress,
                                     most=most, **rule)]


def mmcv(name, boxes, scores, center=0, given=None, offset=0, **attributes):
    """`given`: the boxes in the coding that the plugin gets."""
    def with_offset(b, s, t):
        return nms(corners(b) + numpy.array([0, 0, offset, offset], "float32"), s, t)

    least = attributes.get("score_threshold", 0)
    most = attributes.get("max_output_boxes_per_class", 0)
    rows = rows_of(boxes, scores, with_offset, overlap=attributes.get("iou_threshold", 0),
                   least=numpy.nextafter(numpy.float32(least), -1) if least > 0 else -numpy.inf,
                   most=most or None)
    count = scores.shape[0] * scores.shape[1] * min(most or scores.shape[2], scores.shape[2])
    if center:
        attributes["center_point_box"] = center
    if offset:
        attributes["offset"] = offset
    case("NonMaxSuppression", name, attributes,
         {"boxes": boxes if given is None else given, "scores": scores},
         {"indices": padded(rows, count)})


def onnx_rows(boxes, scores, most, overlap, least, center):
    """Of ONNX's operator, by image, class and score."""
    helper = onnx.helper
    constants = [("m", numpy.array([most], "int64")), ("o", numpy.array([overlap], "float32")),
                 ("l", numpy.array([least], "float32"))]
    graph = helper.make_graph(
        [helper.make_node("NonMaxSuppression", ["b", "s", "m", "o", "l"], ["y"],
                          center_point_box=center)], "nms",
        [helper.make_tensor_value_info(n, 1, ["x", "y", "z"]) for n in ("b", "s")],
        [helper.make_tensor_value_info("y", 7, None)],
        [onnx.numpy_helper.from_array(a, n) for n, a in constants])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(),
                                           providers=["CPUExecutionProvider"])
    return session.run(None, {"b": boxes, "s": scores})[0]


def efficient(name, boxes, scores, most, score=0.5, overlap=0.5, center=0):
    """Scores (N, B, C)."""
    by_class = numpy.ascontiguousarray(scores.transpose(0, 2, 1))
    found = onnx_rows(boxes, by_class, most, overlap, score, center)
    table = numpy.full((len(boxes) * most, 3), -1, "int32")
    rows = []
    for image in range(len(boxes)):
        of_image = [tuple(row) for row in found if row[0] == image]
        rows += sorted(of_image, key=lambda r: (-scores[r[0], r[2], r[1]], r[2], r[1]))[:most]
    if rows:
        table[:len(rows)] = rows
        table[len(rows):] = rows[-1]
    attributes = {"max_output_boxes_per_class": most}
    if (score, overlap, center) != (0.5, 0.5, 0):
        attributes |= {"score_threshold": score, "iou_threshold": overlap,
                       "center_point_box": center}
    case("EfficientNMS_ONNX_TRT", name, attributes, {"boxes": boxes, "scores": scores},
         {"indices": table})


# NonMaxSuppression.
boxes, scores = random_boxes((2, 30), 1, opposite=True), random_scores((2, 3, 30), 1)
mmcv("nothing but boxes", boxes, scores)
mmcv("overlaps", boxes, scores, iou_threshold=0.5)
mmcv("few of a class", boxes, scores, iou_threshold=0.5, max_output_boxes_per_class=4)
mmcv("more of a class than there are", boxes, scores, iou_threshold=0.5,
     max_output_boxes_per_class=50)
mmcv("a score threshold", boxes, scores, iou_threshold=0.5, score_threshold=0.5)
mmcv("a score on the threshold", boxes, scores, iou_threshold=0.5,
     score_threshold=float(numpy.sort(scores.flatten())[-20]))
mmcv("a negative score threshold", boxes, scores - 0.5, iou_threshold=0.5, score_threshold=-0.25)
mmcv("an offset", numpy.floor(boxes / 2), scores, iou_threshold=0.5, offset=1)
even = numpy.floor(random_boxes((2, 30), 2) * 8) / 8
mmcv("centres and sizes", even, scores, center=1, given=centered(even), iou_threshold=0.5)
mmcv("equal scores", boxes, numpy.floor(scores * 4) / 4, iou_threshold=0.5)
mmcv("one box", random_boxes((1, 1), 3), random_scores((1, 1, 1), 3), iou_threshold=0.5)
mmcv("no box", random_boxes((1, 0), 4), random_scores((1, 2, 0), 4), iou_threshold=0.5)
mmcv("many boxes", random_boxes((1, 400), 5), random_scores((1, 1, 400), 5), iou_threshold=0.5,
     max_output_boxes_per_class=150)

# EfficientNMS_ONNX_TRT.
boxes, scores = random_boxes((2, 30), 11, opposite=True), random_scores((2, 30, 3), 11)
efficient("defaults", boxes, scores, 8)
efficient("thresholds", boxes, scores, 8, score=0.75, overlap=0.25)
efficient("more rows than boxes", boxes, scores, 70, score=0.25)
efficient("nothing is found", boxes, scores, 4, score=1.0)
efficient("centres and sizes", centered(even), scores, 10, score=0.1, overlap=0.5, center=1)

# TorchNMS.
for plugin in ("TorchNMSPluginDynamic", "TorchNMS"):
    for case_name, count, shift in (("boxes", 40, 0), ("scores of both signs", 40, 0.5),
                                    ("one box", 1, 0), ("no box", 0, 0)):
        boxes = random_boxes((count,), 21)
        scores = random_scores((1, count), 21)[0] - numpy.float32(shift)
        kept = nms(boxes, scores, 0.4)
        indices = numpy.full(count, -1, "int32")
        indices[:len(kept)] = kept
        case(plugin, case_name, {"iou_threshold": 0.4}, {"boxes": boxes, "scores": scores},
             {"indices": indices})

# NMSRotated.
for case_name, images, classes, count, overlap, least in (
        ("images and classes", 2, 2, 15, 0.3, 0.25), ("one class", 1, 1, 30, 0.1, 0.0),
        ("one box", 1, 1, 1, 0.1, 0.0), ("no box", 1, 1, 0, 0.1, 0.0)):
    boxes = random_rotated_boxes((images, count), 31)
    scores = random_scores((images, classes, count), 31)
    rows = rows_of(boxes, scores, rotated_nms, overlap=overlap, least=least)
    case("NMSRotated", case_name, {"iou_threshold": overlap, "score_threshold": least},
         {"boxes": boxes, "scores": scores}, {"indices": padded(rows, scores.size)})
write(__file__)
