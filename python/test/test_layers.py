"""At least one network per family of layers, against NumPy."""
import numpy as np
import pytest

import tenon.tensorrt as trt
from networks import constant, evaluate, new_network

RANDOM = np.random.default_rng(0)


def normal(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def integers(high, *shape):
    return RANDOM.integers(0, high, shape).astype(np.int32)


X = normal(2, 3, 6, 8)


def check(define, expected, *arrays, rtol=1e-5, atol=1e-6):
    """The network's outputs are `expected`, a function of the arrays, in value, shape and type."""
    found = evaluate(define, *arrays)
    wanted = expected(*arrays)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    assert len(found) == len(wanted)
    for have, want in zip(found, wanted):
        assert have.shape == want.shape and have.dtype == want.dtype
        np.testing.assert_allclose(have, want, rtol=rtol, atol=atol)


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

def softmax(x, axis):
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


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


# Moving elements.

def test_shuffle():
    def define(network, x):
        layer = network.add_shuffle(x)
        layer.first_transpose = (0, 2, 3, 1)
        layer.reshape_dims = (0, -1)
        layer.second_transpose = trt.Permutation([1, 0])
        assert layer.reshape_dims == (0, -1) and list(layer.first_transpose)[:4] == [0, 2, 3, 1]
        return layer.get_output(0)
    check(define, lambda x: x.transpose(0, 2, 3, 1).reshape(2, -1).T, X)


def test_slice():
    def define(network, x):
        inside = network.add_slice(x, (0, 1, 0, 7), (2, 2, 3, 4), (1, 1, 2, -2))
        outside = network.add_slice(x, (0, 0, 0, 0), (2, 3, 7, 9), (1, 1, 1, 1))
        outside.mode = trt.SampleMode.WRAP
        assert inside.stride == (1, 1, 2, -2) and outside.mode == trt.SampleMode.WRAP
        return inside.get_output(0), outside.get_output(0)
    check(define, lambda x: (x[:, 1:, ::2, ::-2], np.pad(x, [(0, 0)] * 2 + [(0, 1)] * 2, "wrap")), X)


def test_shapes():
    def define(network, x):
        axes = constant(network, np.array([0], np.int64))
        longer = network.add_unsqueeze(x, axes).get_output(0)
        joined = network.add_concatenation([x, x])
        joined.axis = 2
        return (network.add_shape(x).get_output(0), network.add_squeeze(longer, axes).get_output(0),
                longer, joined.get_output(0))
    check(define, lambda x: (np.array(x.shape), x, x[None], np.concatenate([x, x], 2)), X)


def test_fill():
    def define(network, x):
        line = network.add_fill((5,), trt.FillOperation.LINSPACE)
        line.alpha, line.beta = 0.5, 2
        whole = network.add_fill([3], trt.FillOperation.LINSPACE, trt.int64)
        whole.alpha, whole.beta = 2**60, 1
        assert whole.is_alpha_beta_int64() and whole.alpha == 2**60 and line.alpha == 0.5
        return line.get_output(0), whole.get_output(0), network.add_identity(x).get_output(0)
    check(define, lambda x: (np.arange(5, dtype=np.float32) * 2 + np.float32(0.5),
                             np.arange(3) + 2**60, x), normal(1))


def test_reverse_sequence():
    lengths = np.array([1, 4, 2], np.int32)

    def define(network, x):
        layer = network.add_reverse_sequence(x, constant(network, lengths))
        layer.batch_axis, layer.sequence_axis = 0, 1
        return layer.get_output(0)
    check(define, lambda x: np.stack([np.concatenate([row[:n][::-1], row[n:]])
                                      for row, n in zip(x, lengths)]), normal(3, 4))


def test_gather():
    indices = np.array([2, 0], np.int32)
    elements = integers(3, 4, 5)

    def define(network, x):
        layer = network.add_gather(x, constant(network, indices), 1)
        other = network.add_gather_v2(x, constant(network, elements), trt.GatherMode.ELEMENT)
        other.axis = 1
        assert other.mode == trt.GatherMode.ELEMENT and other.axis == 1
        return layer.get_output(0), other.get_output(0)
    check(define, lambda x: (x[:, indices], np.take_along_axis(x, elements, 1)), normal(4, 5))


def test_scatter():
    indices = np.array([[0, 2], [1, 1]], np.int32)
    updates = np.array([7, 8], np.float32)

    def define(network, x):
        layer = network.add_scatter(x, constant(network, indices), constant(network, updates),
                                    trt.ScatterMode.ND)
        return layer.get_output(0)

    def expected(x):
        result = x.copy()
        result[0, 2], result[1, 1] = updates
        return result
    check(define, expected, normal(3, 4))


def test_one_hot_and_non_zero():
    def define(network, classes):
        values = constant(network, np.array([-1, 1], np.float32))
        depth = constant(network, np.array(4, np.int32))
        layer = network.add_one_hot(classes, values, depth, -1)
        places = network.add_non_zero(classes, trt.int64)
        return layer.get_output(0), places.get_output(0)
    check(define, lambda classes: (np.where(np.eye(4)[classes] > 0, 1, -1).astype(np.float32),
                                   np.array(np.nonzero(classes))), integers(4, 3, 2))


# Images.

def test_resize():
    def define(network, x):
        layer = network.add_resize(x)
        layer.scales = [1, 1, 2, 2]
        layer.resize_mode = trt.InterpolationMode.NEAREST
        layer.coordinate_transformation = trt.ResizeCoordinateTransformation.ASYMMETRIC
        layer.nearest_rounding = trt.ResizeRoundMode.FLOOR
        assert layer.scales == [1, 1, 2, 2]
        other = network.add_resize(x)
        other.shape = (2, 3, 3, 4)
        other.resize_mode = trt.ResizeMode.LINEAR  # the name of 8.x
        return layer.get_output(0), other.get_output(0)
    check(define, lambda x: (x.repeat(2, 2).repeat(2, 3), x[:, :, ::2, ::2]), X)


def test_grid_sample():
    ys, xs = np.meshgrid(np.linspace(-1, 1, 6), np.linspace(-1, 1, 8), indexing="ij")
    grid = np.stack([np.stack([xs, -ys], -1)] * 2).astype(np.float32)  # upside down

    def define(network, x):
        layer = network.add_grid_sample(x, constant(network, grid))
        layer.align_corners = True
        layer.sample_mode = trt.SampleMode.CLAMP
        return layer.get_output(0)
    check(define, lambda x: x[:, :, ::-1], X, atol=1e-5)


def test_non_maximum_suppression():
    boxes = np.array([[[0, 0, 2, 2], [0, 0, 2, 1.9], [3, 3, 4, 4]]], np.float32)[:, :, None]
    scores = np.array([[0.5, 0.9, 0.1]], np.float32)[:, :, None]

    def define(network, boxes, scores):
        layer = network.add_nms(boxes, scores, constant(network, np.array(9, np.int32)))
        layer.bounding_box_format = trt.BoundingBoxFormat.CORNER_PAIRS
        layer.topk_box_limit = 3
        layer.set_input(3, constant(network, np.array(0.5, np.float32)))
        layer.set_input(4, constant(network, np.array(0.0, np.float32)))
        return layer.get_output(0)
    check(define, lambda *_: np.array([[0, 0, 1], [0, 0, 2]], np.int32), boxes, scores)


# Language models.

def test_attention():
    def define(network, query, key, value):
        layer = network.add_attention(query, key, value, trt.AttentionNormalizationOp.SOFTMAX, True)
        layer.decomposable = True
        assert layer.causal and layer.num_inputs == 3 and layer.mask is None
        assert layer.get_input(1).name == "x1"
        return layer.get_output(0)

    def expected(query, key, value):
        scores = query @ key.swapaxes(2, 3)
        scores[..., ~np.tri(4, dtype=bool)] = -np.inf
        return softmax(scores, -1) @ value
    check(define, expected, *(normal(1, 2, 4, 8) for _ in range(3)), atol=1e-5)


def test_rotary_embedding():
    angles = normal(5, 4)

    def expected(x):
        first, second = np.split(x, 2, -1)
        return np.concatenate([first * np.cos(angles) - second * np.sin(angles),
                               second * np.cos(angles) + first * np.sin(angles)], -1)

    def define(network, x):
        layer = network.add_rotary_embedding(x, constant(network, np.cos(angles)[None]),
                                             constant(network, np.sin(angles)[None]), False, 0)
        assert not layer.interleaved and layer.rotary_embedding_dim == 0
        return layer.get_output(0)
    check(define, expected, normal(1, 2, 5, 8))


@pytest.mark.parametrize("add", [
    lambda n, x: n.add_moe(x, x, x),
    lambda n, x: n.add_dist_collective(x, trt.CollectiveOperation.ALL_REDUCE,
                                       trt.ReduceOperation.SUM, None, [0])])
def test_layers_that_are_not_supported_yet_are_none(add):
    network = new_network(trt.Logger(trt.Logger.INTERNAL_ERROR))
    assert add(network, network.add_input("x", trt.float32, (2, 3, 4))) is None
