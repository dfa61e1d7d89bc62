"""Graphs of tenon.graphsurgeon: links, order, cleaning, names, copies. Expected models are those of onnx's helpers."""
import numpy as np
import onnx
import onnx.checker
import onnx.helper as oh
import onnx.numpy_helper
import pytest
from onnx import TensorProto
from onnx.backend.test.loader import load_model_tests
from onnx.reference import ReferenceEvaluator

import tenon.graphsurgeon as gs
from tenon.graphsurgeon.exporter import OnnxExporter
from tenon.graphsurgeon.importer import OnnxImporter



def value_info(name, shape=(2,), dtype=TensorProto.FLOAT):
    return oh.make_tensor_value_info(name, dtype, shape)


def chain(*names):
    """x -> Relu -> names[0] -> Relu -> … ; the graph and its tensors."""
    tensors = [gs.Variable(name, np.float32, (2,)) for name in ("x", *names)]
    nodes = [gs.Node("Relu", f"make_{b.name}", inputs=[a], outputs=[b]) for a, b in zip(tensors, tensors[1:])]
    return gs.Graph(nodes, [tensors[0]], [tensors[-1]], opset=13, ir_version=10), tensors


def names(nodes):
    return [node.name for node in nodes]


def normalize(graph):
    """Initializers come by their first use; value_info of what no node computes is nowhere."""
    del graph.value_info[:]
    weights = sorted(graph.initializer, key=lambda weight: weight.name)
    del graph.initializer[:]
    graph.initializer.extend(weights)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                normalize(attribute.g)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # as the cases are made
def test_models_come_back_as_they_were():
    differing, cases = [], [case for case in load_model_tests(kind="node") if case.model is not None]
    for case in cases:
        model = case.model
        exported = gs.export_onnx(gs.import_onnx(model))
        for one in (model, exported):
            normalize(one.graph)
        same = (exported.graph == model.graph and exported.functions == model.functions
                and {(e.domain, e.version) for e in model.opset_import} <= {(e.domain, e.version) for e in exported.opset_import})
        if not same:
            differing.append(case.name)
    assert len(cases) > 1000 and not differing, differing


def test_what_exporters_wrote_is_kept():
    node = oh.make_node("Relu", ["x"], ["y"], name="relu", doc_string="model.py(7): forward")
    oh.set_model_props(node, {"pkg.torch.onnx.stack_trace": "model.py, line 7"})
    graph = oh.make_graph([node], "g", [value_info("x")], [value_info("y")], doc_string="made by hand")
    model = oh.make_model(graph, producer_name="p", producer_version="2", ir_version=10,
                          opset_imports=[oh.make_opsetid("", 13), oh.make_opsetid("org.test", 3)])
    oh.set_model_props(model, {"stride": "32", "names": "{0: 'person'}"})
    oh.set_model_props(model.graph, {"pkg.torch.export.graph_signature": "x -> y"})
    for proto in (*model.graph.input, *model.graph.output):
        proto.doc_string = f"what {proto.name} is"
        oh.set_model_props(proto, {"unit": "m"})
    assert gs.export_onnx(gs.import_onnx(model)) == model
    assert gs.export_onnx(gs.import_onnx(model).copy()) == model


def test_both_sides_follow():
    graph, (x, a, y) = chain("a", "y")
    first, second = graph.nodes
    assert a.inputs == [first] and a.outputs == [second] and second.i() is first and first.o() is second
    second.inputs[0] = x
    assert a.outputs == [] and [node.name for node in x.outputs] == ["make_a", "make_y"]
    del x.outputs[1]
    assert second.inputs == []
    second.inputs = [a, a]  # once for each time that it is read
    assert len(a.outputs) == 2
    second.inputs.pop()
    assert len(a.outputs) == 1
    second.inputs += [x]
    second.inputs[:] = [x, a]
    assert [tensor.name for tensor in second.inputs] == ["x", "a"] and len(x.outputs) == 2
    plain = second.inputs + []
    plain.clear()
    assert len(second.inputs) == 2
    assert a.to_constant(np.ones(2, np.float32)) is second.inputs[1] and isinstance(second.inputs[1], gs.Constant)


