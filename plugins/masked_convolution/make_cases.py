"""Writes cases.json: convolutions by their definition, where a mask is positive. Needs NumPy."""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

random = numpy.random.RandomState(0)


def sixteenths(*shape):
    # Multiples of 1/16 within 2, so that fp16 holds them exactly.
    return random.randint(-32, 33, shape).astype("float32") / 16


def masked(name, images, channels, extents, maps, kernel, padding, has_bias=True, one_mask=False):
    x, weight, bias = sixteenths(images, channels, *extents), sixteenths(maps, channels, *kernel), sixteenths(maps)
    mask = random.randint(0, 2, (1 if one_mask else images, *extents)).astype("float32")
    padded = numpy.pad(x.astype("float64"), [(0, 0), (0, 0), *((p, p) for p in padding)])
    rows, columns = (padded.shape[2 + k] - kernel[k] + 1 for k in range(2))
    y = numpy.zeros((images, maps, rows, columns), "float32")
    for i, j in numpy.ndindex(rows, columns):
        window = padded[:, None, :, i:i + kernel[0], j:j + kernel[1]]
        y[:, :, i, j] = (window * weight).sum((2, 3, 4)) + (bias if has_bias else 0)
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
