"""Constants that tenon.graphsurgeon folds, against NumPy."""
import logging

import numpy as np
import onnx
import onnx.checker
import pytest
from onnx import TensorProto

import tenon.graphsurgeon as gs
import tenon.graphsurgeon.log


def graph_of(op, *inputs, outputs=1, opset=13, **attrs):
    """A graph of one node, whose results are the graph's."""
    tensors = [gs.Variable("") if one is None else one if isinstance(one, gs.Tensor) else gs.Constant(f"c{i}", np.array(one))
               for i, one in enumerate(inputs)]
    results = [gs.Variable(f"y{i}", np.float32) for i in range(outputs)]
    node = gs.Node(op, "node", attrs, tensors, results)
    return gs.Graph([node], [t for t in tensors if isinstance(t, gs.Variable) and t.name], results, opset=opset, ir_version=10)


A = np.arange(6, dtype=np.float32).reshape(2, 3) - 2


def test_loops_stay():
    """Nobody knows how long one runs: here 2**60 times."""
    state, same = gs.Variable("state", np.float32, ()), gs.Variable("same", np.float32, ())
    more, keep = gs.Variable("more", bool, ()), gs.Variable("keep", bool, ())
    body = gs.Graph([gs.Node("Neg", "negate", inputs=[state], outputs=[same]),
                     gs.Node("Identity", "go_on", inputs=[more], outputs=[keep])],
                    [gs.Variable("i", np.int64, ()), more, state], [keep, same], name="body")
    graph = graph_of("Loop", np.array(1 << 60), np.array(True), np.array(1, np.float32), body=body)
    graph.fold_constants().cleanup()
    assert [node.op for node in graph.nodes] == ["Loop"]


@pytest.mark.parametrize("op, inputs, attrs, expected", [
    ("Add", (A, A), {}, A + A),
    ("MatMul", (A, A.T), {}, A @ A.T),
    ("Transpose", (A,), {"perm": [1, 0]}, A.T),
    ("Div", (np.array([7, -7], np.int64), np.array([2, 2], np.int64)), {}, np.array([3, -3])),
    ("Add", (A.astype(np.float64), np.array(1e-12)), {}, A.astype(np.float64) + 1e-12),
    ("Cast", (A,), {"to": TensorProto.DOUBLE}, A.astype(np.float64)),
    ("Add", (np.array([200], np.uint8), np.array([100], np.uint8)), {}, np.array([44], np.uint8)),
    ("Concat", (np.array(["a"], object), np.array(["b"], object)), {"axis": 0}, np.array(["a", "b"], object)),
    ("Less", (A, np.float32(0)), {}, A < 0),
    ("Range", (np.int64(1), np.int64(7), np.int64(2)), {}, np.array([1, 3, 5])),
    ("NonZero", (A,), {}, np.array(np.nonzero(A))),
    ("ReduceSum", (A, np.array([1])), {"keepdims": 0}, A.sum(1)),
])
def test_values(op, inputs, attrs, expected):
    graph = graph_of(op, *inputs, **attrs)
    graph.fold_constants(error_ok=False).cleanup()
    result = graph.outputs[0]
    assert isinstance(result, gs.Constant) and not graph.nodes
    assert result.values.dtype == expected.dtype and result.values.shape == expected.shape
    np.testing.assert_array_equal(result.values, expected)


def test_who_computes(caplog):
    """What is not of the engine's own types is said to be computed by onnx.reference; the rest is not."""
    before, gs.log.G_LOGGER.severity = gs.log.G_LOGGER.severity, logging.DEBUG
    try:
        with caplog.at_level(logging.DEBUG, "tenon.graphsurgeon"):
            graph_of("Add", A, A).fold_constants()
            assert not caplog.records
            graph_of("Add", A.astype(np.float64), np.array(1.0)).fold_constants()
    finally:
        gs.log.G_LOGGER.severity = before
    assert "computed by onnx.reference: 'c0' is of type DOUBLE" in caplog.text


@pytest.mark.parametrize("op, inputs, attrs", [
    ("RandomNormal", (), {"shape": [2]}), ("RandomUniformLike", (A,), {}), ("Dropout", (A,), {}),
    ("QuantizeLinear", (A, np.float32(1)), {}), ("DequantizeLinear", (np.array([1], np.int8), np.float32(1)), {})])