def test_order():
    graph, _ = chain("a", "b", "y")
    graph.nodes.reverse()
    assert names(graph.toposort().nodes) == ["make_a", "make_b", "make_y"]
    other = gs.Node("Relu", "other", inputs=[graph.inputs[0]], outputs=[gs.Variable("o")])
    graph.nodes.insert(1, other)  # it may stay where it is
    assert names(graph.toposort().nodes) == ["make_a", "other", "make_b", "make_y"]
    graph.nodes[0].inputs.append(graph.outputs[0])
    with pytest.raises(gs.OnnxGraphSurgeonException) as error:
        graph.toposort()
    assert all(f"'make_{name}' (Relu)" in str(error.value) for name in "aby") and "other" not in str(error.value)
    with pytest.raises(gs.OnnxGraphSurgeonException, match="expected 'full'"):
        graph.toposort(mode="all")


def test_cleaning_keeps_positions():
    graph, (x, a, y) = chain("a", "y")
    split = gs.Node("Split", "split", {"axis": 0}, [a], [gs.Variable(name, np.float32) for name in ("p", "q", "r", "s")])
    total = gs.Node("Add", "total", inputs=[split.outputs[0], split.outputs[2]], outputs=[gs.Variable("sum", np.float32)])
    graph.nodes += [split, total]
    graph.outputs = [total.outputs[0]]
    graph.inputs.append(gs.Variable("unused", np.float32, (1,)))
    graph.cleanup(remove_unused_node_outputs=True)
    assert names(graph.nodes) == ["make_a", "split", "total"] and y.inputs == [] and a.outputs == [split]
    assert [tensor.name for tensor in split.outputs] == ["p", "", "r"]
    assert len(graph.inputs) == 2
    assert [tensor.name for tensor in graph.cleanup(remove_unused_graph_inputs=True).inputs] == ["x"]


def test_what_a_model_says_of_itself_is_kept():
    graph = oh.make_graph([oh.make_node("Relu", ["x"], ["a"]), oh.make_node("Neg", ["a"], ["y"])], "g", [value_info("x")],
                          [value_info("y")], [onnx.numpy_helper.from_array(np.array(0.5, np.float32), "a_scale")])
    annotation = graph.quantization_annotation.add(tensor_name="a")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="a_scale")
    model = oh.make_model(graph, ir_version=10, opset_imports=[oh.make_opsetid("", 13)], doc_string="text",
                          domain="org.example", model_version=7)
    imported = gs.import_onnx(model)
    for made in (imported, imported.copy()):
        again = gs.export_onnx(made)
        assert (again.doc_string, again.domain, again.model_version) == ("text", "org.example", 7)
        assert list(again.graph.quantization_annotation) == [annotation]
        assert again.graph.initializer[0] == model.graph.initializer[0]
    imported.tensors()["a"].name = "renamed"
    assert gs.export_onnx(imported).graph.quantization_annotation[0].tensor_name == "renamed"
    imported.outputs = [imported.tensors()["renamed"]]
    imported.nodes[0].outputs = [gs.Variable("other", np.float32, (2,))]
    imported.outputs = imported.nodes[0].outputs
    assert not gs.export_onnx(imported.cleanup()).graph.quantization_annotation
    assert gs.export_onnx(imported, model_version=8).model_version == 8


def loop():
    """A Loop whose body has an input that it does not read, and reads `outer` of the graph around."""
    count, keep, outer = (gs.Variable(name, dtype, ()) for name, dtype in
                          (("count", np.int64), ("keep", bool), ("outer", np.float32)))
    state, more = gs.Variable("state", np.float32, ()), gs.Variable("more", bool, ())
    body = gs.Graph([gs.Node("Add", "grow", inputs=[state, outer], outputs=[gs.Variable("grown", np.float32, ())]),
                     gs.Node("Identity", "same", inputs=[keep], outputs=[more])],
                    [gs.Variable("i", np.int64, ()), keep, state], name="body")
    body.outputs = [more, body.nodes[0].outputs[0]]
    x, y = gs.Variable("x", np.float32, ()), gs.Variable("y", np.float32, ())
    condition = gs.Constant("condition", np.array(True))
    start = gs.Constant("start", np.array(0, np.float32))
    nodes = [gs.Node("Neg", "negate", inputs=[x], outputs=[outer]),
             gs.Node("Loop", "loop", {"body": body}, [count, condition, start], [y])]
    return gs.Graph(nodes, [count, x], [y], opset=13, ir_version=10)


