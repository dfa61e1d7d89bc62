"""Layers that compute: at least one network per family, against NumPy."""
import numpy as np
import pytest

import tenon.tensorrt as trt
from networks import check, constant, integers, normal, softmax

X = normal(2, 3, 6, 8)


# Element by element.

@pytest.mark.parametrize("kind, expected", [
    (trt.ActivationType.RELU, lambda x: np.maximum(x, 0)),
    (trt.ActivationType.LEAKY_RELU, lambda x: np.where(x > 0, x, np.float32(0.1) * x)),
    (trt.ActivationType.TANH, np.tanh),
    (trt.ActivationType.SIGMOID, lambda x: 1 / (1 + np.exp(-x))),
    (trt.ActivationType.CLIP, lambda x: np.clip(x, np.float32(0.1), np.float32(0.5)))])
def test_activation(kind, expected):
    def define(network, x):
        layer = network.add_activation(x, kind)
        layer.alpha, layer.beta = 0.1, 0.5
        assert layer.type == kind and layer.alpha == np.float32(0.1)
        return layer.get_output(0)
    check(define, expected, X)


def test_parametric_relu():
    slopes = normal(1, 3, 1, 1)
    check(lambda n, x: n.add_parametric_relu(x, constant(n, slopes)).get_output(0),
          lambda x: np.where(x < 0, x * slopes, x), X)


def test_scale():
    shift, scale = normal(3), normal(3)

    def define(network, x):
        layer = network.add_scale(x, trt.ScaleMode.CHANNEL, shift, scale)
        assert layer.power.size == 0 and layer.channel_axis == 1
        np.testing.assert_array_equal(layer.shift, shift)
        other = network.add_scale_nd(layer.get_output(0), trt.ScaleMode.UNIFORM, channel_axis=0,
                                     power=np.array([2], np.float32))
        return other.get_output(0)
    check(define, lambda x: (x * scale[:, None, None] + shift[:, None, None]) ** 2, X)


@pytest.mark.parametrize("op, expected, arrays", [
    (trt.ElementWiseOperation.SUM, np.add, (normal(2, 1, 4), normal(1, 3, 4))),
    (trt.ElementWiseOperation.DIV, np.divide, (normal(4), normal(4))),
    (trt.ElementWiseOperation.FLOOR_DIV, np.floor_divide, (integers(99, 5), 1 + integers(9, 5))),
    (trt.ElementWiseOperation.GREATER, np.greater, (normal(9), normal(9))),
    (trt.ElementWiseOperation.XOR, np.logical_xor, (normal(9) > 0, normal(9) > 0))])
def test_elementwise(op, expected, arrays):
    check(lambda n, a, b: n.add_elementwise(a, b, op).get_output(0), expected, *arrays)


@pytest.mark.parametrize("op, expected", [
    (trt.UnaryOperation.EXP, np.exp), (trt.UnaryOperation.ABS, np.abs),
    (trt.UnaryOperation.ROUND, np.round), (trt.UnaryOperation.SIGN, np.sign)])
def test_unary(op, expected):
    check(lambda n, x: n.add_unary(x, op).get_output(0), expected, X)


def test_identity_cast_and_select():
    def define(network, x, y):
        below = network.add_elementwise(x, y, trt.ElementWiseOperation.LESS).get_output(0)
        chosen = network.add_select(below, x, y).get_output(0)
        cast = network.add_cast(below, trt.int32)
        assert cast.to_type == trt.int32
        return network.add_identity(chosen).get_output(0), cast.get_output(0)
    check(define, lambda x, y: (np.minimum(x, y), (x < y).astype(np.int32)), normal(4, 5),
          normal(4, 5))


def test_quantize_and_dequantize():
    scale = np.array(0.05, np.float32)

    def define(network, x):
        step = constant(network, scale)
        quantized = network.add_quantize(x, step, trt.int8)
        assert quantized.to_type == trt.int8
        return network.add_dequantize(quantized.get_output(0), step, trt.float32).get_output(0)
    check(define, lambda x: np.clip(np.round(x / scale), -128, 127) * scale, X)


# Windows.

def windows(x, kernel, stride):
    view = np.lib.stride_tricks.sliding_window_view(x, kernel, axis=(2, 3))
    return view[:, :, ::stride[0], ::stride[1]]


def convolve(x, kernel, groups=1):
    parts = zip(np.split(x, groups, 1), np.split(kernel, groups))
    return np.concatenate([np.einsum("nchwij,kcij->nkhw", windows(part, k.shape[2:], (1, 1)), k)
                           for part, k in parts], 1)


def pad(x, *sizes, value=0):
    return np.pad(x, ((0, 0), (0, 0), *sizes), constant_values=value)


def test_convolution():
    kernel, bias = normal(4, 3, 3, 2), normal(4)

    def define(network, x):
        layer = network.add_convolution_nd(x, 4, (3, 2), kernel, bias)
        layer.stride_nd = [2, 1]
        layer.padding_nd = trt.DimsHW(1, 0)
        assert layer.kernel_size_nd == (3, 2) and layer.num_output_maps == 4
        np.testing.assert_array_equal(layer.kernel, kernel.ravel())
        return layer.get_output(0)
    check(define, lambda x: convolve(pad(x, (1, 1), (0, 0)), kernel)[:, :, ::2]
          + bias[:, None, None], X, atol=1e-5)


