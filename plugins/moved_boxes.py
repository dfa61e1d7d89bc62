"""Boxes of Faster R-CNN and Mask R-CNN by their formulas, for cases of plugins that propose or detect. Needs NumPy."""
import math

import numpy


def scores_of(random, *shape):
    """Different for each box of an image, and exact in fp16."""
    count = int(numpy.prod(shape[1:]))
    return numpy.array([random.permutation(2048)[:count] for _ in range(shape[0])]).reshape(shape).astype("float32") / 2048


def moved(anchor, delta, limits, pixel):
    """An anchor y1, x1, y2, x2."""
    delta = numpy.asarray(delta, "float64") * [0.1, 0.1, 0.2, 0.2]
    if pixel:
        delta[2:] = numpy.minimum(delta[2:], math.log(1000 / 16))
    size = anchor[2:] - anchor[:2] + pixel
    low = anchor[:2] + size / 2 + delta[:2] * size - size * numpy.exp(delta[2:]) / 2
    high = low + size * numpy.exp(delta[2:]) - pixel
    return numpy.concatenate([low, high]).clip(0, numpy.tile(limits, 2))
