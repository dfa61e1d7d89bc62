"""Writes cases.json: what torchvision's non-maximum suppression keeps within each class, the best
boxes of each image first; for rotated boxes, what polygons clipped in double precision keep.

Needs NumPy, PyTorch and torchvision.
"""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402
from detections import best_of_image, corners, nms, random_boxes, random_scores  # noqa: E402
import retinanet  # noqa: E402
from rotated import random_rotated_boxes, rotated_nms  # noqa: E402


def clipped(values, clips):
    return numpy.clip(values, 0, 1) if clips else values


def rows_of(boxes, scores, rows, clips, numbers, **rule):
    """Rows of box and score, classes and indices, as MMDeploy has them."""
    images = len(scores)
    dets = numpy.zeros((images, rows, numbers + 1), "float32")
    labels = numpy.full((images, rows), -1, "int32")
    index = numpy.full((images, rows), -1, "int32")
    for n in range(images):
        pairs = best_of_image(boxes[n], scores[n], rows, **rule)
        for row, (box, kind) in enumerate(pairs):
            stored = boxes[n, box, kind if boxes.shape[2] > 1 else 0]
            dets[n, row, :numbers] = stored
            dets[n, row, :4] = clipped(stored[:4], clips)
            dets[n, row, numbers] = scores[n, box, kind]
            labels[n, row], index[n, row] = kind, box
    return dets, labels, index


def mmdeploy(name, boxes, scores, keep_topk, score=0.1, overlap=0.5, topk=-1, background=-1,
             clips=False, return_index=False, camel=False, plugin="TRTBatchedNMS", extra=None,
             **rule):
    numbers = 4 if plugin == "TRTBatchedNMS" else 5
    axes = boxes if boxes.ndim == 4 else boxes[:, :, None]
    dets, labels, index = rows_of(axes, scores, keep_topk, clips, numbers,
                                  overlap=overlap, least=score, considered=topk,
                                  background=background, **rule)
    names = (["backgroundLabelId", "numClasses", "topK", "keepTopK", "scoreThreshold",
              "iouThreshold", "isNormalized", "clipBoxes"] if camel else
             ["background_label_id", "num_classes", "topk", "keep_topk", "score_threshold",
              "iou_threshold", "is_normalized", "clip_boxes"])
    values = [background, scores.shape[2], topk, keep_topk, score, overlap, 0, int(clips)]
    attributes = dict(zip(names, values)) if extra is None else extra
    outputs = {"dets": dets, "labels": labels}
    if return_index:
        attributes["return_index"] = 1
        outputs["index"] = index
    case(plugin, name, attributes, {"boxes": boxes, "scores": scores}, outputs)


def nvidia(name, boxes, scores, keep, score=0.1, overlap=0.5, topk=-1, background=-1, clips=False,
           plugin="BatchedNMSDynamic_TRT", pixels=0, images=True, **attributes):
    rows, labels, _ = rows_of(boxes, scores, keep, False, 4, overlap=overlap, least=score,
                              considered=topk, background=background,
                              suppress=lambda b, s, t: nms_of_pixels(b, s, t, pixels))
    outputs = {"num_detections": (labels >= 0).sum(1, keepdims=True).astype("int32"),
               "nmsed_boxes": clipped(rows[..., :4], clips), "nmsed_scores": rows[..., 4],
               "nmsed_classes": labels.astype("float32")}
    inputs = {"boxes": boxes, "scores": scores}
    if not images:
        inputs = {key: array[0] for key, array in inputs.items()}
        outputs = {key: array[0] for key, array in outputs.items()}
        outputs["num_detections"] = outputs["num_detections"][0]
    case(plugin, name,
         {"shareLocation": int(boxes.shape[2] == 1), "backgroundLabelId": background,
          "numClasses": scores.shape[2], "topK": topk, "keepTopK": keep, "scoreThreshold": score,
          "iouThreshold": overlap, "clipBoxes": int(clips), **attributes}, inputs, outputs)


def nms_of_pixels(boxes, scores, overlap, pixels):
    boxes = corners(boxes)
    boxes[:, 2:] += pixels
    return nms(boxes, scores, overlap)


# TRTBatchedNMS.
boxes, scores = random_boxes((2, 24, 1), 1), random_scores((2, 24, 4), 1)
mmdeploy("two images", boxes, scores, 12)
mmdeploy("with indices", boxes, scores, 12, return_index=True)
mmdeploy("names in camel case", boxes, scores, 12, camel=True)
mmdeploy("a background class", boxes, scores, 12, background=2)
mmdeploy("few are looked at, fewer are kept", boxes, scores, 3, topk=6, overlap=0.7, background=-1)
mmdeploy("more rows than boxes that are looked at", boxes, scores, 30, topk=2)
mmdeploy("a high threshold", boxes, scores, 20, score=0.9, return_index=True)
mmdeploy("nothing is above the threshold", boxes, scores, 4, score=1.0, return_index=True)
mmdeploy("any overlap", boxes, scores, 20, overlap=0.0)
mmdeploy("every overlap", boxes, scores, 9, overlap=1.0)
mmdeploy("clipped", boxes / 16, scores, 12, clips=True)
mmdeploy("clipped by default", boxes / 16, scores, 12, clips=True,
         extra={"keep_topk": 12, "iou_threshold": 0.5, "score_threshold": 0.1})