def test_convolution_with_groups_and_its_kernel_set_later():
    kernel = normal(6, 1, 3, 3)

    def define(network, x):
        layer = network.add_convolution_nd(x, 6, (3, 3), np.zeros_like(kernel))
        layer.num_groups = 3
        layer.kernel = kernel
        assert layer.bias.size == 0
        return layer.get_output(0)
    check(define, lambda x: convolve(x, kernel, 3), X, atol=1e-5)


def test_deconvolution():
    kernel = normal(3, 2, 2, 2)

    def expected(x):
        full = np.zeros((2, 2, 12, 16), np.float32)
        for i in range(2):
            for j in range(2):
                full[:, :, i::2, j::2] = np.einsum("nchw,ck->nkhw", x, kernel[:, :, i, j])
        return full

    def define(network, x):
        layer = network.add_deconvolution_nd(x, 2, (2, 2), kernel)
        layer.stride_nd = (2, 2)
        return layer.get_output(0)
    check(define, expected, X, atol=1e-5)


def test_pooling_and_padding():
    def define(network, x):
        largest = network.add_pooling_nd(x, trt.PoolingType.MAX, (3, 3))
        largest.stride_nd = (2, 2)
        largest.pre_padding = largest.post_padding = (1, 1)
        mean = network.add_pooling_nd(x, trt.PoolingType.AVERAGE, (2, 2))
        mean.average_count_excludes_padding = True
        padded = network.add_padding_nd(x, (1, 0), (0, -1))
        assert padded.post_padding_nd == (0, -1)
        return largest.get_output(0), mean.get_output(0), padded.get_output(0)
    check(define, lambda x: (
        windows(pad(x, (1, 1), (1, 1), value=-np.inf), (3, 3), (2, 2)).max((4, 5)),
        windows(x, (2, 2), (1, 1)).mean((4, 5)), pad(x, (1, 0), (0, 0))[..., :-1]), X)


# Along dimensions.

def test_reduce_and_softmax():
    def define(network, x):
        layer = network.add_softmax(x)
        layer.axes = 1 << 1
        total = network.add_reduce(x, trt.ReduceOperation.SUM, axes=1 << 2 | 1 << 3, keep_dims=False)
        assert total.axes == 12 and not total.keep_dims
        largest = network.add_reduce(x, trt.ReduceOperation.MAX, 1, np.bool_(True))
        return layer.get_output(0), total.get_output(0), largest.get_output(0)
    check(define, lambda x: (softmax(x, 1), x.sum((2, 3)), x.max(0, keepdims=True)), X, atol=1e-5)


def test_ragged_softmax():
    bounds = np.array([[[2]], [[5]]], np.int32)

    def expected(x):
        return np.stack([np.concatenate([softmax(row[:, :n], 1), np.zeros((1, 5 - n), np.float32)], 1)
                         for row, n in zip(x, (2, 5))])
    check(lambda n, x: n.add_ragged_softmax(x, constant(n, bounds)).get_output(0), expected,
          normal(2, 1, 5))


def test_top_k():
    def define(network, x):
        layer = network.add_topk(x, trt.TopKOperation.MAX, 2, 1 << 1, trt.int64)
        assert layer.k == 2 and layer.indices_type == trt.int64
        return layer.get_output(0), layer.get_output(1)

    def expected(x):
        order = np.argsort(-x, axis=1)[:, :2]
        return np.take_along_axis(x, order, 1), order
    check(define, expected, normal(4, 7))


def test_products():
    def define(network, a, b):
        product = network.add_matrix_multiply(a, trt.MatrixOperation.NONE, b,
                                              trt.MatrixOperation.TRANSPOSE)
        assert product.op1 == trt.MatrixOperation.TRANSPOSE
        equation = network.add_einsum([a, b], "nij,nkj->nk")
        assert equation.equation == "nij,nkj->nk"
        return product.get_output(0), equation.get_output(0)
    check(define, lambda a, b: (a @ b.swapaxes(1, 2), np.einsum("nij,nkj->nk", a, b)),
          normal(2, 3, 4), normal(2, 5, 4), atol=1e-5)


def test_normalizations():
    scale, bias = normal(1, 3, 1, 1), normal(1, 3, 1, 1)

    def define(network, x):
        layer = network.add_normalization(x, constant(network, scale), constant(network, bias), 12)
        layer.epsilon = 1e-3
        assert layer.axes == 12 and not layer.is_v2
        neighbours = network.add_lrn(x, 3, 1.0, 0.75, 2.0)
        assert neighbours.window_size == 3 and neighbours.k == 2
        return layer.get_output(0), neighbours.get_output(0)

    def expected(x):
        mean, variance = x.mean((2, 3), keepdims=True), x.var((2, 3), keepdims=True)
        squares = pad(x, (0, 0), (0, 0)) ** 2
        sums = np.stack([squares[:, max(c - 1, 0):c + 2].sum(1) for c in range(3)], 1)
        return ((x - mean) / np.sqrt(variance + 1e-3) * scale + bias,
                x / (2 + sums / 3) ** np.float32(0.75))
    check(define, expected, X, atol=1e-5)


def test_cumulative():
    def define(network, x):
        axis = constant(network, np.array(1, np.int32))
        layer = network.add_cumulative(x, axis, trt.CumulativeOperation.SUM, False, True)
        assert layer.reverse and not layer.exclusive
        return layer.get_output(0)
    check(define, lambda x: np.cumsum(x[:, ::-1], 1)[:, ::-1], normal(3, 6))
