"""What make_goldens.py and its cases share: files, the picture, random boxes, and NMS."""
import itertools
import pathlib
import struct

import numpy as np
import torch
import torchvision

FOLDER = pathlib.Path(__file__).resolve().parent / "goldens"
TYPES = {np.float32: 0, np.float16: 1, np.int32: 2, np.uint8: 3}
INPUT = 64  # pixels a side
PICTURE = (100, 75)  # width, height
SCALE = min(INPUT / PICTURE[0], INPUT / PICTURE[1])
# tensorRT_Pro's letterbox: middles of the picture and of the input are the same, at whole numbers.
SHIFT = [(INPUT - SCALE * side + SCALE - 1) / 2 for side in PICTURE]
TO_PICTURE = np.array([1 / SCALE, 0, -SHIFT[0] / SCALE, 0, 1 / SCALE, -SHIFT[1] / SCALE])
SCORE, IOU = 0.25, 0.45
UNDECIDED = 255  # rounding alone decides


def save(name, array, kind=np.float32):
    array = np.ascontiguousarray(array, kind)
    head = struct.pack(f"<III{array.ndim}i", 0xFCCFE2E2, array.ndim, TYPES[kind], *array.shape)
    (FOLDER / f"{name}.tensor").write_bytes(head + array.tobytes())


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def to_picture(points):
    """(..., 2) in the input."""
    return points * TO_PICTURE[[0, 4]] + TO_PICTURE[[2, 5]]


def corners(centre_and_extents):
    centre, extents = centre_and_extents[:, :2], centre_and_extents[:, 2:4]
    return np.concatenate([centre - extents / 2, centre + extents / 2], 1)


def in_picture(boxes):
    points = to_picture(boxes.reshape(-1, 2, 2))
    return np.clip(points, 0, PICTURE).reshape(-1, 4)


def kept(boxes, scores, classes, index, score=SCORE, iou=IOU):
    """What NMS keeps: boxes of the input, and rows (left, top, right, bottom, score, class, index) in the picture."""
    passes = scores > score
    boxes, scores, classes, index = boxes[passes], scores[passes], classes[passes], index[passes]
    order = torchvision.ops.batched_nms(torch.tensor(boxes).double(), torch.tensor(scores).double(), torch.tensor(classes),
                                        iou).numpy()
    return np.column_stack([in_picture(boxes[order]), scores[order], classes[order], index[order]])


def best(scores):
    """Of (boxes, classes)."""
    return scores.max(1), scores.argmax(1)


def objects(random, count, classes):
    """Boxes around a few centres (count, 4), and scores (count, classes), some of them high."""
    middles = random.uniform(10, INPUT - 10, (12, 4))
    middles[:, 2:] = random.uniform(8, 30, (12, 2))
    which = random.integers(0, 12, count)
    boxes = middles[which] + random.normal(0, 1.5, (count, 4))
    scores = random.uniform(0, 0.2, (count, classes))
    high = random.random(count) < 0.4
    scores[high, which[high] % classes] = random.uniform(0.1, 1, high.sum())
    both = high & (random.random(count) < 0.3)
    scores[both, (which[both] + 1) % classes] = random.uniform(0.1, 1, both.sum())
    return boxes.astype(np.float32), scores.astype(np.float32)


def grid(strides, width, height, each=1):
    """Cells level by level, row by row: x, y, stride."""
    rows = []
    for stride in strides:
        for y, x in itertools.product(range(height // stride), range(width // stride)):
            rows += [(x, y, stride)] * each
    return np.array(rows, np.float64).T
