"""Writes cases.json: proposals of Keras' Mask R-CNN by their formulas and greedy suppression. Needs NumPy."""
import math
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402
from greedy_nms import kept  # noqa: E402
from moved_boxes import moved, scores_of  # noqa: E402

random = numpy.random.RandomState(0)


def keras_anchors(height, width):
    found = []
    for scale, stride in zip((32, 64, 128, 256, 512), (4, 8, 16, 32, 64)):
        for y in range(0, height, stride):
            for x in range(0, width, stride):
                for ratio in (0.5, 1, 2):
                    h, w = scale / math.sqrt(ratio), scale * math.sqrt(ratio)
                    found.append([y - h / 2, x - w / 2, y + h / 2 - 1, x + w / 2 - 1])
    return numpy.array(found) / numpy.tile([height - 1, width - 1], 2)


def proposal_layer(name, images, height, width, top, keep, overlap):
    anchors = keras_anchors(height, width)
    scores = scores_of(random, images, len(anchors), 2)
    deltas = random.randint(-32, 33, (images, len(anchors), 4)).astype("float32") / 16
    y = numpy.zeros((images, keep, 4), "float32")
    for n in range(images):
        boxes = [moved(a, d, [1, 1], 0) for a, d in zip(anchors, deltas[n])]
        for row, i in enumerate(kept(boxes, scores[n, :, 1], overlap, top, keep)):
            y[n, row] = boxes[i]
    case("ProposalLayer_TRT", name,
         {"prenms_topk": top, "keep_topk": keep, "iou_threshold": overlap, "image_size": [3, height, width]},
         {"object_score": scores[..., None], "delta": deltas[..., None]}, {"proposals": y}, tolerance=(1e-5, 2e-3))


proposal_layer("two images", 2, 32, 48, 60, 8, 0.5)
proposal_layer("all are looked at", 1, 24, 24, 0, 200, 0.3)
proposal_layer("no images", 0, 16, 16, 10, 4, 0.5)
write(__file__)
