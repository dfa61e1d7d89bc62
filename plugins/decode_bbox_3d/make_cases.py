"""Writes cases.json: PointPillars' boxes by their formulas. Needs NumPy."""
import math
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

random = numpy.random.RandomState(0)


def decode(name, frames, height, width, classes, threshold, bins=2, limit=0.0, area=(0, -8, -3, 16, 8, 1)):
    count = 2 * classes
    anchors = random.randint(4, 33, (count, 4)).astype("float32") / 8
    anchors[:, 3] = numpy.tile([0, 1.5], classes)
    bottoms = random.randint(-16, 0, classes).astype("float32") / 8
    scores = random.randint(-64, 65, (frames, height, width, count, classes)).astype("float32") / 16
    boxes = random.randint(-16, 17, (frames, height, width, count, 7)).astype("float32") / 16
    turns = random.permutation(frames * height * width * count * 2).reshape(frames, height, width, count, 2)
    out = numpy.zeros((frames, height * width * count, 9), "float32")
    found = numpy.zeros(frames, "int32")
    period, offset = 2 * math.pi / bins, numpy.float32(0.78539)
    for n, i, j, a in numpy.ndindex(frames, height, width, count):
        score = 1 / (1 + math.exp(-scores[n, i, j, a].max()))
        if score < threshold:
            continue
        x = area[0] + j * (area[3] - area[0]) / (width - 1) if width > 1 else area[0]
        y = area[1] + i * (area[4] - area[1]) / (height - 1) if height > 1 else area[1]
        b, (w, l, h, angle) = boxes[n, i, j, a], anchors[a]
        z = h / 2 + bottoms[a // 2]
        turned = b[6] + angle - offset
        yaw = turned - math.floor(turned / period + limit) * period + offset
        yaw += period * (0 if turns[n, i, j, a, 0] > turns[n, i, j, a, 1] else 1)
        diagonal = math.hypot(w, l)
        out[n, found[n]] = [b[0] * diagonal + x, b[1] * diagonal + y, b[2] * h + z, math.exp(b[3]) * w,
                            math.exp(b[4]) * l, math.exp(b[5]) * h, yaw, scores[n, i, j, a].argmax(), score]
        found[n] += 1
    case("DecodeBbox3DPlugin", name,
         {"point_cloud_range": [float(v) for v in area], "anchors": anchors.flatten().tolist(),
          "anchor_bottom_height": bottoms.tolist(), "dir_offset": 0.78539, "dir_limit_offset": limit,
          "num_dir_bins": bins, "score_thresh": threshold},
         {"classes": scores.reshape(frames, height, width, count * classes),
          "boxes": boxes.reshape(frames, height, width, count * 7),
          "directions": turns.reshape(frames, height, width, count * 2).astype("float32")},
         {"detections": out, "num_detections": found}, tolerance=(2e-5, 2e-3))


decode("two frames", 2, 3, 4, 3, 0.9)
decode("all boxes", 1, 2, 2, 1, 0.0, 4, 0.5)
decode("one pixel", 1, 1, 1, 2, 0.5)
decode("none is good enough", 1, 2, 2, 1, 1.0)
decode("no frames", 0, 2, 2, 1, 0.5)
write(__file__)
