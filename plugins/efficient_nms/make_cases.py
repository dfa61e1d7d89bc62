"""Writes cases.json: what torchvision's non-maximum suppression keeps within each class or over all
of them, the best boxes of each image first.

Needs NumPy, PyTorch and torchvision.
"""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402
from detections import best_of_image, corners, nms, random_boxes, random_scores  # noqa: E402
import retinanet  # noqa: E402

NAMES = ("num_detections", "detection_boxes", "detection_scores", "detection_classes")


def inclusive(x):
    """What a value is above exactly when it is not below x."""
    return float(numpy.nextafter(numpy.float32(x), numpy.float32(-numpy.inf)))


def detections(boxes, covered, scores, rows, score, overlap, activation=False, clips=False, **rule):
    """boxes are written, covered are compared: (N, B, 1 or C, 4) corners."""
    images = len(scores)
    counts = numpy.zeros((images, 1), "int32")
    kept, kept_scores = numpy.zeros((images, rows, 4), "float32"), numpy.zeros((images, rows),
                                                                               "float32")
    kept_classes = numpy.zeros((images, rows), "int32")
    for n in range(images):
        pairs = best_of_image(covered[n], scores[n], rows, overlap=inclusive(overlap),
                              least=inclusive(score), suppress=lambda b, s, t: nms(corners(b), s, t),
                              **rule)
        counts[n] = len(pairs)
        for row, (box, kind) in enumerate(pairs):
            stored = boxes[n, box, kind if boxes.shape[2] > 1 else 0]
            kept[n, row] = numpy.clip(stored, 0, 1) if clips else stored
            value = scores[n, box, kind]
            kept_scores[n, row] = 1 / (1 + numpy.exp(-value)) if activation else value
            kept_classes[n, row] = kind
    return dict(zip(NAMES, (counts, kept, kept_scores, kept_classes)))


def efficient(name, boxes, scores, rows, score=0.25, overlap=0.5, given=None, anchors=None,
              attributes=None, threshold=None, **rule):
    """boxes: corners; given: as the plugin gets them; threshold: of the scores, with activation."""
    axes = boxes if boxes.ndim == 4 else boxes[:, :, None]
    flat = scores[..., 0] if scores.ndim == 4 else scores
    outputs = detections(axes, axes, flat, rows, score if threshold is None else threshold, overlap,
                         threshold is not None, **rule)
    inputs = {"boxes": boxes if given is None else given, "scores": scores}
    if anchors is not None:
        inputs["anchors"] = anchors
    case("EfficientNMS_TRT", name,
         {"score_threshold": score, "iou_threshold": overlap, "max_output_boxes": rows,
          "background_class": rule.get("background", -1),
          "score_activation": int(threshold is not None), "box_coding": 0, **(attributes or {})},
         inputs, outputs)


def tensorflow(name, plugin, boxes, scores, rows, score=0.25, overlap=0.5, of_class=-1, pads=0,
               clips=0, images=True, attributes=None):
    used = min(rows, of_class * scores.shape[2]) if pads and of_class > 0 else rows
    outputs = detections(boxes if boxes.ndim == 4 else boxes[:, :, None],
                         boxes if boxes.ndim == 4 else boxes[:, :, None], scores, used, score,
                         overlap, clips=bool(clips), most=of_class if of_class >= 0 else None)
    inputs = {"boxes": boxes, "scores": scores}
    if not images:
        inputs = {key: array[0] for key, array in inputs.items()}
        outputs = {key: array[0] for key, array in outputs.items()}
        outputs[NAMES[0]] = outputs[NAMES[0]][0]
    case(plugin, name,
         {"max_output_size_per_class": of_class, "max_total_size": rows, "iou_threshold": overlap,
          "score_threshold": score, "pad_per_class": pads, "clip_boxes": clips}
         if attributes is None else attributes, inputs, outputs)


boxes, scores = random_boxes((2, 20), 1, opposite=True), random_scores((2, 20, 3), 1)
efficient("two images", boxes, scores, 12)
efficient("boxes and scores of four axes", boxes[:, :, None], scores[..., None], 12)
efficient("boxes of each class", random_boxes((2, 20, 3), 2), random_scores((2, 20, 3), 2), 25)
efficient("a background class", boxes, scores, 12, background=1)
efficient("over all classes", boxes, scores, 30, across_classes=True,
          attributes={"class_agnostic": 1})
