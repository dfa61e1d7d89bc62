"""Plugins written in Python that compute with PyTorch."""
import numpy as np
import pytest
import torch

import tenon
import tenon.tensorrt as trt
import tenon.tensorrt.plugin as trtp

LOGGER = trt.Logger()


class Softsign(trt.IPluginV2DynamicExt):
    """torch.nn.functional.softsign, of version 2."""

    plugin_type, plugin_version, num_outputs = "TorchSoftsign", "1", 1

    def get_output_datatype(self, index, input_types):
        return input_types[0]

    def get_output_dimensions(self, output_index, inputs, expr_builder):
        return trt.DimsExprs(inputs[0])

    def supports_format_combination(self, pos, in_out, num_inputs):
        return in_out[pos].type in (trt.float32, trt.bfloat16)

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        x = tenon.as_tensor(inputs[0], input_desc[0])
        y = tenon.as_tensor(outputs[0], output_desc[0])
        assert x.dtype == y.dtype and x.data_ptr() == inputs[0] and y.data_ptr() == outputs[0]
        y.copy_(torch.nn.functional.softsign(x.float()))

    def clone(self):
        return Softsign()


class SoftsignCreator(trt.IPluginCreator):
    name, plugin_version = "TorchSoftsign", "1"

    def create_plugin(self, name, field_collection):
        return Softsign()

    def deserialize_plugin(self, name, serialized_plugin):
        return Softsign()


assert trt.get_plugin_registry().register_creator(SoftsignCreator(), "")


@trtp.register("torch_test::circular_pad")
def describe_pad(x: trtp.TensorDesc, size: int) -> trtp.TensorDesc:
    y = x.like()
    for axis in (x.ndim - 1, x.ndim - 2):
        y.shape_expr[axis] += 2 * size
    return y


@trtp.impl("torch_test::circular_pad")
def run_pad(x, size, outputs, stream):
    x, y = torch.from_dlpack(x), torch.from_dlpack(outputs[0])
    y.copy_(torch.nn.functional.pad(x, [size] * 4, mode="circular"))


def results_of(add, x, dtype=trt.float32):
    """The output of the layer add(network, tensor), a PyTorch tensor, for a PyTorch tensor."""
    builder = trt.Builder(LOGGER)
    network = builder.create_network()
    output = add(network, network.add_input("x", dtype, tuple(x.shape))).get_output(0)
    output.name = "y"
    network.mark_output(output)
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(plan)
    context = engine.create_execution_context()
    y = torch.empty(tuple(engine.get_tensor_shape("y")), dtype=x.dtype)
    assert context.execute_v2([x.data_ptr(), y.data_ptr()])
    return y


@pytest.mark.parametrize("dtype, kind", [(torch.float32, trt.float32),
                                         (torch.bfloat16, trt.bfloat16)])
def test_a_class(dtype, kind):
    x = torch.randn(2, 3, generator=torch.Generator().manual_seed(0)).to(dtype)
    y = results_of(lambda network, t: network.add_plugin_v2([t], Softsign()), x, kind)
    torch.testing.assert_close(y, torch.nn.functional.softsign(x.float()).to(dtype))


def test_decorated_functions():
    x = torch.randn(1, 2, 4, 5, generator=torch.Generator().manual_seed(0))
    y = results_of(lambda network, t: network.add_plugin(
        trtp.op.torch_test.circular_pad(t, size=2)), x)
    torch.testing.assert_close(y, torch.nn.functional.pad(x, [2] * 4, mode="circular"))


def test_what_pytorch_raises_comes_out():
    x = torch.randn(1, 2, 4, 5)
    with pytest.raises(RuntimeError, match="[Pp]adding"):  # more than there is to repeat
        results_of(lambda network, t: network.add_plugin(
            trtp.op.torch_test.circular_pad(t, size=50)), x)


def test_tensors_are_not_copied():
    desc = trt.PluginTensorDesc()
    desc.dims, desc.type = (2, 3), trt.int64
    memory = np.arange(6)
    tensor = tenon.as_tensor(memory.ctypes.data, desc)
    tensor[1, 2] = 50
    assert memory[5] == 50 and tensor.shape == (2, 3) and tensor.dtype == torch.int64
    wrapped = trtp.Tensor(memory.ctypes.data, desc)
    assert torch.from_dlpack(wrapped).data_ptr() == memory.ctypes.data
