"""Writes cases.json: what NumPy gives. Run it with PYTHONPATH=<tenon>/share/tenon."""
import numpy
from cases import case, write

random = numpy.random.default_rng(1)


def numbers(*shape):
    return random.integers(-32, 33, shape).astype(numpy.float32) / 16  # fp16 holds these, too


def layer_norm(x, scale, bias, epsilon):
    x = x.astype(float)
    centred = x - x.mean(-1, keepdims=True)
    return (centred / numpy.sqrt(x.var(-1, keepdims=True) + epsilon) * scale + bias).astype(numpy.float32)


# Rows shorter and longer than a block has threads, and none.
for shape in [(2, 3, 5), (2, 130), (1,), (0, 8)]:
    for epsilon in (1e-5, 0.5):
        x, residual, scale, bias = numbers(*shape), numbers(*shape), numbers(shape[-1]), numbers(shape[-1])
        case("AddLayerNorm", f"{shape}, epsilon {epsilon}", {"epsilon": epsilon},
             {"x": x, "residual": residual, "scale": scale, "bias": bias},
             {"y": layer_norm(x + residual, scale, bias, epsilon)})
write(__file__)