efficient("over all classes but the background", random_boxes((1, 25, 3), 3),
          random_scores((1, 25, 3), 3), 30, across_classes=False, background=0)
efficient("more rows than boxes", boxes, scores, 70, score=0.0)
efficient("a score on the threshold", boxes, scores, 40,
          score=float(numpy.sort(scores.flatten())[-31]))
# Every other box covers half of the one before it.
halves = numpy.array([[[4 * i, 0, 4 * i + 2, 2], [4 * i, 0, 4 * i + 1, 2]] for i in range(8)],
                     "float32").reshape(1, 16, 4)
efficient("an overlap on the threshold", halves, random_scores((1, 16, 1), 4), 16, score=0.0)
efficient("nothing is found", boxes, scores, 5, score=1.0)
efficient("one box", random_boxes((1, 1), 5), random_scores((1, 1, 1), 5), 2, score=0.0)
efficient("no box", random_boxes((1, 0), 6), random_scores((1, 0, 2), 6), 2)
efficient("equal scores", boxes, numpy.floor(scores * 4) / 4, 40, score=0.0)
logits = numpy.floor(random_scores((2, 20, 3), 7) * 1024) / 64 - 8
efficient("logits", boxes, logits.astype("float32"), 20, score=0.5, threshold=0.0)
efficient("every logit", boxes, logits.astype("float32"), 70, score=0.0, threshold=-1e9)
even = numpy.floor(random_boxes((2, 20), 8) * 8) / 8
centers = numpy.concatenate([(even[..., :2] + even[..., 2:]) / 2, even[..., 2:] - even[..., :2]], -1)
efficient("centres and sizes", even, scores, 12, given=centers, attributes={"box_coding": 1})
# Relative to anchors, (N, B, 4) and (1, B, 4).
anchors = random_boxes((2, 20), 9)
moves = numpy.random.RandomState(9).randint(-8, 9, (2, 20, 4)).astype("float32") / 16
moves = corners(moves)
efficient("anchors of each image", moves + anchors, scores, 12, given=moves, anchors=anchors)
efficient("anchors of all images", moves + anchors[:1], scores, 12, given=moves,
          anchors=anchors[:1])
logits, regressions, corners_of_anchors, kept, kept_scores, kept_classes = retinanet.head()
case("EfficientNMS_TRT", "what is behind RetinaNet's head",
     {"score_threshold": retinanet.SCORE, "iou_threshold": retinanet.OVERLAP,
      "max_output_boxes": retinanet.ROWS, "score_activation": 1, "box_coding": 1},
     {"boxes": regressions.numpy(), "scores": logits.numpy(),
      "anchors": retinanet.centers(corners_of_anchors).numpy()[None]},
     dict(zip(NAMES, (numpy.full((1, 1), retinanet.ROWS, "int32"), kept.numpy()[None],
                      kept_scores.numpy()[None], kept_classes.numpy().astype("int32")[None]))),
     fixed=("boxes", "scores", "anchors", *NAMES))

explicit, implicit = "EfficientNMS_Explicit_TF_TRT", "EfficientNMS_Implicit_TF_TRT"
boxes = random_boxes((2, 20, 1), 11, opposite=True)
tensorflow("two images", explicit, boxes, scores, 12)
tensorflow("few of each class", explicit, boxes, scores, 12, of_class=2)
tensorflow("padded for each class", explicit, boxes, scores, 12, of_class=2, pads=1)
tensorflow("clipped", explicit, boxes / 16, scores, 12, clips=1)
tensorflow("defaults", explicit, boxes, scores, 100, score=0.5, attributes={})
tensorflow("boxes of each class", explicit, random_boxes((1, 20, 4), 12),
           random_scores((1, 20, 4), 12), 25)
tensorflow("images", implicit, boxes, scores, 12)
tensorflow("no axis of images", implicit, boxes[:1], scores[:1], 12, images=False)
tensorflow("boxes of two axes", implicit, boxes[:1, :, 0], scores[:1], 12, images=False, of_class=3,
           pads=1)
write(__file__)