def test_what_stays(op, inputs, attrs):
    graph = graph_of(op, *inputs, **attrs)
    graph.fold_constants().cleanup()
    assert [node.op for node in graph.nodes] == [op]


def test_random_numbers_within():
    """What a branch or a function computes anew in each run is not folded either."""
    noise = gs.Graph(name="noise", opset=13)
    noise.outputs = noise.layer(op="RandomNormal", outputs=["r"], attrs={"shape": [2]})
    graph = graph_of("If", np.array(True), then_branch=noise, else_branch=noise.copy())
    graph.fold_constants(flatten_subgraphs=False).cleanup()
    assert [node.op for node in graph.nodes] == ["If"]
    function = gs.Function("Noise", inputs=[gs.Variable("x")], opset=13)
    function.outputs = function.layer(op="RandomNormalLike", inputs=[function.inputs[0]], outputs=["r"])
    graph = gs.Graph(functions=[function], opset=13, ir_version=10)
    graph.outputs = graph.Noise(inputs=[np.ones(2, np.float32)])
    graph.fold_constants().cleanup()
    assert [node.op for node in graph.nodes] == ["Noise"]


def test_several_outputs_and_optional_inputs():
    graph = graph_of("Split", A, np.array([1, 2]), outputs=2, axis=1)
    graph.fold_constants(error_ok=False).cleanup()
    np.testing.assert_array_equal(graph.outputs[0].values, A[:, :1])
    np.testing.assert_array_equal(graph.outputs[1].values, A[:, 1:])
    graph = graph_of("Clip", A, None, np.float32(1))
    graph.fold_constants(error_ok=False).cleanup()
    np.testing.assert_array_equal(graph.outputs[0].values, np.minimum(A, 1))


def test_failures_reach_what_partitioning_says(caplog):
    """Two of four nodes depend on one that nothing computes; a third is connected with it, and a fourth is not."""
    def make():
        c = gs.Constant("c", A)
        v = [gs.Variable(name, np.float32) for name in ("bad", "beside", "behind", "apart")]
        nodes = [gs.Node("Nothing", "n0", inputs=[c], outputs=[v[0]]), gs.Node("Neg", "n1", inputs=[c], outputs=[v[1]]),
                 gs.Node("Add", "n2", inputs=v[:2], outputs=[v[2]]), gs.Node("Neg", "n3", inputs=[c], outputs=[v[3]])]
        return gs.Graph(nodes, [], [v[1], v[2], v[3]], opset=13, ir_version=10)

    for partitioning, folded in ((None, []), ("basic", ["apart"]), ("recursive", ["beside", "apart"])):
        graph = make().fold_constants(partitioning=partitioning)
        assert [t.name for t in graph.outputs if isinstance(t, gs.Constant)] == folded, partitioning
    assert "'n0' (Nothing) is not folded" in caplog.text
    with pytest.raises(Exception, match="Nothing"):
        make().fold_constants(error_ok=False)
    with pytest.raises(gs.OnnxGraphSurgeonException, match="expected None, 'basic' or 'recursive'"):
        make().fold_constants(partitioning="all")


def test_large_results_are_not_computed():
    """Terabytes would be needed, were it not for the limit."""
    graph = graph_of("Expand", np.float32(1), np.array([1 << 20, 1 << 20]))
    graph.fold_constants(size_threshold=1 << 20).cleanup()
    assert [node.op for node in graph.nodes] == ["Expand"]


