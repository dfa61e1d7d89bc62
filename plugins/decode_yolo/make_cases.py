"""Writes cases.json: boxes of YOLO heads, as NumPy decodes them and torchvision's NMS keeps them.

Needs NumPy, PyTorch and torchvision.
"""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402
from detections import nms  # noqa: E402

LETTERBOX = numpy.float32([2.5, 0, -10, 0, 2.5, -40, 150, 120])


def head(images, boxes, classes, seed, objectness=False):
    """Channels last: boxes that overlap in groups, in numbers that fp16 holds exactly."""
    random = numpy.random.default_rng(seed)
    centres = random.integers(8, 56, (images, boxes // 6 + 1, 2)).repeat(6, 1)[:, :boxes]
    centres = centres + random.integers(-4, 5, centres.shape) / 2
    extents = random.integers(20, 40, centres.shape) / 2
    scores = random.permuted(numpy.arange(boxes * classes) % 1021, axis=0) / 1024
    scores = numpy.stack([random.permutation(scores).reshape(boxes, classes) for _ in range(images)])
    scores[:, ::2] /= 4  # exact, too: boxes with no class above the threshold
    parts = [centres, extents, *([random.integers(2, 9, (images, boxes, 1)) / 8] if objectness else []), scores]
    return numpy.concatenate(parts, -1).astype("float32")


def decoded(rows, to_image, most, threshold, overlap, agnostic, objectness):
    """Of one image: boxes, scores and classes."""
    scores = rows[:, 5:] * rows[:, 4:5] if objectness else rows[:, 4:]
    kinds = scores.argmax(1)
    best = scores[numpy.arange(len(rows)), kinds]
    centre, half = rows[:, :2], rows[:, 2:4] / 2
    boxes = numpy.concatenate([centre - half, centre + half], 1)
    is_object = rows[:, 4] > threshold if objectness else True
    found = numpy.flatnonzero((best > threshold) & is_object & numpy.isfinite(boxes).all(1))
    kept = []
    for kind in [None] if agnostic else numpy.unique(kinds[found]):
        of_kind = found if kind is None else found[kinds[found] == kind]
        kept += [int(of_kind[i]) for i in nms(numpy.ascontiguousarray(boxes[of_kind]), best[of_kind], overlap)]
    kept = sorted(kept, key=lambda i: (-best[i], i))[:most]
    if to_image is not None:
        m = to_image
        boxes = numpy.stack([boxes[:, 0] * m[0] + m[2], boxes[:, 1] * m[4] + m[5], boxes[:, 2] * m[0] + m[2],
                             boxes[:, 3] * m[4] + m[5]], 1)
        boxes = numpy.clip(boxes, 0, [m[6], m[7], m[6], m[7]])
    return boxes[kept], best[kept], kinds[kept]


def yolo(name, rows, objectness=False, to_image=None, most=12, threshold=0.25, overlap=0.45, agnostic=False):
    images = len(rows)
    counts = numpy.zeros((images, 1), "int32")
    boxes = numpy.zeros((images, most, 4), "float32")
    scores = numpy.zeros((images, most), "float32")
    classes = numpy.full((images, most), -1, "int32")
    for i in range(images):
        found = decoded(rows[i], None if to_image is None else to_image[i], most, threshold, overlap, agnostic,
                        objectness)
        n = counts[i, 0] = len(found[0])
        boxes[i, :n], scores[i, :n], classes[i, :n] = found
    inputs = {"head": rows if objectness else numpy.ascontiguousarray(rows.transpose(0, 2, 1))}
    if to_image is not None:
        inputs["to_image"] = to_image
    case("DecodeYolo", name,
         {"format": "v5" if objectness else "v8", "score_threshold": threshold, "iou_threshold": overlap,
          "max_output_boxes": most, "class_agnostic": agnostic}, inputs,
         {"num_detections": counts, "detection_boxes": boxes, "detection_scores": scores, "detection_classes": classes},
         fixed={"to_image", "detection_boxes", "detection_scores"})


def main():
    yolo("two images", head(2, 30, 4, 1))
    yolo("in pixels of the picture", head(2, 30, 4, 2), to_image=numpy.stack([LETTERBOX, LETTERBOX * 2]))
    yolo("across classes", head(1, 40, 3, 3), agnostic=True)
    yolo("more boxes than rows", head(1, 60, 5, 4), most=3, threshold=0.1)
    yolo("one class", head(1, 24, 1, 5))
    yolo("objectness", head(2, 30, 4, 6, objectness=True), objectness=True, threshold=0.2)
    yolo("objectness, across classes", head(1, 30, 4, 7, objectness=True), objectness=True, to_image=LETTERBOX[None],
         agnostic=True)
    yolo("none above the threshold", head(1, 12, 2, 8), threshold=1)
    numbers = head(1, 18, 3, 9)
    numbers[0, 0, 0], numbers[0, 3, 3], numbers[0, 5, 4], numbers[0, 7, 5] = numpy.nan, numpy.inf, -numpy.inf, -1
    yolo("numbers that are none", numbers, threshold=0.1)
    objects = head(1, 18, 3, 10, objectness=True)
    objects[0, [1, 3, 5], 4] = -0.5, numpy.nan, -numpy.inf
    objects[0, 7, 4:] = -1
    yolo("objectness that is none", objects, objectness=True, threshold=0.1)
    write(__file__)


if __name__ == "__main__":
    main()
