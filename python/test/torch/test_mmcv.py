"""The cases of MMCV's own tests of its operators and wrappers, through tenon.mmcv."""
import numpy as np
import pytest
import torch
from operators import RTOL, check, deform_conv, kept_boxes, min_opt_max, roi_align
from torch.nn import functional

from tenon import mmcv


def run(file, inputs, dynamic):
    engine = mmcv.onnx2trt(file, {n: min_opt_max(x, dynamic) for n, x in inputs.items()})
    plan = file.replace(".onnx", ".trt")
    mmcv.save_trt_engine(engine, plan)
    return mmcv.TRTWrapper(plan)(inputs)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.mark.parametrize("x, roi", [
    ([[[[1., 2.], [3., 4.]]]], [0., 0., 0., 1., 1.]),
    ([[[[1., 2.], [3., 4.]], [[4., 3.], [2., 1.]]]], [0., 0., 0., 1., 1.]),
    ([[[[1., 2., 5., 6.], [3., 4., 7., 8.], [9., 10., 13., 14.], [11., 12., 15., 16.]]]],
     [0., 0., 0., 3., 3.])])
def test_roi_align(tmp_path, x, roi):
    attributes = dict(output_height_i=2, output_width_i=2, spatial_scale_f=1.0, sampling_ratio_i=2,
                      mode_s="avg", aligned_i=1)
    check(run, tmp_path, "mmcv::MMCVRoiAlign", attributes, [torch.tensor(x), torch.tensor([roi])],
          lambda x, rois: roi_align(x, rois, (2, 2), 1.0, 2))


def test_scatter(tmp_path):
    class AddsOne(torch.nn.Module):
        def forward(self, data):
            data[:, :2, 1:3] += 1
            return data

    data = torch.zeros(4, 4, 4)
    file = str(tmp_path / "model.onnx")
    torch.onnx.export(AddsOne(), (data.clone(),), file, input_names=["x"], output_names=["y"],
                      opset_version=11)
    found = run(file, {"x": data}, False)["y"]
    assert torch.equal(found, AddsOne()(data.clone()))


def test_nms(tmp_path):
    def run_bytes(file, inputs, dynamic):  # preprocess_onnx(), which a file goes through, needs onnx
        with open(file, "rb") as model:
            engine = mmcv.onnx2trt(model.read(), {n: min_opt_max(x, False) for n, x in inputs.items()})
        return mmcv.TRTWrapper(engine)(inputs)

    boxes = torch.tensor([[6.0, 3.0, 8.0, 7.0], [3.0, 6.0, 9.0, 11.0], [3.0, 7.0, 10.0, 12.0],
                          [1.0, 4.0, 13.0, 7.0]])
    scores = torch.tensor([0.6, 0.9, 0.7, 0.2])

    def reference(boxes, scores):
        rows = [[0, 0, i] for i in kept_boxes(boxes[0], scores[0, 0], 0.3, 0.0)]
        return torch.tensor(rows + [[-1] * 3] * (4 - len(rows)), dtype=torch.int32)

    check(run_bytes, tmp_path, "mmcv::NonMaxSuppression",
          dict(center_point_box_i=0, max_output_boxes_per_class_i=4, iou_threshold_f=0.3,
               score_threshold_f=0.0, offset_i=0),
          [boxes[None], scores[None, None]], reference)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("channels, out, kernel, stride, padding, shape", [
    (1, 1, 2, 1, 0, (1, 1, 3, 3)), (3, 6, 3, 1, 1, (2, 3, 7, 5)), (2, 4, 3, 2, 2, (1, 2, 9, 9))])
