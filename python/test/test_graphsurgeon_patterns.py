"""Patterns that tenon.graphsurgeon finds in graphs."""
import numpy as np
import pytest

import tenon.graphsurgeon as gs


def network():
    """Two times x -> Conv(x, w) -> Relu, the second with a reader between; then Add of both."""
    t = {name: gs.Variable(name, np.float32) for name in ("x", "a", "b", "c", "d", "e", "y")}
    w = gs.Constant("w", np.ones((1, 1, 1, 1), np.float32))
    rows = [("Conv", "conv1", [t["x"], w], "a"), ("Relu", "relu1", [t["a"]], "b"), ("Conv", "conv2", [t["b"], w], "c"),
            ("Relu", "relu2", [t["c"]], "d"), ("Neg", "beside", [t["c"]], "e"), ("Add", "add", [t["d"], t["e"]], "y")]
    nodes = [gs.Node(op, name, {"group": 1} if op == "Conv" else {}, inputs, [t[out]]) for op, name, inputs, out in rows]
    return gs.Graph(nodes, [t["x"]], [t["y"]])


def convolution(check=None, free=False):
    pattern = gs.GraphPattern()
    conv = pattern.add("conv", "Conv", check, inputs=[pattern.variable(), pattern.constant("weights")])
    relu = pattern.add("relu", "Relu", inputs=[conv])
    pattern.set_output_tensors([conv, relu] if free else [relu])
    return pattern


def found(pattern):
    return [[node.name for node in match.values()] for match in pattern.match_all(network())]


def test_what_others_read_must_be_an_output():
    assert found(convolution()) == [["conv1", "relu1"]]
    assert found(convolution(free=True)) == [["conv1", "relu1"], ["conv2", "relu2"]]
    match, = convolution().match_all(network())
    assert match.inputs[0].name == "x" and match.outputs[0].name == "b" and match.constants["weights"].name == "w"


def test_predicates():
    assert found(convolution(lambda node: node.attrs["group"] == 2)) == []
    assert found(convolution(lambda node: node.name == "conv2", free=True)) == [["conv2", "relu2"]]


def test_one_variable_is_one_tensor():
    """add reads relu2 and beside, which both read conv2's result."""
    def diamond(same):
        pattern = gs.GraphPattern()
        x = pattern.variable()
        left = pattern.add("left", "Relu", inputs=[x])
        right = pattern.add("right", "Neg", inputs=[x if same else pattern.variable()])
        pattern.set_output_tensors([pattern.add("add", "Add", inputs=[left, right])])
        return pattern

    assert found(diamond(True)) == found(diamond(False)) == [["relu2", "beside", "add"]]
    graph = network()
    graph.nodes[4].inputs[0] = graph.inputs[0]
    assert diamond(True).match_all(graph) == [] and len(diamond(False).match_all(graph)) == 1


def test_readers_are_told_apart():
    """Both readers of conv2's result are tried at each place."""
    pattern = gs.GraphPattern()
    conv = pattern.add("conv", "Conv")
    outputs = [pattern.add("negation", "Neg", inputs=[conv]), pattern.add("relu", "Relu", inputs=[conv])]
    pattern.set_output_tensors(outputs)
    assert found(pattern) == [["conv2", "beside", "relu2"]]


def test_patterns_within():
    pattern = gs.GraphPattern()
    block = convolution(free=True)
    first = pattern.add("first", block, inputs=[pattern.variable()], num_output_tensors=2)
    second = pattern.add("second", block, inputs=[first[1]], num_output_tensors=2)
    pattern.set_output_tensors(second)
    match, = pattern.match_all(network())
    assert match.get("first").get("relu").name == "relu1" and match.get("second").get("conv").name == "conv2"
    assert str(match) == "{first: {conv: conv1, relu: relu1}, second: {conv: conv2, relu: relu2}}"
    assert match.get("second").constants["weights"].name == "w"


def test_mistakes():
    pattern = gs.GraphPattern()
    with pytest.raises(gs.OnnxGraphSurgeonException, match="has no nodes"):
        pattern.match_all(network())
    pattern.add("conv", "Conv")
    with pytest.raises(gs.OnnxGraphSurgeonException, match="a node 'conv' already"):
        pattern.add("conv", "Relu")
    with pytest.raises(gs.OnnxGraphSurgeonException, match="has 1 inputs, and 2 are given"):
        pattern.add("block", convolution(), inputs=[pattern.variable(), pattern.variable()])
