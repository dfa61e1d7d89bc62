"""Makes the batch of an exported model dynamic, takes its Dropout out, and checks what it computes.

    python examples/python/edit_model.py
"""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import tenon.onnx


def exported():
    """A classifier with a batch of 1, which the shape of its Reshape holds, too."""
    random = np.random.default_rng(1)
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], kernel_shape=[3, 3]), helper.make_node("Relu", ["c"], ["r"]),
             helper.make_node("Dropout", ["r"], ["d"]), helper.make_node("Reshape", ["d", "shape"], ["f"]),
             helper.make_node("MatMul", ["f", "m"], ["y"])]
    weights = {"w": random.standard_normal((4, 3, 3, 3)).astype(np.float32), "shape": np.array([1, 144]),
               "m": random.standard_normal((144, 5)).astype(np.float32)}
    graph = helper.make_graph(nodes, "classifier", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 5])],
                              [numpy_helper.from_array(array, name) for name, array in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def main():
    model = tenon.onnx.parse(exported().SerializeToString())
    for node_id in model.nodes():  # safe while the model changes
        if model.node(node_id).op_type == "Dropout":
            model.remove_node(node_id, relink=True)
    tenon.onnx.set_batch(model, "batch")
    tenon.onnx.fold_constants(model)
    print(model.patch_text())

    edited = onnx.load_from_string(model.serialize())
    onnx.checker.check_model(edited, full_check=True)
    x = np.random.default_rng(2).standard_normal((3, 3, 8, 8)).astype(np.float32)
    batch = tenon.compile(edited, shapes={"x": ((1, 3, 8, 8), (3, 3, 8, 8), (4, 3, 8, 8))})(x)
    single = tenon.compile(exported())
    difference = max(abs(batch[i] - single(x[i:i + 1])[0]).max() for i in range(3))
    print(f"three at once differ from one after the other by {difference:.1g}")
    assert difference < 1e-4

    model.undo()
    assert model.serialize() == exported().SerializeToString()


if __name__ == "__main__":
    main()
