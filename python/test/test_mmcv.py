"""tenon.mmcv without PyTorch: models with onnx, plugins, engines. torch/test_mmcv.py has the rest."""
import ctypes
import subprocess
import sys

import numpy as np
import onnx
import protos
import pytest
from onnx import helper

import tenon
from tenon import mmcv
from tenon import tensorrt as trt

BOXES = np.float32([[[6, 3, 8, 7], [3, 6, 9, 11], [3, 7, 10, 12], [1, 4, 13, 7]]])
SCORES = np.float32([[[0.6, 0.9, 0.7, 0.2]]])


def nms(limits=("most", "iou", "score"), before=()):
    """A model of NonMaxSuppression; the nodes `before` may compute some of the limits."""
    node = helper.make_node("NonMaxSuppression", ["boxes", "scores", *limits], ["selected"], name="nms")
    constants = [("most", np.int64([3])), ("iou", np.float32([0.3])), ("score", np.float32([0.1])),
                 ("one", np.int64(1)), ("two", np.int64(2))]
    used = {*limits, *(name for other in before for name in other.input)}
    used -= {name for other in before for name in other.output}
    return protos.model([*before, node], [("boxes", protos.FLOAT, (1, 4, 4)),
                                          ("scores", protos.FLOAT, (1, 1, 4))],
                        [("selected", protos.INT64, ("n", 3))],
                        [c for c in constants if c[0] in used])


def test_limits_of_nms_become_attributes():
    given = nms()
    model = mmcv.preprocess_onnx(given)
    node, = model.graph.node
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    assert attributes == {"max_output_boxes_per_class": 3, "iou_threshold": pytest.approx(0.3),
                          "score_threshold": pytest.approx(0.1), "center_point_box": 0, "offset": 0}
    assert list(node.input) == ["boxes", "scores"]
    assert not model.graph.initializer
    assert given.graph.initializer and len(given.graph.node[0].input) == 5  # as it was


def test_limits_that_are_constants_or_left_out():
    model = nms(("most",))
    constant = helper.make_node("Constant", [], ["most"], value=model.graph.initializer[0])
    model.graph.node.insert(0, constant)
    del model.graph.initializer[:]
    model.graph.node[1].input[:] = ["boxes", "scores", "most"]
    node, = mmcv.preprocess_onnx(model).graph.node
    assert node.attribute[2].i == 3
    node.ClearField("attribute")
    model.graph.node[1].input[:] = ["boxes", "scores"]
    node, = mmcv.preprocess_onnx(model).graph.node
    assert len(node.attribute) == 5 and node.attribute[2].i == 1000000


def taken_from_shape(name, axis):
    """Nodes that make the limit `most` of an extent, as MMCV exports it without max_num."""
    return [helper.make_node("Shape", [name], ["shape"]), helper.make_node("Gather", ["shape", axis], ["most"])]


@pytest.mark.parametrize("counted, axis", [("boxes", "one"), ("scores", "two")])
def test_as_many_boxes_as_there_are_is_no_limit(counted, axis):
    model = nms(before=taken_from_shape(counted, axis))
    node, = mmcv.preprocess_onnx(model).graph.node
    assert node.attribute[2].name == "max_output_boxes_per_class" and node.attribute[2].i == 1000000
    found = tenon.Engine(mmcv.onnx2trt(model, {}))(BOXES, SCORES)
    np.testing.assert_array_equal(found, [[0, 0, 1], [0, 0, 0], [0, 0, 3], [-1] * 3])


def test_limits_that_are_computed():
    for computed in ([helper.make_node("Add", ["two", "two"], ["most"])], taken_from_shape("boxes", "two"),
                     taken_from_shape("scores", "one"), taken_from_shape("one", "one")):
        with pytest.raises(ValueError, match="NonMaxSuppression 'nms': input 'most' is no constant"):
            mmcv.preprocess_onnx(nms(before=computed))


def test_instance_normalization_is_renamed():
    node = helper.make_node("InstanceNormalization", ["x", "s", "b"], ["y"])
    model = protos.model([node], [("x", protos.FLOAT, (1, 2, 4, 4))],
                         [("y", protos.FLOAT, (1, 2, 4, 4))],
                         [("s", np.float32([1, 2])), ("b", np.float32([0, 1]))])
    renamed = mmcv.preprocess_onnx(model)
    assert renamed.graph.node[0].op_type == "MMCVInstanceNormalization"
    x = np.random.default_rng(0).random((1, 2, 4, 4), np.float32)
    centred = x - x.mean((2, 3), keepdims=True)
    expected = centred / np.sqrt((centred ** 2).mean((2, 3), keepdims=True) + 1e-5)
    expected = expected * np.float32([1, 2]).reshape(1, 2, 1, 1) + np.float32([0, 1]).reshape(1, 2, 1, 1)
    found = tenon.Engine(mmcv.onnx2trt(model, {}))(x)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("as_file", [False, True])
def test_nms_fills_up_with_minus_one(as_file, tmp_path):
    model = nms()
    if as_file:
        onnx.save(model, tmp_path / "a.onnx")
        model = str(tmp_path / "a.onnx")
    engine = tenon.Engine(mmcv.onnx2trt(model, {}))
    np.testing.assert_array_equal(engine(BOXES, SCORES), [[0, 0, 1], [0, 0, 0], [0, 0, 3]])
    high = np.float32([[[0.05, 0.9, 0.7, 0.05]]])
    np.testing.assert_array_equal(engine(BOXES, high), [[0, 0, 1], [-1] * 3, [-1] * 3])


def test_engines_are_saved_and_loaded(tmp_path):
    path = str(tmp_path / "a.trt")
    engine = mmcv.onnx2trt(protos.scale(), {}, log_level=trt.Logger.WARNING,
                           max_workspace_size=1 << 20, device_id=0)
    assert isinstance(engine, trt.ICudaEngine)
    mmcv.save_trt_engine(engine, path)
    loaded = mmcv.load_trt_engine(path)
    x = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(tenon.Engine(loaded)(x), x + x)
    with pytest.raises(FileNotFoundError, match="there is no plan"):
        mmcv.load_trt_engine("none.trt")


def test_a_model_that_cannot_be_read(tmp_path):
    (tmp_path / "a.onnx").write_bytes(b"rubbish")
    with pytest.raises(RuntimeError, match="Failed to parse onnx, cannot read '.*a.onnx'\n  .+"):
        mmcv.onnx2trt(str(tmp_path / "a.onnx"), {})


def test_plugins():
    assert mmcv.is_tensorrt_plugin_loaded()
    ctypes.CDLL(mmcv.get_tensorrt_op_path())
    names = {creator.name for creator in trt.get_plugin_registry().plugin_creator_list}
    assert {"MMCVRoiAlign", "ScatterND", "NonMaxSuppression", "MMCVDeformConv2d", "grid_sampler",
            "cummax", "cummin", "MMCVInstanceNormalization", "MMCVModulatedDeformConv2d",
            "MMCVCornerPool"} <= names


def test_names_that_need_torch(tmp_path):
    code = "from tenon import mmcv; mmcv.onnx2trt, mmcv.TRTWrapper"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert "No module named 'torch'" in done.stderr
    with pytest.raises(AttributeError, match="no attribute 'TRTRapper'"):
        mmcv.TRTRapper
