"""Writes my_plugin.onnx, a model with the plugin between two operators of ONNX, and x.npz, an input for it."""
import numpy
from onnx import TensorProto, helper, save

shape = ["rows", 4]
nodes = [helper.make_node("Relu", ["x"], ["positive"]),
         helper.make_node("MyPlugin", ["positive"], ["scaled"], domain="mine", plugin_version="1", factor=3.0),
         helper.make_node("Neg", ["scaled"], ["y"])]
graph = helper.make_graph(nodes, "my_plugin", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)])
save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]), "my_plugin.onnx")
numpy.savez("x.npz", x=numpy.arange(-4, 8, dtype=numpy.float32).reshape(3, 4))