def test_graphs_in_attributes():
    graph = loop()
    graph.nodes.reverse()
    graph.toposort().cleanup(remove_unused_graph_inputs=True)  # the body's inputs have positions
    assert names(graph.nodes) == ["negate", "loop"] and [g.name for g in graph.subgraphs()] == ["body"]
    for made in (graph, graph.copy(), gs.import_onnx(gs.export_onnx(graph))):
        model = gs.export_onnx(made)
        onnx.checker.check_model(model, full_check=True)
        result, = ReferenceEvaluator(model).run(None, {"count": np.array(3), "x": np.array(2, np.float32)})
        assert result == -6
    copy = graph.copy()
    copy.nodes[1].attrs["body"].nodes[0].inputs[1].name = "renamed"
    assert copy.nodes[0].outputs[0].name == "renamed" and graph.nodes[0].outputs[0].name == "outer"


def test_layers_have_new_names():
    @gs.Graph.register()
    def plus(self, a, b):
        return self.layer(op="Add", inputs=[a, b], outputs=["sum"])[0]

    @gs.Graph.register(opsets=[1])
    def newer(self, a):
        return a

    graph = gs.Graph(inputs=[gs.Variable("x", np.float32, (2,))], opset=13, ir_version=10)
    first = graph.plus(graph.inputs[0], np.ones(2, np.float32))
    taken = gs.Node("Relu", "sum_4", inputs=[first], outputs=[gs.Variable("sum_5", np.float32)])
    graph.nodes.append(taken)
    second = graph.plus(taken.outputs[0], [1.0, 2])
    assert second.inputs[0].inputs[1].dtype == np.float32 and second.name not in ("sum_4", "sum_5")
    second.dtype, second.shape = np.float32, (2,)
    graph.outputs = [second]
    model = gs.export_onnx(graph)
    onnx.checker.check_model(model, full_check=True)
    result, = ReferenceEvaluator(model).run(None, {"x": np.array([1, -2], np.float32)})
    np.testing.assert_array_equal(result, np.maximum(np.array([1, -2]) + 1, 0) + [1, 2])
    with pytest.raises(AttributeError, match=r"registered for opset \[1\], and this graph has 13"):
        graph.newer(second)
    with pytest.raises(gs.OnnxGraphSurgeonException, match="neither a tensor"):
        graph.layer(op="Add", inputs=[{}])


def test_functions():
    x = gs.Variable("x", np.float32)
    scale = gs.Function("Scale", domain="org.test", inputs=[x], attrs={"factor": 2.0, "bias": None}, opset=13)
    factor = scale.layer(op="Constant", outputs=["factor"], attrs={"value_float": gs.Node.AttributeRef("factor", float)})[0]
    bias = scale.layer(op="Constant", outputs=["bias"], attrs={"value_float": gs.Node.AttributeRef("bias", float)})[0]
    half = gs.Constant("half", np.array(0.5, np.float32))
    product = scale.layer(op="Mul", inputs=[x, factor], outputs=["product"])[0]
    shifted = scale.layer(op="Add", inputs=[product, bias], outputs=["shifted"])[0]
    scale.outputs = scale.layer(op="Mul", inputs=[shifted, half], outputs=["halved"])
    graph = gs.Graph(inputs=[gs.Variable("input", np.float32, (2,))], functions=[scale], opset=13, ir_version=10)
    graph.outputs = graph.Scale(inputs=[graph.inputs[0]], attrs={"bias": 4.0, "factor": 2.0})
    graph.outputs[0].dtype, graph.outputs[0].shape = np.float32, (2,)
    model = gs.export_onnx(graph)
    onnx.checker.check_model(model, full_check=True)
    again = gs.import_onnx(model)
    assert again.functions[0].attrs == {"factor": 2.0, "bias": None}
    for made in (model, gs.export_onnx(again), gs.export_onnx(graph.copy())):
        result, = ReferenceEvaluator(made).run(None, {"input": np.array([1, 3], np.float32)})
        np.testing.assert_array_equal(result, [3, 5])


