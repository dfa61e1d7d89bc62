"""The cases of MMCV 1.7's own tests of its TensorRT operators, with their tolerances, through tenon.mmcv.

Each test has the name of theirs. Inputs that they load from a file are random here.
"""
import functools

import operators
import pytest
import torch
from operators import deform_conv, kept_boxes, min_opt_max, operator, overlaps, roi_align
from torch.nn import functional

from tenon import mmcv


def run(file, inputs, dynamic, fp16=False):
    with open(file, "rb") as model:  # preprocess_onnx(), which a file goes through, may need onnx
        engine = mmcv.onnx2trt(model.read(), {n: min_opt_max(x, dynamic) for n, x in inputs.items()},
                               fp16_mode=fp16, max_workspace_size=1 << 30)
    plan = file.replace(".onnx", ".engine")
    mmcv.save_trt_engine(engine, plan)
    return mmcv.TRTWrapper(plan, list(inputs))(inputs)


# As torch.allclose compares.
check = functools.partial(operators.check, run, rtol=1e-5, atol=1e-8)
compare = functools.partial(operators.compare, run, rtol=1e-5, atol=1e-8)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("x, roi", [
    ([[[[1., 2.], [3., 4.]]]], [0., 0., 0., 1., 1.]),
    ([[[[1., 2.], [3., 4.]], [[4., 3.], [2., 1.]]]], [0., 0., 0., 1., 1.]),
    ([[[[1., 2., 5., 6.], [3., 4., 7., 8.], [9., 10., 13., 14.], [11., 12., 15., 16.]]]],
     [0., 0., 0., 3., 3.])])
def test_roialign(tmp_path, x, roi, mode):
    pool = {"avg": functional.avg_pool2d, "max": functional.max_pool2d}[mode]
    attributes = dict(output_height_i=2, output_width_i=2, spatial_scale_f=1.0, sampling_ratio_i=2,
                      mode_s=mode, aligned_i=1)
    check(tmp_path, "mmcv::MMCVRoiAlign", attributes, [torch.tensor(x), torch.tensor([roi])],
          lambda x, rois: roi_align(x, rois, (2, 2), 1.0, 2, pool=pool))


def proposals():
    """Boxes (949, 4), scores and the numbers of 5 levels, as a detector of a large picture has them."""
    objects = torch.rand(60, 4) * torch.tensor([900., 600, 250, 250])
    boxes = objects[torch.randint(60, (949,))]
    boxes = boxes + torch.randn(949, 4) * boxes[:, 2:].repeat(1, 2) / 15
    corners = torch.cat([boxes[:, :2], boxes[:, :2] + boxes[:, 2:].abs() + 4], 1).clamp(0, 1199)
    return corners, torch.rand(949), torch.arange(949) // 200


def nms(most):
    """MMCV's nms() with max_num: a function of boxes and scores that gives boxes with scores, and indices."""
    def reference(boxes, scores):
        rows = [[0, 0, i] for i in kept_boxes(overlaps(boxes[0]), scores[0, 0], 0.7, 0.1)][:most]
        assert 50 < len(rows) <= most
        return torch.tensor(rows + [[-1] * 3] * (most - len(rows)))

    suppress = operator("mmcv::NonMaxSuppression",
                        dict(center_point_box_i=0, max_output_boxes_per_class_i=most, iou_threshold_f=0.7,
                             score_threshold_f=0.1, offset_i=0), reference)

    def apply(boxes, scores):
        index = suppress(boxes[None], scores[None, None])[:, 2]
        return torch.cat([boxes[index], scores[index][:, None]], 1), index
    return apply


def test_nms(tmp_path):
    boxes, scores, _ = proposals()
    compare(tmp_path, nms(100), [boxes, scores])


def test_batched_nms(tmp_path):
    suppress = nms(949)

    def batched_nms(boxes, scores, levels):  # boxes of different levels are far from each other
        dets, index = suppress(boxes + (levels.to(boxes) * (boxes.max() + 1))[:, None], scores)
        return torch.cat([boxes[index], dets[:, 4:]], 1), index
    compare(tmp_path, batched_nms, [*proposals()])


def test_scatternd(tmp_path):
    def change(data):
        data[:, :-2] += 1
        data[:2, :] -= 1
        return data
    compare(tmp_path, change, [torch.zeros(4, 4)])


PICTURE = torch.tensor([[[[1., 2., 3.], [0., 1., 2.], [3., 5., 2.]]]])


class Deformed(torch.nn.Module):
    """A deformable convolution of 2 x 2 elements, whose offsets (and mask) another convolution finds."""

    def __init__(self, channels, padding, weight, bias=None):
        super().__init__()
        masked = channels == 12
        self.find = torch.nn.Conv2d(1, channels, 2, padding=padding)
        self.constants = torch.nn.ParameterList([weight] if bias is None else [weight, bias])

        def reference(x, offset, *rest):
            mask, (weight, *bias) = (rest[0], rest[1:]) if masked else (None, rest)
            return deform_conv(x, offset, weight, mask, *bias, padding=padding)
        self.convolve = operator("mmcv::MMCVModulatedDeformConv2d" if masked else "mmcv::MMCVDeformConv2d",
                                 dict(stride_i=[1, 1], padding_i=[padding] * 2, dilation_i=[1, 1], groups_i=1,
                                      deform_groups_i=1), reference)

    def forward(self, x):
        found = [self.find(x)]
        if found[0].shape[1] == 12:
            first, second, mask = found[0].chunk(3, 1)
            found = [torch.cat([first, second], 1), mask.sigmoid()]
        return self.convolve(x, *found, *self.constants)


