"""Writes cases.json: mmcv.ops.BorderAlign by its definition. Needs NumPy."""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402
from samples import sample  # noqa: E402

random = numpy.random.RandomState(0)


def sixteenths(*shape):
    # Multiples of 1/16 within 2, so that fp16 holds them exactly.
    return random.randint(-32, 33, shape).astype("float32") / 16


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
write(__file__)
