"""Cases of int8 tensors with scales: what a plugin gives for the real numbers that its inputs stand for, rounded to steps of
its result's scale. Needs NumPy.
"""
import numpy

from cases import case

_FAR_FROM_HALF = 1e-3  # so that sums in float and in double round alike


def _stepped(x, largest):
    """The int8 of an array, and what a step is worth: `largest` is that of the largest number."""
    scale = numpy.float32(max(numpy.abs(x).max(initial=0), 0.01) / largest)
    for _ in range(10000):
        steps = x / numpy.float64(scale)
        if (numpy.abs(numpy.abs(steps - numpy.floor(steps)) - 0.5) > _FAR_FROM_HALF).all():
            return numpy.rint(steps).clip(-128, 127).astype("int8"), float(str(scale))
        scale = numpy.float32(scale * 1.0007)
    raise ValueError("every scale has a number halfway between two steps")


def quantized_case(plugins, name, attributes, inputs, formula, output, real=(), largest=127):
    """Adds a case for each of some names. formula(inputs) gives the result, from and in double.

    The float32 arrays become int8, but those in `real`. Where `largest` is above 127, the result's numbers saturate.
    """
    given, scales, exact = {}, {}, {}
    for key, x in inputs.items():
        given[key] = exact[key] = x
        if x.dtype == numpy.float32 and key not in real:
            given[key], scales[key] = _stepped(x.astype("float64"), 127)
            exact[key] = given[key] * numpy.float64(numpy.float32(scales[key]))
        elif x.dtype == numpy.float32:
            exact[key] = x.astype("float64")
    y = numpy.asarray(formula(exact), "float64")
    steps, scales[output] = _stepped(y, largest)
    for plugin in plugins:
        case(plugin, name, attributes, given, {output: steps}, fixed=real, scales=scales)