@pytest.mark.parametrize("dtype, values", [
    ("float32", [1.5, -2]), ("float16", [1.5, -2]), ("float64", [1.5, -2]), ("int64", [1, -2]), ("bool", [True, False]),
    ("bfloat16", [1.5, -2]), ("float8_e4m3fn", [1.5, -2]), ("int4", [3, -2, 7]), ("uint4", [3, 15, 7]),
    ("float4_e2m1fn", [0.5, 6, 1])])
def test_types(dtype, values):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.array(values).astype(getattr(ml_dtypes, dtype, dtype))
    proto = OnnxExporter.export_tensor_proto(gs.Constant("c", array))
    expected = onnx.numpy_helper.from_array(array, "c")
    assert proto.data_type == expected.data_type and proto.raw_data == expected.raw_data
    tensor = OnnxImporter.import_tensor(proto)
    assert tensor.values.dtype == array.dtype and np.array_equal(tensor.values, array)
    variable = gs.Variable("v", array.dtype, (1,))
    declared = OnnxExporter.export_value_info_proto(variable, True)
    assert declared == oh.make_tensor_value_info("v", expected.data_type, (1,))


def test_weights_in_files(tmp_path):
    weights = onnx.numpy_helper.from_array(np.arange(4, dtype=np.float32), "w")
    graph = oh.make_graph([oh.make_node("Add", ["x", "w"], ["y"])], "g", [value_info("x", (4,))], [value_info("y", (4,))],
                          [weights])
    path = tmp_path / "model.onnx"
    model = oh.make_model(graph, ir_version=10, opset_imports=[oh.make_opsetid("", 13)])
    onnx.save(model, path, save_as_external_data=True, size_threshold=0)
    read = gs.import_onnx(onnx.load(path))
    np.testing.assert_array_equal(read.tensors()["w"].values, [0, 1, 2, 3])
    unread = gs.import_onnx(onnx.load(path, load_external_data=False))
    with pytest.raises(gs.OnnxGraphSurgeonException, match="lie in a file beside the model"):
        unread.tensors()["w"].values
    unread = gs.import_onnx(onnx.load(path, load_external_data=False))
    assert gs.export_onnx(unread).graph.initializer[0].external_data  # passes through, unread


def test_initializers_of_old_files():
    """Up to version 3 of the format initializers are inputs, too."""
    weights = onnx.numpy_helper.from_array(np.arange(2, dtype=np.float32), "w")
    graph = oh.make_graph([oh.make_node("Add", ["x", "w"], ["y"])], "g", [value_info("x"), value_info("w")], [value_info("y")],
                          [weights])
    model = oh.make_model(graph, ir_version=3, opset_imports=[oh.make_opsetid("", 8)])
    onnx.checker.check_model(model)
    exported = gs.export_onnx(gs.import_onnx(model))
    onnx.checker.check_model(exported, full_check=True)
    assert [proto.name for proto in exported.graph.input] == ["x"]


def test_mistakes():
    with pytest.raises(TypeError, match="expected an onnx.ModelProto"):
        gs.import_onnx(onnx.GraphProto())
    with pytest.raises(gs.OnnxGraphSurgeonException, match="values of constant 'c' are list"):
        gs.Constant("c", [1])
    graph, (x, a, y) = chain("a", "y")
    y.dtype = None
    with pytest.raises(gs.OnnxGraphSurgeonException, match="type of 'y' is not known"):
        gs.export_onnx(graph)
    gs.export_onnx(graph, do_type_check=False)
    y.dtype = np.float32
    graph.nodes[0].attrs["odd"] = object()
    with pytest.raises(gs.OnnxGraphSurgeonException, match="attribute 'odd' of a node 'Relu'"):
        gs.export_onnx(graph)
    del graph.nodes[0].attrs["odd"]
    for value in (1, 2):  # one of them would be lost
        node = gs.Node("Add", inputs=[a, gs.Constant("same", np.full(2, value, np.float32))], outputs=[gs.Variable(f"o{value}")])
        graph.nodes.append(node)
    with pytest.raises(gs.OnnxGraphSurgeonException, match="another tensor named 'same'"):
        gs.export_onnx(graph)
    with pytest.raises(gs.OnnxGraphSurgeonException, match="two tensors named 'same'"):
        graph.tensors(check_duplicates=True)
