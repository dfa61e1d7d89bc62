"""Writes cases.json: what NumPy gives. Run it with PYTHONPATH=<tenon>/out/share/tenon."""
import numpy
from cases import case, write

random = numpy.random.default_rng(1)


def image(*shape):
    return random.integers(-32, 33, shape).astype(numpy.float32) / 16


def normalised(x, epsilon):
    axes = tuple(range(2, x.ndim))
    exact = x.astype(numpy.float64)
    centred = exact - exact.mean(axes, keepdims=True)
    return (centred / numpy.sqrt(exact.var(axes, keepdims=True) + epsilon)).astype(numpy.float32)


for shape in [(2, 3, 5, 7), (1, 1, 1, 1), (1, 2, 9), (0, 3, 4, 4), (1, 2, 3, 4, 5)]:
    for epsilon in (1e-5, 0.5):
        x = image(*shape)
        case("InstanceNorm", f"{shape}, epsilon {epsilon}", {"epsilon": epsilon}, {"x": x},
             {"y": normalised(x, epsilon)}, namespace="tutorial")

for shape, (left, right, top, bottom) in [((2, 3, 5, 7), (1, 2, 3, 4)), ((1, 1, 2, 2), (1, 1, 1, 1)),
                                          ((1, 2, 3, 3), (0, 0, 0, 0)), ((0, 1, 3, 3), (1, 1, 1, 1))]:
    x = image(*shape)
    y = numpy.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), "reflect")
    case("ReflectPad", f"{shape}", {"pads": [left, right, top, bottom]}, {"x": x}, {"y": y},
         namespace="tutorial")
write(__file__)
