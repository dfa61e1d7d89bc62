"""Writes cases.json: mmcv's operators by their definitions, and by PyTorch's conv2d. Needs NumPy and PyTorch."""
import math
import pathlib
import sys

import numpy
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402
from greedy_nms import iou  # noqa: E402
from samples import sample  # noqa: E402

random = numpy.random.RandomState(0)


def sixteenths(*shape):
    # Multiples of 1/16 within 2, so that fp16 holds them exactly.
    return random.randint(-32, 33, shape).astype("float32") / 16


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


def border(name, images, channels, boxes, samples):
    x = sixteenths(images, 4 * channels, 6, 7)
    low = random.randint(-8, 80, (images, boxes, 2))
    b = (numpy.concatenate([low, low + random.randint(0, 64, (images, boxes, 2))], -1) / 16).astype("float32")
    y = numpy.zeros((images, channels, boxes, 4), "float32")
    for n, c, k in numpy.ndindex(images, channels, boxes):
        x1, y1, x2, y2 = b[n, k].astype("float64")
        for side, (row, column, down, right) in enumerate([(y1, x1, 0, x2 - x1), (y1, x1, y2 - y1, 0),
                                                           (y2, x2, 0, x1 - x2), (y2, x2, y1 - y2, 0)]):
            y[n, c, k, side] = max(sample(x[n, side * channels + c], row + down * s / samples, column + right * s / samples)
                                   for s in range(samples + 1))
    case("MMCVBorderAlign", name, {"pool_size": samples}, {"input": x, "boxes": b}, {"output": y})


border("two images", 2, 3, 4, 5)
border("one step", 1, 1, 2, 1)
border("no boxes", 1, 2, 0, 4)


def psa(name, images, size, extents):
    x = sixteenths(images, size[0] * size[1], *extents)
    places = [(i, j) for i in range(extents[0]) for j in range(extents[1])]
    collect = numpy.zeros((images, len(places), *extents), "float32")
    distribute = numpy.zeros_like(collect)
    for a, (i, j) in enumerate(places):
        for b, (k, m) in enumerate(places):
            row, column = k - i + (size[0] - 1) // 2, m - j + (size[1] - 1) // 2
            if 0 <= row < size[0] and 0 <= column < size[1]:
                collect[:, b, i, j] = distribute[:, a, k, m] = x[:, row * size[1] + column, i, j]
    for number, (kind, y) in enumerate((("collect", collect), ("distribute", distribute))):
        case("MMCVPSAMask", f"{name}, {kind}", {"psa_type": number, "mask_size": list(size)}, {"input": x}, {"output": y})


psa("masks as large as images", 2, (5, 7), (3, 4))
psa("smaller masks", 1, (3, 1), (4, 3))
psa("one element", 1, (1, 1), (2, 2))
psa("no images", 0, (3, 3), (2, 2))


def masked(name, images, channels, extents, maps, kernel, padding, has_bias=True, one_mask=False):
    x, weight, bias = sixteenths(images, channels, *extents), sixteenths(maps, channels, *kernel), sixteenths(maps)
    mask = random.randint(0, 2, (1 if one_mask else images, *extents)).astype("float32")
    y = torch.nn.functional.conv2d(torch.from_numpy(x).double(), torch.from_numpy(weight).double(),
                                   torch.from_numpy(bias).double() if has_bias else None, padding=padding).float().numpy()
    shown = numpy.zeros((len(mask), *y.shape[2:]), "float32")
    rows, columns = min(y.shape[2], extents[0]), min(y.shape[3], extents[1])
    shown[:, :rows, :columns] = mask[:, :rows, :columns]
    case("MMCVMaskedConv2d", name, {"padding": list(padding), "stride": 1},
         {"features": x, "mask": mask, "weight": weight, **({"bias": bias} if has_bias else {})},
         {"output": y * shown[:, None]}, tolerance=(2e-5, 4e-3))


masked("two images", 2, 3, (5, 6), 4, (3, 3), (1, 1))
masked("no bias, no padding", 1, 2, (4, 5), 3, (2, 3), (0, 0), False)
masked("one mask", 2, 1, (3, 3), 2, (1, 1), (0, 0), True, True)
masked("one mask of no images", 0, 1, (3, 3), 2, (1, 1), (0, 0), True, True)
write(__file__)
