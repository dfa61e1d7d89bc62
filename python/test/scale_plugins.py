"""Plugins written in Python that multiply by a factor, of both protocols, and models of them."""
import numpy as np
from models import value
from onnx import helper

import tenon
import tenon.tensorrt as trt

Type = trt.PluginFieldType
REGISTRY = trt.get_plugin_registry()
LINEAR = trt.TensorFormat.LINEAR


def as_arrays(pointers, descs):
    return [tenon.as_array(*pair) for pair in zip(pointers, descs)]


class ScaleV2(trt.IPluginV2DynamicExt):
    """y = x * factor, of version 2."""

    living = 0

    def __init__(self, factor=1.0):
        trt.IPluginV2DynamicExt.__init__(self)
        self.factor = factor
        self.num_outputs = 1
        self.plugin_type = "PyScaleV2"
        self.plugin_version = "1"
        self.plugin_namespace = ""
        ScaleV2.living += 1

    def __del__(self):
        ScaleV2.living -= 1

    def get_output_datatype(self, index, input_types):
        return input_types[0]

    def get_output_dimensions(self, output_index, inputs, expr_builder):
        return trt.DimsExprs(inputs[0])

    def supports_format_combination(self, pos, in_out, num_inputs):
        return in_out[pos].format == LINEAR and in_out[pos].type == trt.float32

    def configure_plugin(self, inputs, outputs):
        assert isinstance(inputs[0], trt.DynamicPluginTensorDesc)
        self.largest = tuple(inputs[0].max)

    def get_workspace_size(self, inputs, outputs):
        return 4 * trt.volume(self.largest)

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        x, = as_arrays(inputs, input_desc)
        y, = as_arrays(outputs, output_desc)
        scratch = tenon.as_array(workspace, trt.float32, x.shape)
        scratch[:] = x * self.factor
        y[:] = scratch

    def serialize(self):
        return np.float64(self.factor).tobytes()

    def clone(self):
        copy = type(self)(self.factor)
        copy.__dict__.update(self.__dict__)
        return copy


class ScaleV2Creator(trt.IPluginCreator):
    plugin_class = ScaleV2

    def __init__(self, name="PyScaleV2"):
        trt.IPluginCreator.__init__(self)
        self.name = name
        self.plugin_version = "1"
        self.plugin_namespace = ""
        self.field_names = trt.PluginFieldCollection(
            [trt.PluginField("factor", np.array([]), Type.FLOAT32)])

    def create_plugin(self, name, field_collection):
        assert isinstance(field_collection, trt.PluginFieldCollection_)
        factor = {f.name: f.data for f in field_collection}["factor"]
        plugin = self.plugin_class(float(factor[0]))
        plugin.plugin_type = self.name
        return plugin

    def deserialize_plugin(self, name, serialized_plugin):
        plugin = self.plugin_class(float(np.frombuffer(serialized_plugin, np.float64)[0]))
        plugin.plugin_type = self.name
        return plugin


class ScaleV3(trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):
    """y = x * factor, of version 3."""

    living = 0

    def __init__(self, factor=1.0):
        trt.IPluginV3.__init__(self)
        trt.IPluginV3OneCore.__init__(self)
        trt.IPluginV3OneBuild.__init__(self)
        trt.IPluginV3OneRuntime.__init__(self)
        self.factor = factor
        self.num_outputs = 1
        self.plugin_name = "PyScaleV3"
        self.plugin_version = "1"
        self.plugin_namespace = "py"
        ScaleV3.living += 1

    def __del__(self):
        ScaleV3.living -= 1

    def get_capability_interface(self, type):  # noqa: A002
        return self

    def get_output_data_types(self, input_types):
        return [input_types[0]]

    def get_output_shapes(self, inputs, shape_inputs, expr_builder):
        return [trt.DimsExprs(inputs[0])]

    def supports_format_combination(self, pos, in_out, num_inputs):
        desc = in_out[pos].desc
        return desc.format == LINEAR and desc.type == in_out[0].desc.type

    def configure_plugin(self, inputs, outputs):
        pass

    def on_shape_change(self, inputs, outputs):
        self.shape = tuple(inputs[0].dims)

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        x, = as_arrays(inputs, input_desc)
        y, = as_arrays(outputs, output_desc)
        assert x.shape == self.shape
        np.multiply(x, self.factor, out=y)

    def get_fields_to_serialize(self):
        return trt.PluginFieldCollection(
            [trt.PluginField("factor", np.array([self.factor], np.float32), Type.FLOAT32)])

    def attach_to_context(self, resource_context):
        assert isinstance(resource_context, trt.IPluginResourceContext)
        return self.clone()

    def set_tactic(self, tactic):
        pass

    def clone(self):
        copy = type(self)()
        copy.__dict__.update(self.__dict__)
        return copy


class ScaleV3Creator(trt.IPluginCreatorV3One):
    plugin_class = ScaleV3

    def __init__(self, name="PyScaleV3"):
        trt.IPluginCreatorV3One.__init__(self)
        self.name = name
        self.plugin_version = "1"
        self.plugin_namespace = "py"
        self.field_names = trt.PluginFieldCollection(
            [trt.PluginField("factor", np.array([]), Type.FLOAT32)])
        self.phases = []

    def create_plugin(self, name, field_collection, phase):
        self.phases.append(phase)
        factor = {f.name: f.data for f in field_collection}["factor"]
        plugin = self.plugin_class(float(factor[0]))
        plugin.plugin_name = self.name
        return plugin


CREATORS = {"PyScaleV2": (ScaleV2Creator(), ""), "PyScaleV3": (ScaleV3Creator(), "py")}
for _creator, _namespace in CREATORS.values():
    assert REGISTRY.register_creator(_creator, _namespace)


def registered(creator):
    """A creator that is there for one test."""
    assert REGISTRY.register_creator(creator, creator.plugin_namespace)
    return creator


def model_of(op, namespace="", **attributes):
    """The bytes of a model that is one node of a custom operator, after a ReLU."""
    nodes = [helper.make_node("Relu", ["x"], ["r"]),
             helper.make_node(op, ["r"], ["y"], domain="custom", plugin_namespace=namespace,
                              **attributes)]
    graph = helper.make_graph(nodes, "test", [value("x", ["n", 3])], [value("y", ["n", 3])])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("custom", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


SHAPES = ((1, 3), (2, 3), (8, 3))
X = np.array([[1, -2, 3], [-4, 5, 6]], np.float32)