def test_deform_convs(tmp_path, channels, out, kernel, stride, padding, shape, bias):
    extents = [(e + 2 * padding - kernel) // stride + 1 for e in shape[2:]]
    x, weight = torch.rand(shape), torch.rand(out, channels, kernel, kernel) - 0.5
    offset = torch.randn(shape[0], 2 * kernel * kernel, *extents)
    mask = torch.rand(shape[0], kernel * kernel, *extents)
    attributes = dict(stride_i=[stride] * 2, padding_i=[padding] * 2, dilation_i=[1, 1],
                      groups_i=1, deform_groups_i=1)
    options = dict(stride=stride, padding=padding)
    if not bias:
        check(run, tmp_path, "mmcv::MMCVDeformConv2d", attributes, [x, offset, weight],
              lambda x, o, w: deform_conv(x, o, w, **options))
    inputs = [x, offset, mask, weight] + ([torch.rand(out)] if bias else [])
    check(run, tmp_path, "mmcv::MMCVModulatedDeformConv2d", attributes, inputs,
          lambda x, o, m, w, b=None: deform_conv(x, o, w, m, b, **options))


@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("padding", [0, 1, 2])
@pytest.mark.parametrize("align", [0, 1])
def test_grid_sample(tmp_path, mode, padding, align):
    names = ("bilinear", "nearest"), ("zeros", "border", "reflection")
    check(run, tmp_path, "mmcv::grid_sampler",
          dict(interpolation_mode_i=mode, padding_mode_i=padding, align_corners_i=align),
          [torch.rand(1, 1, 10, 10), torch.rand(1, 4, 5, 2) * 2 - 1],
          lambda x, grid: functional.grid_sample(x, grid, names[0][mode], names[1][padding],
                                                 bool(align)), dynamic=padding == 1)


@pytest.mark.parametrize("kind", ["cummax", "cummin"])
@pytest.mark.parametrize("shape", [(2, 3, 4, 1, 5), (1,), (6,)])
def test_cummax_and_cummin(tmp_path, kind, shape):
    x = torch.randperm(int(np.prod(shape))).reshape(shape).float()  # no ties
    for dim in range(-len(shape), len(shape)):
        check(run, tmp_path, f"mmcv::{kind}", dict(dim_i=dim), [x],
              lambda x: tuple(getattr(torch, kind)(x, dim)))


def test_instance_norm(tmp_path):
    check(run, tmp_path, "mmcv::MMCVInstanceNormalization", dict(epsilon_f=1e-5),
          [torch.rand(2, 3, 8, 8), torch.rand(3), torch.rand(3)],
          lambda x, s, b: functional.instance_norm(x, weight=s, bias=b, eps=1e-5))


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
@pytest.mark.parametrize("shape", [(2, 10, 18, 8), (1, 3, 9, 32), (1, 1, 1, 5)])
def test_corner_pool(tmp_path, mode, shape):
    # Top, bottom, left, right: where the best is looked for, from the far side.
    axis, reverse = ((2, True), (2, False), (3, True), (3, False))[mode]

    def reference(x):
        turned = x.flip(axis) if reverse else x
        best = turned.cummax(axis).values
        return best.flip(axis) if reverse else best

    check(run, tmp_path, "mmcv::MMCVCornerPool", dict(mode_i=mode), [torch.rand(shape)], reference)


@pytest.fixture
def convolution(tmp_path):
    module = torch.nn.Conv2d(3, 4, 3).eval()
    x = torch.rand(1, 3, 8, 8)
    file = str(tmp_path / "convolution.onnx")
    torch.onnx.export(module, (x,), file, input_names=["x"], output_names=["y"],
                      dynamic_axes={"x": {2: "h", 3: "w"}})
    engine = mmcv.onnx2trt(file, {"x": [[1, 3, 4, 4], [1, 3, 8, 8], [1, 3, 16, 16]]})
    with torch.no_grad():
        return engine, x, module(x)


def test_wrapper(convolution, tmp_path):
    engine, x, expected = convolution
    path = str(tmp_path / "a.trt")
    mmcv.save_trt_engine(engine, path)
    for source in (engine, path, mmcv.load_trt_engine(path)):
        wrapper = mmcv.TRTWrapper(source, ["x"], ["y"])
        torch.testing.assert_close(wrapper({"x": x})["y"], expected, rtol=RTOL, atol=1e-5)
    assert mmcv.TRTWraper is mmcv.TRTWrapper


def test_wrapper_in_a_state_dict(convolution):
    engine, x, expected = convolution
    model = torch.nn.Sequential(mmcv.TRTWrapper(engine))
    state = model.state_dict()
    assert state["0.input_names"] == ["x"] and state["0.output_names"] == ["y"]

    other = torch.nn.Sequential(mmcv.TRTWrapper(engine))
    other[0]._engine = None  # what it holds comes from the state alone
    other.load_state_dict(state)
    torch.testing.assert_close(other({"x": x})["y"], expected, rtol=RTOL, atol=1e-5)


def test_wrapper_of_wrong_names_and_things(convolution):
    engine, x, _ = convolution
    with pytest.raises(ValueError, match="no output 'z'; there are"):
        mmcv.TRTWrapper(engine, output_names=["z"])
    with pytest.raises(TypeError, match="path of a plan or an ICudaEngine, found int"):
        mmcv.TRTWrapper(3)
    with pytest.raises(TypeError, match="expected {input: tensor}, found Tensor"):
        mmcv.TRTWrapper(engine)(x)
    with pytest.raises(TypeError, match="input 'x': expected a tensor, found ndarray"):
        mmcv.TRTWrapper(engine)({"x": x.numpy()})
    with pytest.raises(ValueError, match=r"'x' expects shape from \(1, 3, 4, 4\)"):
        mmcv.TRTWrapper(engine)({"x": torch.rand(1, 3, 3, 3)})


def test_long_inputs_become_int(tmp_path):
    class Sum(torch.nn.Module):
        def forward(self, x):
            return x + x
    file = str(tmp_path / "sum.onnx")
    torch.onnx.export(Sum(), (torch.arange(3, dtype=torch.int32),), file, input_names=["x"],
                      output_names=["y"])
    wrapper = mmcv.TRTWrapper(mmcv.onnx2trt(file, {}))
    assert wrapper({"x": torch.tensor([1, 2, 3])})["y"].tolist() == [2, 4, 6]