def test_shapes():
    x = gs.Variable("x", np.float32, ("N", 3, 4))
    graph = gs.Graph(inputs=[x], opset=15, ir_version=10)
    shape = graph.layer(op="Shape", inputs=[x], outputs=["shape"])[0]
    part = graph.layer(op="Shape", inputs=[x], outputs=["part"], attrs={"start": 1})[0]
    height = graph.layer(op="Gather", inputs=[shape, np.array(-1)], outputs=["height"])[0]
    batch = graph.layer(op="Gather", inputs=[shape, np.array(0)], outputs=["batch"])[0]
    product = graph.layer(op="Mul", inputs=[height, np.array(5)], outputs=["product"])[0]
    graph.outputs = [part, product, batch]
    for tensor, shape in zip(graph.outputs, [(2,), (), ()]):
        tensor.dtype, tensor.shape = np.int64, shape
    graph.fold_constants().cleanup()
    np.testing.assert_array_equal(graph.outputs[0].values, [3, 4])
    assert graph.outputs[1].values == 20 and isinstance(graph.outputs[2], gs.Variable)
    assert [node.op for node in graph.nodes] == ["Shape", "Gather"]
    onnx.checker.check_model(gs.export_onnx(graph), full_check=True)


@pytest.mark.parametrize("factor, goes", [(2.0, True), (0.5, False)])
def test_casts_around_integers(factor, goes):
    """x * 2 is the same in integers, and x * 0.5 is not."""
    x = gs.Variable("x", np.int64, (2,))
    graph = gs.Graph(inputs=[x], opset=13, ir_version=10)
    floats = graph.layer(op="Cast", inputs=[x], outputs=["f"], attrs={"to": TensorProto.FLOAT})[0]
    product = graph.layer(op="Mul", inputs=[floats, np.float32(factor)], outputs=["p"])[0]
    graph.outputs = graph.layer(op="Cast", inputs=[product], outputs=["y"], attrs={"to": TensorProto.INT64})
    graph.outputs[0].dtype = np.int64
    graph.fold_constants().cleanup()
    assert [node.op for node in graph.nodes] == (["Mul"] if goes else ["Cast", "Mul", "Cast"])
    result, = onnx.reference.ReferenceEvaluator(gs.export_onnx(graph)).run(None, {"x": np.array([3, 5])})
    np.testing.assert_array_equal(result, (np.array([3, 5]) * factor).astype(np.int64))


def test_branches_take_the_place_of_an_if():
    x = gs.Variable("x", np.float32, (3,))
    then = gs.Graph(name="then", opset=13)
    then.outputs = [then.layer(op="Neg", inputs=[x], outputs=["t"])[0], x]  # one of them is of the graph around
    otherwise = gs.Graph(name="else", opset=13)
    otherwise.outputs = [otherwise.layer(op="Abs", inputs=[x], outputs=["t"])[0], x]
    results = [gs.Variable(name, np.float32, (3,)) for name in "yz"]
    graph = gs.Graph([gs.Node("If", "if", {"then_branch": then, "else_branch": otherwise},
                              [gs.Constant("c", np.array(True))], results)], [x], results, opset=13, ir_version=10)
    graph.fold_constants().cleanup().toposort()
    assert sorted(node.op for node in graph.nodes) == ["Identity", "Neg"]
    model = gs.export_onnx(graph)
    onnx.checker.check_model(model, full_check=True)
    values = np.array([1, -2, 3], np.float32)
    y, z = onnx.reference.ReferenceEvaluator(model).run(None, {"x": values})
    np.testing.assert_array_equal(y, -values)
    np.testing.assert_array_equal(z, values)


def test_calls_of_functions_with_defaults():
    """(3 * 2 + 4) / 2, where the function's own default is 2."""
    x = gs.Variable("x", np.float32)
    scale = gs.Function("Scale", inputs=[x], attrs={"factor": 2.0, "bias": None}, opset=13)
    for name in ("factor", "bias"):
        tensor = scale.layer(op="Constant", outputs=[name], attrs={"value_float": gs.Node.AttributeRef(name, float)})[0]
        x = scale.layer(op="Mul" if name == "factor" else "Add", inputs=[x, tensor], outputs=["t"])[0]
    scale.outputs = scale.layer(op="Mul", inputs=[x, np.float32(0.5)], outputs=["halved"])
    graph = gs.Graph(functions=[scale], opset=13, ir_version=10)
    graph.outputs = graph.Scale(inputs=[np.array([3], np.float32)], attrs={"bias": 4.0})
    graph.fold_constants(error_ok=False)
    np.testing.assert_array_equal(graph.outputs[0].values, [5])
    assert len(scale.nodes) == 5  # what depends on attributes stays
