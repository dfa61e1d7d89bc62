"""Writes the models of authoring_test.cc and, with PyTorch, what they compute. Needs onnx, NumPy and PyTorch."""
import json
import pathlib

import numpy
import torch
from onnx import helper, numpy_helper, save

FOLDER = pathlib.Path(__file__).parent
random = numpy.random.default_rng(1)


def write(name, node, inputs, output, constants=()):
    def described(key, array):
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        return helper.make_tensor_value_info(key, kind, [f"{key}{axis}" for axis in range(array.ndim)])

    graph = helper.make_graph([node], name, [described("x", inputs)], [described("y", output)],
                              [numpy_helper.from_array(array, key) for key, array in constants])
    save(helper.make_model(graph, producer_name="tenon", ir_version=8, opset_imports=[
        helper.make_opsetid("", 17), helper.make_opsetid("mmdeploy", 1)]), FOLDER / f"{name}.onnx")
    numpy.savez(FOLDER / f"{name}.npz", x=inputs, y=output)


def image(*shape):
    return random.integers(-96, 97, shape).astype(numpy.float32) / 16


x, bias = image(2, 3, 4, 5), image(3)
for name, kind in [("biased_hswish", numpy.float32), ("biased_hswish_fp16", numpy.float16)]:
    node = helper.make_node("Plugin", ["x", "bias"], ["y"], name="BiasedHSwish",
                            info=json.dumps({"scale": 0.5}))
    # helper.make_node takes `name` as the node's own: this is the attribute.
    node.attribute.append(helper.make_attribute("name", "BiasedHSwish"))
    y = 0.5 * torch.nn.functional.hardswish(torch.from_numpy(x + bias.reshape(3, 1, 1)))
    write(name, node, x.astype(kind), y.numpy().astype(kind), [("bias", bias.astype(kind))])

x = image(1, 2, 7)
selu = helper.make_node("Plugin", ["x"], ["y"])
selu.attribute.append(helper.make_attribute("name", "TutorialSELU"))
write("tutorial_selu", selu, x,
      torch.nn.functional.silu(torch.from_numpy(x)).numpy())

x = image(2, 1, 3, 2)
write("scaled_repeat", helper.make_node("ScaledRepeat", ["x"], ["y"], domain="mmdeploy", scale=-2.0, repeats=[2, 3],
                                        mode="repeat"), x, -2 * x.repeat(2, axis=2).repeat(3, axis=3))
