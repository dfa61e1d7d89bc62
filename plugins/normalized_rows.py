"""Rows with mean 0 and variance 1 by their definition, for cases of plugins that normalise what they compute. Needs NumPy."""
import numpy


def normalized(x, gamma, beta, axis=-1):
    """In float64, as BERT's plugins have it: with 2^-23 beside the variance."""
    x = numpy.moveaxis(x.astype("float64"), axis, -1)
    deviations = x - x.mean(-1, keepdims=True)
    y = deviations / numpy.sqrt((deviations ** 2).mean(-1, keepdims=True) + 2.0 ** -23) * gamma + beta
    return numpy.moveaxis(y.astype("float32"), -1, axis)
