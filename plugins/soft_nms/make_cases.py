"""Writes cases.json: mmcv.ops.soft_nms by its definition. Needs NumPy."""
import math
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402
from greedy_nms import iou  # noqa: E402

random = numpy.random.RandomState(0)


def soft_nms(name, count, method, overlap=0.3, sigma=0.5, least=1e-3, offset=0):
    first = random.randint(0, 24, (count, 2))
    boxes = numpy.concatenate([first, first + random.randint(4, 17, (count, 2))], -1).astype("float32")
    scores = random.permutation(512)[:count].astype("float32") / 512
    left = {i: float(scores[i]) for i in range(count)}
    rows, indices = numpy.zeros((count, 5), "float32"), numpy.full(count, -1, "int32")
    for row in range(count):
        if not left:
            break
        best = max(left, key=lambda i: (left[i], -i))
        rows[row], indices[row] = [*boxes[best], left[best]], best
        del left[best]
        for i in list(left):
            shared = iou(boxes[best].astype("float64"), boxes[i].astype("float64"), offset)
            if method == 2:
                left[i] *= math.exp(-shared ** 2 / sigma)
            elif shared >= overlap:
                left[i] *= 1 - shared if method == 1 else 0
            if left[i] < least:
                del left[i]
    case("SoftNonMaxSuppression", name, {"iou_threshold": overlap, "sigma": sigma, "min_score": least, "method": method,
                                         "offset": offset}, {"boxes": boxes, "scores": scores},
         {"dets": rows, "indices": indices})


soft_nms("naive", 20, 0)
soft_nms("linear", 20, 1, 0.2)
soft_nms("gaussian", 25, 2, sigma=0.25, least=0.05)
soft_nms("pixels", 15, 1, offset=1)
soft_nms("one box", 1, 2)
soft_nms("no boxes", 0, 1)
write(__file__)