mmdeploy("boxes of three axes", boxes[:, :, 0], scores, 12)
mmdeploy("boxes of each class", random_boxes((2, 30, 3), 2), random_scores((2, 30, 3), 2), 15,
         return_index=True)
mmdeploy("one class", random_boxes((1, 150, 1), 3), random_scores((1, 150, 1), 3), 90,
         return_index=True)
mmdeploy("twenty classes", random_boxes((1, 19, 1), 4), random_scores((1, 19, 20), 4), 40)
mmdeploy("one box", random_boxes((1, 1, 1), 5), random_scores((1, 1, 1), 5), 3, score=0.0)
mmdeploy("no box", random_boxes((2, 0, 1), 6), random_scores((2, 0, 4), 6), 3)
mmdeploy("no image", random_boxes((0, 7, 1), 7), random_scores((0, 7, 2), 7), 3)
# Of equal scores the lower box comes first, then the lower class.
tied = numpy.floor(random_scores((2, 24, 4), 8) * 4) / 4
mmdeploy("equal scores", boxes, tied, 25, return_index=True)
# BatchedNMSDynamic_TRT and its other names.
boxes = random_boxes((2, 20, 1), 11, opposite=True)
scores = random_scores((2, 20, 3), 11)
nvidia("two images", boxes, scores, 10)
nvidia("all attributes", boxes, scores, 10, topk=7, background=0, isNormalized=1, scoreBits=10,
       caffeSemantics=1)
nvidia("pixels", numpy.floor(boxes / 2), scores, 10, pixels=1, isNormalized=0)
nvidia("pixels without the extra one", numpy.floor(boxes / 2), scores, 10, isNormalized=0,
       caffeSemantics=0)
nvidia("clipped", boxes / 16, scores, 10, clips=True)
nvidia("boxes of each class", random_boxes((2, 20, 3), 12), random_scores((2, 20, 3), 12), 40)
nvidia("no box", random_boxes((1, 0, 1), 13), random_scores((1, 0, 2), 13), 3)
nvidia("images", boxes, scores, 10, plugin="BatchedNMS_TRT")
nvidia("no axis of images", boxes[:1], scores[:1], 10, plugin="BatchedNMS_TRT", images=False)
nvidia("images", boxes, scores, 10, plugin="BatchedNMS_TRT_CUSTOM", isNormalized=0)

# TRTBatchedRotatedNMS.
boxes, scores = random_rotated_boxes((2, 24, 1), 21), random_scores((2, 24, 3), 21)
rotated = {"plugin": "TRTBatchedRotatedNMS", "suppress": rotated_nms}
mmdeploy("two images", boxes, scores, 12, overlap=0.3, **rotated)
mmdeploy("names in camel case", boxes, scores, 12, overlap=0.1, camel=True, **rotated)
mmdeploy("clipped", boxes / 16, scores, 12, clips=True, overlap=0.2, background=1, **rotated)
mmdeploy("boxes of each class", random_rotated_boxes((1, 20, 2), 22), random_scores((1, 20, 2), 22),
         30, overlap=0.2, topk=15, **rotated)
mmdeploy("one box", random_rotated_boxes((1, 1, 1), 23), random_scores((1, 1, 1), 23), 2, score=0.0,
         **rotated)
mmdeploy("no box", random_rotated_boxes((1, 0, 1), 24), random_scores((1, 0, 1), 24), 2, **rotated)

# RetinaNet's head: boxes are decoded and scores activated outside.
logits, regressions, anchors, kept, kept_scores, kept_classes = retinanet.head()
case("TRTBatchedNMS", "what is behind RetinaNet's head",
     {"num_classes": retinanet.CLASSES, "keep_topk": retinanet.ROWS,
      "score_threshold": retinanet.SCORE, "iou_threshold": retinanet.OVERLAP, "clip_boxes": 0},
     {"boxes": retinanet.decoded(regressions[0], anchors).numpy()[None, :, None],
      "scores": logits.sigmoid().numpy()},
     {"dets": numpy.concatenate([kept.numpy(), kept_scores.numpy()[:, None]], 1)[None],
      "labels": kept_classes.numpy().astype("int32")[None]}, fixed=("boxes", "scores", "dets"))
write(__file__)