def test_deform_conv(tmp_path):
    model = Deformed(8, 0, torch.tensor([[[[0.4, 0.2], [0.1, 0.9]]]]))
    model.find.weight.data = torch.tensor(
        [[0.1, 0.4, 0.6, 0.1], [0.3, 0.2, 0.1, 0.3], [0.5, 0.5, 0.2, 0.8], [0.8, 0.3, 0.9, 0.1],
         [0.3, 0.1, 0.2, 0.5], [0.3, 0.7, 0.5, 0.3], [0.6, 0.2, 0.5, 0.3], [0.4, 0.1, 0.8, 0.4]]).reshape(8, 1, 2, 2)
    model.find.bias.data = torch.tensor([0.7, 0.1, 0.8, 0.5, 0.6, 0.5, 0.4, 0.7])
    compare(tmp_path, model, [PICTURE])


@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("zeros", [True, False])  # MMCV's layer begins with offsets of 0 and a mask of 1/2
def test_modulated_deform_conv(tmp_path, with_bias, zeros):
    model = Deformed(12, 1, torch.ones(1, 1, 2, 2), torch.rand(1) if with_bias else None)
    if zeros:
        torch.nn.init.zeros_(model.find.weight)
        torch.nn.init.zeros_(model.find.bias)
    compare(tmp_path, model, [PICTURE], rtol=1.3e-6, atol=1e-5)  # as assert_allclose() has them


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("dimensions", [2, 3])
def test_grid_sample(tmp_path, mode, padding, align, dimensions):
    attributes = dict(interpolation_mode_i=("bilinear", "nearest").index(mode),
                      padding_mode_i=("zeros", "border", "reflection").index(padding), align_corners_i=int(align))
    # In volumes no place is half-way between two elements, where the last bit decides.
    extents = {2: (15, 15), 3: (16, 16, 8)}[dimensions]
    grid = functional.affine_grid(torch.eye(dimensions, dimensions + 1)[None], (1, 1, *extents), align_corners=False)
    for grid in (grid, grid * 1.5 + 0.1):
        check(tmp_path, "mmcv::grid_sampler", attributes, [torch.rand((1, 1) + (10, 10, 5)[:dimensions]), grid],
              lambda x, grid: functional.grid_sample(x, grid, mode, padding, align),
              dynamic=(2,) if padding == "border" else (), atol=1e-6)


@pytest.mark.parametrize("kind", ["cummax", "cummin"])
@pytest.mark.parametrize("shape", [(2, 3, 4, 1, 5), (1,)])
def test_cummin_cummax(tmp_path, kind, shape):
    x = torch.rand(shape)
    for dim in range(-len(shape), len(shape)):
        check(tmp_path, f"mmcv::{kind}", dict(dim_i=dim), [x], lambda x: tuple(getattr(torch, kind)(x, dim)))


@pytest.mark.parametrize("dynamic", [(), (0, 2, 3)])
@pytest.mark.parametrize("fp16", [True, False])
@pytest.mark.parametrize("plugin", [True, False])
def test_instance_norm(tmp_path, dynamic, fp16, plugin):
    weight, bias = torch.rand(3), torch.rand(3)

    def normalize(x, weight=weight, bias=bias):
        return functional.instance_norm(x, weight=weight, bias=bias, eps=1e-5)

    # What preprocess_onnx() makes of it, or what is exported.
    renamed = operator("mmcv::MMCVInstanceNormalization", dict(epsilon_f=1e-5), normalize)
    function = (lambda x: renamed(x, weight, bias)) if plugin else normalize
    tolerance = dict(rtol=5e-3, atol=5e-3) if fp16 else dict(rtol=1e-5, atol=1e-6)
    operators.compare(functools.partial(run, fp16=fp16), tmp_path, function, [torch.randn(2, 3, 10, 10)], dynamic,
                      **tolerance)


@pytest.mark.parametrize("mode", ["top", "bottom", "left", "right"])
@pytest.mark.parametrize("shape", [(2, 3, 5, 5), (1, 2, 4, 6), (2, 1, 3, 2)])
def test_corner_pool(tmp_path, mode, shape):
    # The best is looked for from the far side.
    axis, reverse = {"top": (2, True), "bottom": (2, False), "left": (3, True), "right": (3, False)}[mode]

    def reference(x):
        turned = x.flip(axis) if reverse else x
        best = turned.cummax(axis).values
        return best.flip(axis) if reverse else best

    number = ["top", "bottom", "left", "right"].index(mode)
    check(tmp_path, "mmcv::MMCVCornerPool", dict(mode_i=number), [torch.rand(shape)], reference, atol=1e-5)
