"""NaNs and infinities come out of every activation as they went in, also of those that become part of the product
before them. Products by NumPy, element-wise operators by ONNX's reference implementation.

A convolution by Winograd's algorithm adds and subtracts all elements of a tile: what is not finite among them
may make all of its results NaN.
"""
import unittest

import numpy as np
from onnx import helper
from onnx.reference import ReferenceEvaluator

from properties import Case, Properties, fed

NODE = helper.make_node
FLOAT = np.float32


def scalar(rng, low, high):
    return FLOAT(rng.uniform(low, high))


def bounded(op, swapped):
    """Min or Max of a tensor and a constant."""
    def nodes(rng, x, y, constants):
        constants["bound" + y] = scalar(rng, -2, 2)
        inputs = ["bound" + y, x] if swapped else [x, "bound" + y]
        return [NODE(op, inputs, [y])]
    return nodes


def clip(rng, x, y, constants):
    low, high = sorted((scalar(rng, -3, 3), scalar(rng, -3, 3)))
    names = ["low" + y, "high" + y]
    constants |= dict(zip(names, (low, high)))
    return [NODE("Clip", [x, *names], [y])]


def gated(op, **attributes):
    """x * f(x)"""
    def nodes(rng, x, y, constants):
        return [NODE(op, [x], ["gate" + y], **attributes), NODE("Mul", [x, "gate" + y], [y])]
    return nodes


def plain(op, **attributes):
    return lambda rng, x, y, constants: [NODE(op, [x], [y], **attributes)]


ACTIVATIONS = [clip, bounded("Min", False), bounded("Min", True), bounded("Max", False), bounded("Max", True),
               gated("Sigmoid"), gated("HardSigmoid", alpha=1 / 6), plain("Gelu"), plain("Gelu", approximate="tanh"),
               *map(plain, ("Relu Relu Relu Sigmoid HardSigmoid Tanh LeakyRelu Elu Selu Softplus Softsign Abs "
                            "HardSwish Exp Neg Erf Celu Mish").split())]


def rank_of_windows(rng):
    return int(rng.choice([1, 2, 2, 2, 3]))


# Each gives a node, the shapes of data, weights and bias, its function in NumPy, and whether a NaN may spread.


def matmul(rng):
    k, n = (int(rng.integers(1, limit)) for limit in (40, 40))
    batch = tuple(int(e) for e in rng.integers(1, 4, rng.integers(0, 3)))
    shape = batch + (int(rng.integers(1, 12)), k)
    return NODE("MatMul", ["x", "w"], ["q"]), shape, (k, n), None, np.matmul, False


def gemm(rng):
    m, k, n = (int(rng.integers(1, limit)) for limit in (8, 40, 40))
    return NODE("Gemm", ["x", "w", "b"], ["q"]), (m, k), (k, n), (n,), lambda x, w, b: x @ w + b, False


def taps(kernel, strides, dilations, extents):
    """Each tap of a window, and the elements under it for all windows of so many."""
    for tap in np.ndindex(*kernel):
        yield tap, tuple(slice(t * d, t * d + (e - 1) * s + 1, s) for t, d, s, e in zip(tap, dilations, strides, extents))


