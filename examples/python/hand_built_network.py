"""A network of two plugins, built by hand with TensorRT's API.

    python hand_built_network.py

InstanceNorm and ReflectPad come with Tenon. Needs NumPy.
"""
import numpy as np

import tenon.tensorrt as trt

LOGGER = trt.Logger(trt.Logger.WARNING)


def plugin_layer(network, x, name, **fields):
    """The output of the plugin `name` on tensor x."""
    creator = trt.get_plugin_registry().get_plugin_creator(name, "1", "")
    if creator is None:
        raise LookupError(f"there is no plugin '{name}'")
    collection = trt.PluginFieldCollection([
        trt.PluginField(key, value, trt.PluginFieldType.INT32 if value.dtype == np.int32
                        else trt.PluginFieldType.FLOAT32) for key, value in fields.items()])
    return network.add_plugin_v2([x], creator.create_plugin(name, collection)).get_output(0)


def build(epsilon, padding):
    """The engine: every channel normalised, then a border reflected."""
    trt.init_libnvinfer_plugins(LOGGER, "")
    builder = trt.Builder(LOGGER)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH))
    x = network.add_input("x", trt.float32, (1, 3, -1, -1))
    x = plugin_layer(network, x, "InstanceNorm", epsilon=np.array([epsilon], np.float32))
    x = plugin_layer(network, x, "ReflectPad", padding=np.array(padding, np.int32))
    x.name = "y"
    network.mark_output(x)
    profile = builder.create_optimization_profile()
    profile.set_shape("x", (1, 3, 4, 4), (1, 3, 16, 16), (1, 3, 64, 64))
    config = builder.create_builder_config()
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    return trt.Runtime(LOGGER).deserialize_cuda_engine(plan)


def run(engine, x):
    """y of x. Device memory is host memory here, so arrays are what the engine reads and writes."""
    context = engine.create_execution_context()
    context.set_input_shape("x", x.shape)
    y = np.empty(tuple(context.get_tensor_shape("y")), np.float32)
    if not context.execute_v2([x.ctypes.data, y.ctypes.data]):
        raise RuntimeError("the logger was told why")
    return y


def main():
    engine = build(1e-5, [2, 3, 1, 0])  # left, right, top, bottom
    x = np.random.default_rng(0).random((1, 3, 9, 7), np.float32)
    y = run(engine, x)
    normal = (x - x.mean((2, 3), keepdims=True)) / np.sqrt(x.var((2, 3), keepdims=True) + 1e-5)
    expected = np.pad(normal, ((0, 0), (0, 0), (1, 0), (2, 3)), mode="reflect")
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)
    print(f"{x.shape} became {y.shape}")


if __name__ == "__main__":
    main()
