"""Writes vignette.onnx: a picture through the plugin's operator, at any size."""
import pathlib

from onnx import TensorProto, checker, helper, save

shape = [1, 3, "height", "width"]
graph = helper.make_graph(
    [helper.make_node("Vignette", ["input"], ["output"], "darken", domain="example",
                      plugin_version="1", strength=0.75)],
    "vignette",
    [helper.make_tensor_value_info("input", TensorProto.FLOAT, shape)],
    [helper.make_tensor_value_info("output", TensorProto.FLOAT, shape)])
model = helper.make_model(graph, producer_name="tenon", ir_version=8, opset_imports=[
    helper.make_opsetid("", 17), helper.make_opsetid("example", 1)])
checker.check_model(model)
save(model, pathlib.Path(__file__).with_name("vignette.onnx"))
