"""Writes cases.json: Faster R-CNN's proposals and RoI pooling by their formulas, suppression by its definition.
Needs NumPy."""
import math
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402
from greedy_nms import kept  # noqa: E402
from moved_boxes import scores_of  # noqa: E402

random = numpy.random.RandomState(0)


def rounded(value):
    """Halves away from zero."""
    return math.copysign(math.floor(abs(value) + 0.5), value)


def pooled(plane, roi, scale, size):
    """The largest element of each bin of a box x1, y1, x2, y2."""
    y = numpy.zeros(size, "float32")
    low = [rounded(roi[k] * scale) for k in (1, 0)]
    extent = [max(rounded(roi[k + 2] * scale) - rounded(roi[k] * scale) + 1, 1) for k in (1, 0)]
    for bin in numpy.ndindex(*size):
        part = tuple(slice(int(max(low[k] + math.floor(bin[k] * extent[k] / size[k]), 0)),
                           int(max(low[k] + math.ceil((bin[k] + 1) * extent[k] / size[k]), 0))) for k in (0, 1))
        y[bin] = plane[part].max(initial=-numpy.inf) if plane[part].size else 0
    return y


def proposals(name, images, height, width, stride, ratios, scales, top, keep, least, overlap, pooling, channels=3):
    count = len(scales) * len(ratios)
    scores = scores_of(random, images, 2 * count, height, width)
    deltas = random.randint(-16, 17, (images, count, 4, height, width)).astype("float32") / 32
    fmap = random.randint(-64, 65, (images, channels, height, width)).astype("float32") / 8
    info = numpy.array([[height * stride - 3 * n, width * stride - 5 * n, 1] for n in range(images)], "float32").reshape(images, 1, 1, 3)
    rois = numpy.zeros((images, 1, keep, 4), "float32")
    pfmap = numpy.zeros((images, keep, channels, *pooling), "float32")
    for n in range(images):
        boxes, values = [], []
        limits = numpy.tile(info[n, 0, 0, 1::-1].astype("float64") - 1, 2)
        for a, i, j in numpy.ndindex(count, height, width):
            wide = rounded(math.sqrt(stride ** 2 / ratios[a // len(scales)]))
            size = numpy.array([wide, rounded(wide * ratios[a // len(scales)])]) * scales[a % len(scales)]
            d = deltas[n, a, :, i, j].astype("float64")
            middle = (stride - 1) / 2 + numpy.array([j, i]) * stride + d[:2] * size
            half = size * numpy.exp(d[2:]) / 2
            box = numpy.concatenate([middle - half, middle + half]).clip(0, limits)
            if (box[2:] - box[:2] + 1 >= least).all():
                boxes.append(box)
                values.append(scores[n, count + a, i, j])
        for row, i in enumerate(kept(boxes, values, overlap, top, keep, pixel=1.0)):
            rois[n, 0, row] = boxes[i]
        for row in range(keep):
            for c in range(channels):
                pfmap[n, row, c] = pooled(fmap[n, c], rois[n, 0, row].astype("float64"), 1 / stride, pooling)
    case("RPROI_TRT", name,
         {"poolingH": pooling[0], "poolingW": pooling[1], "featureStride": stride, "preNmsTop": top, "nmsMaxOut": keep,
          "anchorsRatioCount": len(ratios), "anchorsScaleCount": len(scales), "iouThreshold": overlap, "minBoxSize": least,
          "spatialScale": 1 / stride, "anchorsRatios": ratios, "anchorsScales": scales},
         {"scores": scores, "deltas": deltas.reshape(images, count * 4, height, width), "fmap": fmap, "iinfo": info},
         {"rois": rois, "pfmap": pfmap}, fixed=("rois", "iinfo"))


proposals("two images", 2, 6, 7, 8, [0.5, 1.0, 2.0], [1.0, 2.0], 60, 6, 4.0, 0.5, (2, 3))
proposals("small boxes are left out, and rows", 1, 3, 4, 16, [1.0], [0.5], 0, 14, 8.0, 0.7, (3, 3))
proposals("no images", 0, 2, 2, 16, [1.0], [1.0], 10, 3, 1.0, 0.7, (1, 1))
write(__file__)