def conv(rng):
    axes = rank_of_windows(rng)
    groups = int(rng.choice([1, 1, 2, 4]))
    channels, outputs = (int(rng.integers(1, limit)) * groups for limit in (9, 9))
    if rng.random() < 0.2:
        groups, outputs = channels, channels  # depthwise
    kernel = [int(k) for k in rng.integers(1, 4, axes)]
    strides = [int(s) for s in rng.integers(1, 3, axes)]
    pads = [int(p) for p in rng.integers(0, 2, 2 * axes)]
    dilations = [int(d) for d in rng.choice([1, 1, 2], axes)]
    data = (int(rng.integers(1, 3)), channels, *(int(e) for e in rng.integers(5, 12, axes)))

    def convolved(x, w, b):
        x = np.pad(x, [(0, 0), (0, 0), *zip(pads[:axes], pads[axes:])])
        extents = [(e - (k - 1) * d - 1) // s + 1 for e, k, d, s in zip(x.shape[2:], kernel, dilations, strides)]
        x = x.reshape(x.shape[0], groups, channels // groups, *x.shape[2:])
        w = w.reshape(groups, outputs // groups, channels // groups, *kernel)
        y = sum(np.einsum("ngc...,gkc->ngk...", x[:, :, :, *under], w[:, :, :, *tap])
                for tap, under in taps(kernel, strides, dilations, extents))
        return y.reshape(x.shape[0], outputs, *extents) + b.reshape(-1, *[1] * axes)

    node = NODE("Conv", ["x", "w", "b"], ["q"], kernel_shape=kernel, strides=strides, pads=pads, dilations=dilations,
                group=groups)
    return node, data, (outputs, channels // groups, *kernel), (outputs,), convolved, True


def conv_transpose(rng):
    axes = rank_of_windows(rng)
    channels, outputs = (int(rng.integers(1, limit)) for limit in (20, 20))
    kernel = [int(k) for k in rng.integers(1, 4, axes)]
    strides = [int(s) for s in rng.integers(1, 4, axes)]
    data = (1, channels, *(int(e) for e in rng.integers(2, 7, axes)))

    def deconvolved(x, w, b):
        y = np.zeros((1, outputs, *((e - 1) * s + k for e, s, k in zip(data[2:], strides, kernel))))
        for tap, under in taps(kernel, strides, [1] * axes, data[2:]):
            y[:, :, *under] += np.einsum("nc...,ck->nk...", x, w[:, :, *tap])
        return y + b.reshape(-1, *[1] * axes)

    node = NODE("ConvTranspose", ["x", "w", "b"], ["q"], kernel_shape=kernel, strides=strides)
    return node, data, (channels, outputs, *kernel), (outputs,), deconvolved, False


def normal(rng, shape):
    return rng.standard_normal(shape).astype(FLOAT)


def with_specials(rng, x, specials):
    flat = x.reshape(-1)
    for special in specials:
        flat[rng.integers(flat.size, size=int(rng.integers(0, 1 + max(1, flat.size // 50))))] = special
    return x


def case(rng, product, specials):
    node, data, weights, bias, function, spreads = product(rng)
    arrays = {"x": with_specials(rng, normal(rng, data), specials), "w": normal(rng, weights)}
    if bias is not None:
        arrays["b"] = normal(rng, bias)
    inputs, constants = fed(rng, arrays)
    with np.errstate(all="ignore"):
        result = function(*(a.astype(np.float64) for a in arrays.values())).astype(FLOAT)
    nodes, last, known = [], "q", {"q": result}
    if rng.random() < 0.4:  # a residual sum, or a maximum of two tensors
        inputs["r"] = known["r"] = with_specials(rng, normal(rng, result.shape), [np.nan])
        op = str(rng.choice(["Add", "Add", "Mul", "Max", "Min", "Sub"]))
        nodes.append(NODE(op, [last, "r"] if rng.random() < 0.5 else ["r", last], ["joined"]))
        last = "joined"
    for i in range(int(rng.integers(1, 4))):
        activation = ACTIVATIONS[rng.integers(len(ACTIVATIONS))]
        nodes += activation(rng, last, f"y{i}", constants)
        last = f"y{i}"
    used = {name for node in nodes for name in node.input}
    epilogue = Case(nodes, known, {last: None}, {name: a for name, a in constants.items() if name in used})
    with np.errstate(all="ignore"):
        made = ReferenceEvaluator(epilogue.model()).run([last], known)[0]
    return Case([node, *nodes], inputs, {last: made.astype(FLOAT)}, constants, tolerance=2e-3, may_be_nan=spreads)


class Nans(Properties):
    def test_nans_of_products_stay(self):
        products = [matmul, gemm, conv, conv_transpose]
        self.check(lambda rng: case(rng, products[rng.integers(len(products))], [np.nan]), 400)

    def test_infinities_of_products_stay(self):
        products = [matmul, gemm]
        self.check(lambda rng: case(rng, products[rng.integers(len(products))], [np.inf, -np.inf]), 100)


if __name__ == "__main__":
    unittest.main()
