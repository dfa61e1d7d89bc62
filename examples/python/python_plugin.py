"""TensorRT's introduction: a plugin written in Python, circular padding, in a model.

    python python_plugin.py

The node CircularPadding of an ONNX model finds the plugin by its name. `enqueue` gets pointers; on the CPU they are
those of host memory, which tenon.as_array() shows as NumPy arrays.
"""
import sys

import numpy as np
import onnx
import tenon
import tenon.tensorrt as trt
from onnx import TensorProto, helper


class CircularPadding(trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):
    """numpy.pad(x, mode="wrap") of the last two dimensions of x (N, C, H, W), float32.

    pads: 4 values: left, right, top, bottom, each from 0 to the extent of the dimension.
    """

    def __init__(self, pads):
        trt.IPluginV3.__init__(self)
        trt.IPluginV3OneCore.__init__(self)
        trt.IPluginV3OneBuild.__init__(self)
        trt.IPluginV3OneRuntime.__init__(self)
        self.pads = np.array(pads, np.int32)
        self.plugin_name, self.plugin_version, self.plugin_namespace = "CircularPadding", "1", ""
        self.num_outputs = 1

    def get_capability_interface(self, type):
        return self

    def clone(self):
        return CircularPadding(self.pads)

    def get_fields_to_serialize(self):
        return trt.PluginFieldCollection([trt.PluginField("pads", self.pads, trt.PluginFieldType.INT32)])

    # Building
    def get_output_data_types(self, input_types):
        return [input_types[0]]

    def get_output_shapes(self, inputs, shape_inputs, builder):
        left, right, top, bottom = map(int, self.pads)
        shape = trt.DimsExprs(inputs[0])
        for axis, growth in ((2, top + bottom), (3, left + right)):
            shape[axis] = builder.operation(trt.DimensionOperation.SUM, shape[axis], builder.constant(growth))
        return [shape]

    def supports_format_combination(self, position, in_out, num_inputs):
        desc = in_out[position].desc
        return desc.type == trt.float32 and desc.format == trt.TensorFormat.LINEAR

    def configure_plugin(self, inputs, outputs):
        pass

    # Running
    def attach_to_context(self, context):
        return self.clone()

    def on_shape_change(self, inputs, outputs):
        pass

    def set_tactic(self, tactic):
        pass

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        left, right, top, bottom = map(int, self.pads)
        x = tenon.as_array(inputs[0], input_desc[0])
        y = tenon.as_array(outputs[0], output_desc[0])
        y[...] = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), mode="wrap")


class CircularPaddingCreator(trt.IPluginCreatorV3One):
    """Makes the plugin from the attributes of a node, or from what a plan has stored."""

    def __init__(self):
        trt.IPluginCreatorV3One.__init__(self)
        self.name, self.plugin_version, self.plugin_namespace = "CircularPadding", "1", ""
        self.field_names = trt.PluginFieldCollection(
            [trt.PluginField("pads", np.array([], np.int32), trt.PluginFieldType.INT32)])

    def create_plugin(self, name, fields, phase):
        pads = next((field.data for field in fields if field.name == "pads"), None)
        if pads is None or len(pads) != 4:
            raise ValueError("CircularPadding: the attribute pads must have 4 values: left, right, top, bottom")
        return CircularPadding(pads)


def model():
    """One node of the plugin's name."""
    node = helper.make_node("CircularPadding", ["x"], ["y"], pads=[1, 2, 3, 0])
    return helper.make_model(helper.make_graph(
        [node], "padding", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, "height", "width"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]),
        opset_imports=[onnx.helper.make_opsetid("", 17)])


def main():
    trt.get_plugin_registry().register_creator(CircularPaddingCreator(), "")
    engine = tenon.compile(model(), shapes={"x": ((1, 3, 4, 4), (1, 3, 8, 8), (1, 3, 64, 64))})
    x = np.random.default_rng(0).random((1, 3, 5, 7), dtype=np.float32)
    same = np.array_equal(engine(x), np.pad(x, ((0, 0), (0, 0), (3, 0), (1, 2)), mode="wrap"))
    print("as numpy.pad gives it" if same else "not as numpy.pad gives it")
    return same


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
