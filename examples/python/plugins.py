"""One operator, written as a plugin in three ways: it darkens pictures towards their corners.

    python plugins.py

Two ways are Python: decorated functions, and a class of TensorRT's protocol. The third compiles
C++ from a string, and needs a C++ compiler. All run in one network, and give what NumPy gives.
"""
import pathlib

import numpy as np

import tenon
import tenon.tensorrt as trt
import tenon.tensorrt.plugin as trtp

VIGNETTE = pathlib.Path(__file__).parents[1] / "plugin" / "vignette.cc"
LOGGER = trt.Logger()


def darkened(x, strength):
    height, width = x.shape[2:]
    v = (2 * np.arange(height, dtype=np.float32) / height - 1)[:, None]
    u = 2 * np.arange(width, dtype=np.float32) / width - 1
    return x * (1 - strength * (u * u + v * v) / 2)


# Decorated functions: one says what comes out, the other computes it.
@trtp.register("example::darken")
def describe(x: trtp.TensorDesc, strength: float) -> trtp.TensorDesc:
    return x.like()


@trtp.impl("example::darken")
def run(x, strength, outputs, stream):
    np.asarray(outputs[0])[...] = darkened(np.asarray(x), strength)


# A class: what the engine asks for, a method each.
class Darken(trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):
    plugin_name, plugin_version, num_outputs = "PyDarken", "1", 1

    def __init__(self, strength):
        self.strength = strength

    def clone(self):
        return Darken(self.strength)

    def get_output_data_types(self, input_types):
        return [input_types[0]]

    def get_output_shapes(self, inputs, shape_inputs, expr_builder):
        return [inputs[0]]

    def supports_format_combination(self, pos, in_out, num_inputs):
        return in_out[pos].desc.type == trt.float32

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        x = tenon.as_array(inputs[0], input_desc[0])
        tenon.as_array(outputs[0], output_desc[0])[...] = darkened(x, self.strength)

    def get_fields_to_serialize(self):
        return trt.PluginFieldCollection([strength_field(self.strength)])


class DarkenCreator(trt.IPluginCreatorV3One):
    name, plugin_version = "PyDarken", "1"
    field_names = trt.PluginFieldCollection([trt.PluginField("strength")])

    def create_plugin(self, name, field_collection, phase):
        return Darken(float(field_collection[0].data[0]))


def strength_field(strength):
    return trt.PluginField("strength", np.array([strength], np.float32),
                           trt.PluginFieldType.FLOAT32)


def main():
    registry = trt.get_plugin_registry()
    registry.register_creator(DarkenCreator(), "")
    library = tenon.plugin_from_source(VIGNETTE.read_text())
    print(f"compiled {', '.join(library.plugins)}")

    builder = trt.Builder(LOGGER)
    network = builder.create_network()
    x = network.add_input("x", trt.float32, (1, 3, 4, 6))
    fields = trt.PluginFieldCollection([strength_field(0.5)])
    layers = [network.add_plugin(trtp.op.example.darken(x, strength=0.5))]
    for name in ("PyDarken", "Vignette"):
        plugin = registry.get_creator(name, "1").create_plugin(name, fields, trt.TensorRTPhase.BUILD)
        layers.append(network.add_plugin_v3([x], [], plugin))
    for layer in layers:
        network.mark_output(layer.get_output(0))
    plan = builder.build_serialized_network(network, builder.create_builder_config())

    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(plan)
    picture = np.random.default_rng(0).random((1, 3, 4, 6), np.float32)
    results = [np.empty_like(picture) for _ in layers]
    assert engine.create_execution_context().execute_v2(
        [array.ctypes.data for array in (picture, *results)])
    for result in results:
        np.testing.assert_allclose(result, darkened(picture, 0.5), rtol=1e-6)
    print(f"{len(results)} plugins give what NumPy gives")


if __name__ == "__main__":
    main()
