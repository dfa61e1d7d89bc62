"""Python plugins of an engine on a GPU, with PyTorch. It needs both and is no part of the tests that run without.

    PYTHONPATH=build/cuda/python python python/test/gpu_plugins.py
"""
import sys

import numpy as np
import torch

import tenon
import tenon.tensorrt as trt
import tenon.tensorrt.plugin as trtp

LOGGER = trt.Logger(trt.Logger.WARNING)


@trtp.register("gpu_test::twice")
def describe(x: trtp.TensorDesc, through_dlpack: bool) -> trtp.TensorDesc:
    return x.like()


@trtp.impl("gpu_test::twice")
def run(x, through_dlpack, outputs, stream):
    take = torch.from_dlpack if through_dlpack else torch.as_tensor
    with torch.cuda.stream(torch.cuda.ExternalStream(stream)):
        x, y = take(x), take(outputs[0])
        assert x.is_cuda and y.is_cuda, (x.device, y.device)
        y.copy_(x + x)


class Gelu(trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):
    """torch.nn.functional.gelu, as a class."""

    plugin_name, plugin_version, plugin_namespace, num_outputs = "GpuGelu", "1", "", 1

    def get_capability_interface(self, type):
        return self

    def clone(self):
        return Gelu()

    def attach_to_context(self, context):
        return Gelu()

    def get_output_data_types(self, input_types):
        return input_types

    def get_output_shapes(self, inputs, shape_inputs, expr_builder):
        return [trt.DimsExprs(inputs[0])]

    def supports_format_combination(self, pos, in_out, num_inputs):
        return in_out[pos].desc.format == trt.TensorFormat.LINEAR

    def get_fields_to_serialize(self):
        return trt.PluginFieldCollection([])

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        with torch.cuda.stream(torch.cuda.ExternalStream(stream)):
            x = tenon.as_tensor(inputs[0], input_desc[0])
            assert x.is_cuda and x.data_ptr() == inputs[0] and x.shape == tuple(input_desc[0].dims)
            tenon.as_tensor(outputs[0], output_desc[0]).copy_(torch.nn.functional.gelu(x))


class GeluCreator(trt.IPluginCreatorV3One):
    name, plugin_version, plugin_namespace = "GpuGelu", "1", ""
    field_names = trt.PluginFieldCollection([])

    def create_plugin(self, name, field_collection, phase):
        return Gelu()


def result_of(add, dtype, x):
    """What an engine of the layer that `add` adds gives for a tensor of the GPU."""
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    given = network.add_input("x", dtype, tuple(x.shape))
    layer = add(network, network.add_identity(given).get_output(0))
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(plan)
    context = engine.create_execution_context()
    y = torch.empty_like(x)
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    context.set_tensor_address("x", x.data_ptr())
    context.set_tensor_address("y", y.data_ptr())
    for _ in range(3):
        assert context.execute_async_v3(stream.cuda_stream)
    stream.synchronize()
    return y


def main():
    trt.get_plugin_registry().register_creator(GeluCreator(), "")
    types = {trt.float32: torch.float32, trt.float16: torch.float16, trt.bfloat16: torch.bfloat16}
    for dtype, torch_type in types.items():
        x = torch.randn(64, 1000, device="cuda").to(torch_type)
        for through_dlpack in (True, False):
            if dtype == trt.bfloat16 and not through_dlpack:
                continue  # __cuda_array_interface__ has no such type
            y = result_of(lambda network, t, way=through_dlpack: network.add_plugin(
                trtp.op.gpu_test.twice(t, through_dlpack=way)), dtype, x)
            torch.testing.assert_close(y, x + x, rtol=0, atol=0)
        y = result_of(lambda network, t: network.add_plugin_v3([t], [], Gelu()), dtype, x)
        torch.testing.assert_close(y, torch.nn.functional.gelu(x))
    refused = tenon.as_array(x.data_ptr(), trt.float16, (64, 1000))
    try:
        np.asarray(refused)
    except TypeError as error:
        print(error)
    else:
        sys.exit("NumPy took the GPU's memory")
    print("Python plugins on a GPU: all as expected")


if __name__ == "__main__":
    main()
