"""Small ONNX models that several tests use, as onnx.ModelProto."""
import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
BFLOAT16, HALF = TensorProto.BFLOAT16, TensorProto.FLOAT16


def model(nodes, inputs, outputs, initializers=()):
    """inputs, outputs: (name, type, shape). initializers: (name, array)."""
    graph = helper.make_graph(
        nodes, "test", [helper.make_tensor_value_info(*value) for value in inputs],
        [helper.make_tensor_value_info(*value) for value in outputs],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in initializers])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    checker.check_model(made)
    return made


def scale(shape=(2, 3), kind=FLOAT):
    """y = x + x."""
    return model([helper.make_node("Add", ["x", "x"], ["y"])], [("x", kind, shape)],
                 [("y", kind, shape)])


def two(shape=("n", 3)):
    """total = a + b, difference = a - b."""
    return model([helper.make_node("Add", ["a", "b"], ["total"]),
                  helper.make_node("Sub", ["a", "b"], ["difference"])],
                 [("a", FLOAT, shape), ("b", FLOAT, shape)],
                 [("total", FLOAT, shape), ("difference", FLOAT, shape)])


def nonzero():
    """Where x is not zero: the shape of y depends on the data."""
    return model([helper.make_node("NonZero", ["x"], ["y"])], [("x", FLOAT, ("n",))],
                 [("y", INT64, (1, "m"))])


def reshape():
    """y = x in the shape that the elements of `shape` say."""
    return model([helper.make_node("Reshape", ["x", "shape"], ["y"])],
                 [("x", FLOAT, (2, 6)), ("shape", INT64, (2,))], [("y", FLOAT, ("a", "b"))])
