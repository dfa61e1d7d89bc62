"""Writes cases.json: detections of Mask R-CNN by their formulas and greedy suppression. Needs NumPy."""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402
from greedy_nms import kept  # noqa: E402
from moved_boxes import moved, scores_of  # noqa: E402

random = numpy.random.RandomState(0)


def detections(plugin, name, images, boxes, classes, keep, least, overlap, size=None):
    """`size`: of TAO's, in pixels."""
    limits = numpy.array([1, 1]) if size is None else numpy.array(size) - 1
    step = 64 if size is None else 1
    extent = numpy.array([64, 64]) if size is None else numpy.array(size)
    first = (random.randint(0, 1000, (images, boxes, 2)) % (extent * 3 // 4))
    rois = numpy.concatenate([first, first + 4 + random.randint(0, 1000, (images, boxes, 2)) % (extent // 4)], -1)
    rois = (rois / step).astype("float32")
    scores = scores_of(random, images, boxes, classes)
    deltas = random.randint(-48, 49, (images, boxes, classes, 4)).astype("float32") / 16
    y = numpy.zeros((images, keep, 6), "float32")
    y[:, :, 4] = -1
    for n in range(images):
        choices = scores[n].argmax(1) if size is None or classes == 1 else scores[n, :, 1:].argmax(1) + 1
        found = []
        for kind in range(1 if classes > 1 else 0, classes):
            members = [i for i in range(boxes) if choices[i] == kind and scores[n, i, kind] >= least]
            places = [moved(rois[n, i], deltas[n, i, kind], limits, 0 if size is None else 1) for i in members]
            found += [(scores[n, members[i], kind], kind, places[i])
                      for i in kept(places, scores[n, members, kind], overlap, most=keep)]
        found.sort(key=lambda one: -one[0])
        for row, (score, kind, place) in enumerate(found[:keep]):
            y[n, row] = [*place, kind, score]
    attributes = {"num_classes": classes, "keep_topk": keep, "score_threshold": least, "iou_threshold": overlap}
    if size is not None:
        attributes["image_size"] = [3, *size]
    case(plugin, name, attributes,
         {"delta": deltas.reshape(images, boxes, classes * 4, 1, 1), "score": scores[..., None, None], "rois": rois},
         {"detections": y}, tolerance=(1e-5, 2e-3))


for plugin, size in (("DetectionLayer_TRT", None), ("GenerateDetection_TRT", (64, 96))):
    detections(plugin, "two images", 2, 20, 4, 10, 0.25, 0.3, size)
    detections(plugin, "one class", 1, 12, 1, 5, 0.0, 0.4, size)
    detections(plugin, "none is good enough", 1, 5, 3, 4, 1.0, 0.5, size)
    detections(plugin, "no boxes", 1, 0, 3, 2, 0.5, 0.5, size)
write(__file__)
