"""Writes tutorial.onnx: an image of any size through both plugins."""
import pathlib

from onnx import TensorProto, checker, helper, save

own = {"domain": "tutorial", "plugin_version": "1", "plugin_namespace": "tutorial"}
graph = helper.make_graph(
    [helper.make_node("InstanceNorm", ["x"], ["normalised"], "normalise", epsilon=1e-3, **own),
     helper.make_node("ReflectPad", ["normalised"], ["y"], "pad", pads=[1, 1, 0, 0], **own)],
    "tutorial",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", "c", "height", "width"])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", "c", "height", "wider"])])
model = helper.make_model(graph, producer_name="tenon", ir_version=8, opset_imports=[
    helper.make_opsetid("", 17), helper.make_opsetid("tutorial", 1)])
checker.check_model(model)
save(model, pathlib.Path(__file__).with_name("tutorial.onnx"))
