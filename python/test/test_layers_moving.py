"""Layers that move elements, of images and of language models, against NumPy."""
import numpy as np
import pytest

import tenon.tensorrt as trt
from networks import check, constant, integers, new_network, normal, softmax

X = normal(2, 3, 6, 8)


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


def test_cache_of_keys():
    places = np.array([1, 0], np.int32)

    def expected(cache, update):
        result = cache.copy()
        result[0, :, 1:3], result[1, :, 0:2] = update
        return result

    def define(network, cache, update):
        layer = network.add_kv_cache_update(cache, update, constant(network, places),
                                            trt.KVCacheMode.LINEAR)
        assert layer.cache_mode == trt.KVCacheMode.LINEAR
        return layer.get_output(0)
    check(define, expected, normal(2, 3, 4, 5), normal(2, 3, 2, 5))


@pytest.mark.parametrize("add", [
    lambda n, x: n.add_moe(x, x, x),
    lambda n, x: n.add_dist_collective(x, trt.CollectiveOperation.ALL_REDUCE,
                                       trt.ReduceOperation.SUM, None, [0])])
def test_layers_that_are_not_supported_yet_are_none(add):
    network = new_network(trt.Logger(trt.Logger.INTERNAL_ERROR))
    assert add(network, network.add_input("x", trt.float32, (2, 3, 4))) is None
