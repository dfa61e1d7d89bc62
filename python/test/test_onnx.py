"""tenon.onnx, against ONNX's own classes."""
import numpy as np
import onnx
import protos
import pytest
from onnx import helper, numpy_helper

import tenon.onnx


def model():
    nodes = [helper.make_node("Add", ["x", "w"], ["a"], "add"), helper.make_node("Relu", ["a"], ["r"], "relu"),
             helper.make_node("LeakyRelu", ["r"], ["y"], "leaky", alpha=0.5)]
    return protos.model(nodes, [("x", protos.FLOAT, (2, 3))], [("y", protos.FLOAT, (2, 3))], [("w", np.arange(3, dtype=np.float32))])


def test_a_file_comes_back(tmp_path):
    onnx.save(model(), tmp_path / "m.onnx")
    edited = tenon.onnx.load(tmp_path / "m.onnx")
    edited.save(str(tmp_path / "n.onnx"))
    assert (tmp_path / "n.onnx").read_bytes() == (tmp_path / "m.onnx").read_bytes()
    edited.save(str(tmp_path / "e.onnx"), external="beside", threshold=1)
    np.testing.assert_array_equal(numpy_helper.to_array(onnx.load(tmp_path / "e.onnx").graph.initializer[0]), [0, 1, 2])


def test_nodes():
    edited = tenon.onnx.parse(model().SerializeToString())
    assert [edited.node(n).op_type for n in edited.nodes()] == ["Add", "Relu", "LeakyRelu"]
    assert edited.inputs() == [("x", 1, [2, 3])]
    leaky = edited.find_node("leaky")
    node = edited.node(leaky)
    assert node.attributes == {"alpha": 0.5}
    node.attributes = {"alpha": 0.25, "many": [1, 2], "text": "abc", "array": np.eye(2, dtype=np.float16)}
    edited.replace_node(leaky, node)
    added = edited.insert_node(tenon.onnx.Node("Neg", ["a"], ["n"], name="neg"), before=edited.find_node("relu"))
    relu = edited.node(edited.find_node("relu"))
    relu.inputs = ["n"]
    edited.replace_node(edited.find_node("relu"), relu)
    result = onnx.load_from_string(edited.serialize())
    assert [n.op_type for n in result.graph.node] == ["Add", "Neg", "Relu", "LeakyRelu"]
    attributes = {a.name: helper.get_attribute_value(a) for a in result.graph.node[3].attribute}
    np.testing.assert_array_equal(numpy_helper.to_array(attributes.pop("array")), np.eye(2))
    assert attributes == {"alpha": 0.25, "many": [1, 2], "text": b"abc"}
    edited.remove_node(added, relink=True)
    assert not edited.is_there(added)
    assert edited.producer("a") == edited.find_node("add")
    edited.undo()
    assert edited.serialize() == model().SerializeToString()


def test_constants():
    edited = tenon.onnx.parse(model().SerializeToString())
    np.testing.assert_array_equal(edited.constant("w"), np.arange(3, dtype=np.float32))
    edited.set_constant("w", np.full(3, 2, np.float32))
    np.testing.assert_array_equal(numpy_helper.to_array(onnx.load_from_string(edited.serialize()).graph.initializer[0]), [2, 2, 2])
    assert edited.constant("nowhere") is None
    with pytest.raises(TypeError, match="complex"):
        edited.set_constant("w", np.zeros(3, np.complex64))


def test_edits_and_patches():
    edited = tenon.onnx.parse(model().SerializeToString())
    tenon.onnx.set_batch(edited, "N")
    assert edited.outputs() == [("y", 1, ["N", 3])]
    tenon.onnx.extract(edited, ["a"], ["r"])
    assert edited.inputs()[0][0] == "a"
    following = tenon.onnx.parse(model().SerializeToString())
    following.apply_patch(edited.patch_json())
    assert following.serialize() == edited.serialize()
    with pytest.raises(tenon.Error, match="no tensor 'nowhere'") as raised:
        tenon.onnx.extract(edited, [], ["nowhere"])
    assert raised.value.code == "TN8003"


def test_two_models():
    edited = tenon.onnx.parse(model().SerializeToString())
    tenon.onnx.append_model(edited, tenon.onnx.parse(model().SerializeToString()), [("y", "x")], prefix="next/")
    result = onnx.load_from_string(edited.serialize())
    onnx.checker.check_model(result, full_check=True)
    assert [n.name for n in result.graph.node] == ["add", "relu", "leaky", "next/add", "next/relu", "next/leaky"]
    assert [o.name for o in result.graph.output] == ["next/y"]
