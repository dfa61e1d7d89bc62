"""Cuts a classifier off behind its features, with tenon.graphsurgeon, and compares both models."""
import numpy as np
import onnx

import tenon
import tenon.graphsurgeon as gs


def classifier():
    """x -> features = relu(x w / 2) -> scores = features v, where the halved weights are yet to be computed."""
    random = np.random.default_rng(0)
    graph = gs.Graph(inputs=[gs.Variable("x", np.float32, ("N", 4))], opset=17, ir_version=10)
    w, v = (random.normal(size=size).astype(np.float32) for size in ((4, 8), (8, 3)))
    half, = graph.layer(op="Mul", inputs=[w, np.float32(0.5)], outputs=["half"])
    product, = graph.layer(op="MatMul", inputs=[graph.inputs[0], half], outputs=["product"])
    features, = graph.layer(op="Relu", inputs=[product], outputs=[gs.Variable("features", np.float32, ("N", 8))])
    graph.outputs = graph.layer(op="MatMul", inputs=[features, v], outputs=[gs.Variable("scores", np.float32, ("N", 3))])
    return gs.export_onnx(graph), v


def main():
    model, v = classifier()
    graph = gs.import_onnx(model)
    features = graph.tensors()["features"]
    graph.outputs = [features.to_variable(np.float32, ("N", 8))]
    graph.fold_constants().cleanup().toposort()
    edited = gs.export_onnx(graph)
    onnx.checker.check_model(edited, full_check=True)
    print("before:", [node.op_type for node in model.graph.node])
    print("after: ", [node.op_type for node in edited.graph.node])

    x = np.random.default_rng(1).random((2, 4), np.float32)
    shapes = {"x": ((1, 4), (2, 4), (8, 4))}
    scores = tenon.compile(model, shapes=shapes)(x)
    found = tenon.compile(edited, shapes=shapes)(x)
    print("largest difference:", abs(found @ v - scores).max())
    assert np.allclose(found @ v, scores, atol=1e-5)


if __name__ == "__main__":
    main()
