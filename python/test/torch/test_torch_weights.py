"""PyTorch's tensors as weights and shapes."""
import pathlib
import sys

import numpy as np
import pytest
import torch

import tenon.tensorrt as trt

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from networks import evaluate  # noqa: E402


@pytest.mark.parametrize("dtype, expected", [
    (torch.float32, trt.float32), (torch.float16, trt.float16), (torch.bfloat16, trt.bfloat16),
    (torch.int8, trt.int8), (torch.int32, trt.int32), (torch.int64, trt.int64),
    (torch.uint8, trt.uint8), (torch.bool, trt.bool)])
def test_tensors_are_weights(dtype, expected):
    tensor = torch.ones(2, 3).to(dtype)
    weights = trt.Weights(tensor)
    assert (weights.dtype, weights.size) == (expected, 6)
    if dtype != torch.bfloat16:
        assert weights.numpy().ctypes.data == tensor.data_ptr()  # no copy


def test_other_types_say_what_to_do():
    with pytest.raises(ValueError, match="weights cannot be torch.float64; convert the array"):
        trt.Weights(torch.zeros(2, dtype=torch.float64))


def test_a_module_becomes_a_network():
    convolution, linear = torch.nn.Conv2d(3, 4, 3), torch.nn.Linear(4, 2)
    x = torch.randn(1, 3, 8, 8)

    def define(network, x):
        layer = network.add_convolution_nd(x, 4, (3, 3), convolution.weight, convolution.bias)
        mean = network.add_reduce(layer.get_output(0), trt.ReduceOperation.AVG, 12, False)
        product = network.add_matrix_multiply(
            mean.get_output(0), trt.MatrixOperation.NONE,
            network.add_constant(linear.weight.shape, linear.weight).get_output(0),
            trt.MatrixOperation.TRANSPOSE)
        bias = network.add_constant(trt.Dims((1, 2)), linear.bias).get_output(0)
        return network.add_elementwise(product.get_output(0), bias,
                                       trt.ElementWiseOperation.SUM).get_output(0)
    found, = evaluate(define, x.numpy())
    with torch.no_grad():
        wanted = linear(convolution(x).mean((2, 3))).numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
