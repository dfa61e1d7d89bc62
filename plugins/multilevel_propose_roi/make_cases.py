"""Writes cases.json: proposals of TAO's Mask R-CNN by their formulas and greedy suppression. Needs NumPy."""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402
from greedy_nms import kept  # noqa: E402
from moved_boxes import moved, scores_of  # noqa: E402

random = numpy.random.RandomState(0)


def tao_anchors(height, width, stride):
    found = []
    for y in range(stride // 2, height, stride):
        for x in range(stride // 2, width, stride):
            for w, h in ((1, 1), (1.4, 0.7), (0.7, 1.4)):
                h, w = 8 * stride * h, 8 * stride * w
                found.append([y - h / 2, x - w / 2, y + h / 2, x + w / 2])
    return numpy.array(found).reshape(-1, 4)


def multilevel(name, images, height, width, top, keep, overlap, least=0.0):
    inputs, all_of = {}, [[] for _ in range(images)]
    for level in range(5):
        anchors = tao_anchors(height, width, 4 << level)
        scores = scores_of(random, images, len(anchors), 1) * 0.9 + level / 64  # levels differ
        scores = (numpy.round(scores * 2048) / 2048).astype("float32")
        deltas = random.randint(-32, 33, (images, len(anchors), 4)).astype("float32") / 16
        inputs[f"delta{level}"], inputs[f"score{level}"] = deltas[..., None], scores[..., None]
        for n in range(images):
            chosen = [i for i in range(len(anchors)) if scores[n, i, 0] >= least]
            boxes = [moved(anchors[i], deltas[n, i], [height - 1, width - 1], 1) for i in chosen]
            all_of[n] += [(scores[n, chosen[i], 0], boxes[i])
                          for i in kept(boxes, scores[n, chosen, 0], overlap, top, keep)]
    y = numpy.zeros((images, keep, 4), "float32")
    for n in range(images):
        best = sorted(range(len(all_of[n])), key=lambda i: -all_of[n][i][0])
        for row, i in enumerate(best[:keep]):
            y[n, row] = all_of[n][i][1]
    case("MultilevelProposeROI_TRT", name,
         {"prenms_topk": top, "keep_topk": keep, "fg_threshold": least, "iou_threshold": overlap,
          "image_size": [3, height, width]}, inputs, {"proposals": y}, tolerance=(1e-5, 2e-3))


multilevel("two images", 2, 40, 48, 50, 7, 0.6)
multilevel("few are good enough", 1, 32, 32, 0, 12, 0.5, 0.75)
multilevel("no images", 0, 32, 32, 10, 3, 0.5)
write(__file__)
