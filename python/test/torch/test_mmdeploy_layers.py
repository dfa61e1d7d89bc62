"""The cases of MMDeploy's tests of its operators that are ONNX's own operators, which it has for ncnn."""
import functools

import operators
import pytest
import torch
from operators import operator
from test_mmdeploy_operators import run

compare = functools.partial(operators.compare, run)


@pytest.mark.parametrize("k", [1, 3, 5])
@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("ordered", [True, False])
def test_topk(tmp_path, k, dim, largest, ordered):
    def best(x):
        values, index = x.topk(k, dim, largest, ordered)
        # Any order is right when none is asked for.
        return (values, index) if ordered else (values.sort(dim)[0], index.sort(dim)[0])
    compare(tmp_path, best, [torch.rand(1, 8, 12, 17)])


shape_of = operator("Shape", {}, lambda x: torch.tensor(x.shape))
SHAPES = [(1, 8), (1, 5, 7), (1, 3, 10, 15)]


@pytest.mark.parametrize("shape", SHAPES)
def test_shape(tmp_path, shape):
    compare(tmp_path, shape_of, [torch.rand(shape)], dynamic=(1,))  # else the exporter knows it


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("value", [0., 1., -3., 4.25])
def test_constantofshape(tmp_path, shape, value):
    fill = operator("ConstantOfShape", dict(value_t=torch.tensor([value])),
                    lambda shape: torch.full(shape.tolist(), value))
    compare(tmp_path, lambda x: fill(shape_of(x)), [torch.rand(shape)], dynamic=(1,))


@pytest.mark.parametrize("axis, dimensions", [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)])
def test_gather(tmp_path, axis, dimensions):
    data, index = torch.rand((8, 12, 17)[-dimensions:])[None], torch.randint(8, (5,))
    compare(tmp_path, operator("Gather", dict(axis_i=axis + 1), lambda x, i: x.index_select(axis + 1, i)),
            [data, index])


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_tensorslice(tmp_path, dimensions):
    slices = {1: (slice(2, 17, 7),), 2: (slice(3, 12, 4), slice(2, 15, 3)),
              3: (slice(0, 8, 2), slice(2, 12, 4), slice(2, 17, 7))}[dimensions]
    compare(tmp_path, lambda x: x[(slice(None), *slices)], [torch.rand((8, 12, 17)[-dimensions:])[None]])


@pytest.mark.parametrize("given, wanted", [(1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 3)])
def test_expand(tmp_path, given, wanted):
    compare(tmp_path, lambda x, y: x.expand_as(y),
            [torch.rand((1, 12, 1)[-given:])[None], torch.rand((8, 12, 17)[-wanted:])[None]])
