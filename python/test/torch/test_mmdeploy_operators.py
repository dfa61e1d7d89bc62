"""The cases of MMDeploy 1.3's own tests of its operators (tests/test_ops/test_ops.py), through tenon.mmdeploy.

Each test of theirs has one here, with its name; those of other backends run here, too. Tolerances are theirs.
"""
import functools
import math

import operators
import pytest
import torch
from operators import (best_of_classes, deform_conv, kept_boxes, min_opt_max, operator, overlaps, roi_align,
                       rotated_overlaps)
from torch.nn import functional

from tenon import mmdeploy


def run(file, inputs, dynamic, fp16=False):
    shapes = {name: dict(zip(("min_shape", "opt_shape", "max_shape"), min_opt_max(tensor, dynamic)))
              for name, tensor in inputs.items()}
    prefix = file.removesuffix(".onnx")
    mmdeploy.from_onnx(file, prefix, shapes, fp16_mode=fp16, max_workspace_size=1 << 20)
    return mmdeploy.TRTWrapper(prefix + ".engine")(inputs)


check = functools.partial(operators.check, run)
compare = functools.partial(operators.compare, run)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.mark.parametrize("size, scale, ratio", [(2, 1.0, 2), (4, 2.0, 4)])
@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("aligned", [1, 0])
def test_roi_align(tmp_path, size, scale, ratio, mode, aligned):
    rois = torch.tensor([[0., 0, 0, 4, 4], [0, 1.5, 1, 6, 7]])
    pool = {"avg": functional.avg_pool2d, "max": functional.max_pool2d}[mode]
    check(tmp_path, "mmcv::MMCVRoiAlign",
          dict(output_height_i=size, output_width_i=size, spatial_scale_f=scale, sampling_ratio_i=ratio,
               mode_s=mode, aligned_i=aligned), [torch.rand(1, 1, 16, 16), rois],
          lambda x, rois: roi_align(x, rois, (size, size), scale, ratio, bool(aligned), pool))


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("extents", [(10, 10), (4, 6, 5)])
def test_grid_sample(tmp_path, mode, padding, align, extents):
    grid = functional.affine_grid(torch.eye(len(extents), len(extents) + 1)[None], (1, 1, *(2 * e for e in extents)),
                                  align_corners=False)
    check(tmp_path, "mmdeploy::grid_sampler",
          dict(interpolation_mode_i=("bilinear", "nearest").index(mode),
               padding_mode_i=("zeros", "border", "reflection").index(padding), align_corners_i=int(align)),
          [torch.rand(1, 1, *extents), grid], lambda x, grid: functional.grid_sample(x, grid, mode, padding, align))


@pytest.mark.parametrize("dynamic", [(), (0, 2, 3)])
@pytest.mark.parametrize("mode", ["bicubic", "nearest"])
@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("size", [[10, 20], None])
def test_bicubic_interpolate(tmp_path, dynamic, mode, align, size):
    def interpolate(x):
        return functional.interpolate(x, size=size, scale_factor=None if size else 2, mode=mode,
                                      align_corners=align if mode == "bicubic" else None)
    if mode == "bicubic":
        interpolate = operator("mmdeploy::TRTBicubicInterpolate",
                               dict(scale_factor_f=[2.0, 2.0], align_corners_i=int(align)), interpolate)
    compare(tmp_path, interpolate, [torch.randn(2, 3, 5, 10)], dynamic=dynamic)


def test_bicubic_interpolate_by_fractions(tmp_path):
    scale = (10 / 4, 21 / 4)
    check(tmp_path, "mmdeploy::TRTBicubicInterpolate", dict(scale_factor_f=list(scale), align_corners_i=0),
          [torch.rand(1, 2, 4, 4)], lambda x: functional.interpolate(x, scale_factor=scale, mode="bicubic",
                                                                     align_corners=False))


@pytest.mark.parametrize("align", [0, 1])
def test_dynamic_resize(tmp_path, align):  # of MMDeploy's tutorial
    check(tmp_path, "Test::DynamicTRTResize", dict(align_corners_i=align),
          [torch.rand(1, 2, 8, 8), torch.rand(1, 1, 12, 20)],
          lambda x, size: functional.interpolate(x, size=size.shape[2:], mode="bicubic", align_corners=bool(align)),
          dynamic=(2, 3))


def convolution(channels, out, stride, padding, per_tap):
    """Attributes, a picture, weights and what a convolution of the picture finds, `per_tap` numbers for each of 9."""
    x = torch.rand(1, channels, 28, 28)
    found = torch.nn.Conv2d(channels, per_tap * 9, 3, stride, padding)(x).detach()
    return (dict(stride_i=[stride] * 2, padding_i=[padding] * 2, dilation_i=[1, 1], groups_i=1, deform_groups_i=1),
            x, torch.rand(out, channels, 3, 3) - 0.5, found)


@pytest.mark.parametrize("channels, out, stride, padding", [(3, 64, 1, 0), (1, 32, 3, 2)])
@pytest.mark.parametrize("bias", [True, False])
def test_modulated_deform_conv(tmp_path, channels, out, stride, padding, bias):
    attributes, x, weight, found = convolution(channels, out, stride, padding, 3)
    check(tmp_path, "mmdeploy::MMCVModulatedDeformConv2d", attributes,
          [x, found[:, :18], found[:, 18:].sigmoid(), weight] + ([torch.rand(out)] if bias else []),
          lambda x, o, m, w, b=None: deform_conv(x, o, w, m, b, stride=stride, padding=padding))


def test_deform_conv(tmp_path):
    attributes, x, weight, found = convolution(1, 32, 3, 2, 2)
    # MMDeploy exports each padding twice.
    check(tmp_path, "mmdeploy::MMCVDeformConv2d", {**attributes, "padding_i": [2, 2, 2, 2]}, [x, found, weight],
          lambda x, o, w: deform_conv(x, o, w, stride=3, padding=2))


@pytest.mark.parametrize("dynamic", [(), (0, 2, 3)])
@pytest.mark.parametrize("fp16", [True, False])
def test_instance_norm(tmp_path, dynamic, fp16):
    weight, bias = torch.rand(3, 1, 1), torch.rand(3, 1, 1)
    normalize = operator("mmdeploy::TRTInstanceNormalization", dict(epsilon_f=1e-5),
                         lambda x, s, b: functional.instance_norm(x, weight=s, bias=b, eps=1e-5))

    def exported(x):
        rows = normalize(x.reshape(x.shape[0], 3, -1), torch.ones(3), torch.zeros(3))
        return rows.reshape(x.shape) * weight + bias
    operators.compare(functools.partial(run, fp16=fp16), tmp_path, exported, [torch.randn(2, 3, 10, 10)], dynamic,
                      **(dict(rtol=5e-3, atol=5e-3) if fp16 else {}))


# MMDeploy's boxes of a picture with a few objects, and its scores for five classes.
BOXES = torch.tensor([[291.1746, 316.2263, 343.5029, 347.7312], [288.4846, 315.0447, 343.7267, 346.5630],
                      [288.5307, 318.1989, 341.6425, 349.7222], [918.9102, 83.7463, 933.3920, 164.9041],
                      [895.5786, 78.2361, 907.8049, 172.0883], [292.5816, 316.5563, 340.3462, 352.9989],
                      [609.4592, 83.5447, 631.2532, 144.0749], [917.7308, 85.5870, 933.2839, 168.4530],
                      [895.5138, 79.3596, 908.2865, 171.0418], [291.4747, 318.6987, 347.1208, 349.5754]])
SCORES = torch.tensor([[0.9577, 0.9745, 0.3030, 0.6589, 0.2742], [0.1618, 0.7963, 0.5124, 0.6964, 0.6850],
                       [0.8425, 0.4843, 0.9489, 0.8068, 0.7340], [0.7337, 0.4340, 0.9923, 0.0704, 0.4506],
                       [0.3090, 0.5606, 0.6939, 0.3764, 0.6920], [0.0044, 0.7986, 0.2221, 0.2782, 0.4378],
                       [0.7293, 0.2735, 0.8381, 0.0264, 0.6278], [0.7144, 0.1066, 0.4125, 0.4041, 0.8819],
                       [0.4963, 0.7891, 0.6908, 0.1499, 0.5584], [0.4385, 0.6035, 0.0508, 0.0662, 0.5938]])


def nms_attributes(considered, keep, iou_threshold=0.7, score_threshold=0.1):
    return dict(num_classes_i=5, background_label_id_i=-1, iou_threshold_f=iou_threshold,
                score_threshold_f=score_threshold, topk_i=considered, keep_topk_i=keep, is_normalized_i=0,
                clip_boxes_i=0)


@pytest.mark.parametrize("considered, keep", [(6, 3), (10, 30)])
def test_batched_nms(tmp_path, considered, keep):
    check(tmp_path, "mmdeploy::TRTBatchedNMS", nms_attributes(considered, keep),
          [BOXES[None, :, None].tile(5, 1), SCORES[None]],
          lambda boxes, scores: best_of_classes(BOXES, overlaps(BOXES), scores[0], 0.7, 0.1, considered, keep))


@pytest.mark.parametrize("considered, keep", [(6, 3), (10, 30)])
def test_batched_rotated_nms(tmp_path, considered, keep):
    turned = torch.cat([BOXES, torch.arange(1., 11)[:, None]], 1)
    check(tmp_path, "mmdeploy::TRTBatchedRotatedNMS", nms_attributes(considered, keep),
          [turned[None, :, None].tile(5, 1), SCORES[None]],
          lambda boxes, scores: best_of_classes(turned, rotated_overlaps(turned), scores[0], 0.7, 0.1, considered,
                                                keep))


@pytest.mark.parametrize("pre_top_k", [-1, 1000])
def test_multiclass_nms_rotated_with_keep_top_k(tmp_path, pre_top_k):
    turned = torch.rand(100, 5)
    check(tmp_path, "mmdeploy::TRTBatchedRotatedNMS", nms_attributes(pre_top_k, 15, 0.5, 0.05),
          [turned[None, :, None], torch.ones(1, 100, 5)],
          lambda boxes, scores: best_of_classes(turned, rotated_overlaps(turned), scores[0], 0.5, 0.05, pre_top_k, 15),
          dynamic=(1,))


@pytest.mark.parametrize("iou_threshold", [0.1, 0.3])
@pytest.mark.parametrize("score_threshold", [0., 0.1])
@pytest.mark.parametrize("angle", [0, 0.5])
def test_nms_rotated(tmp_path, iou_threshold, score_threshold, angle):
    boxes = torch.tensor([[60., 75, 20, 50, 0], [65, 80, 10, 40, angle], [30, 30, 40, 40, -angle]]).tile(2, 1, 1)
    scores = torch.tensor([[[0.5, 0.1, 0.1], [0.1, 0.6, 0.1], [0.1, 0.1, 0.7], [0.1, 0.1, 0.1]],
                           [[0.1, 0.1, 0.1], [0.7, 0.1, 0.1], [0.1, 0.6, 0.1], [0.1, 0.1, 0.5]]])

    def reference(boxes, scores):
        shared = [rotated_overlaps(boxes[n]) for n in range(2)]
        rows = [[n, kind, i] for n in range(2) for kind in range(4)
                for i in kept_boxes(shared[n], scores[n, kind], iou_threshold, score_threshold)]
        return torch.tensor(rows + [[-1] * 3] * (24 - len(rows)))
    check(tmp_path, "mmdeploy::NMSRotated",
          dict(iou_threshold_f=iou_threshold, score_threshold_f=score_threshold), [boxes, scores], reference)


@pytest.mark.parametrize("pool_mode", [0, 1])
def test_multi_level_roi_align(tmp_path, pool_mode):
    strides, finest = (2, 4), 2
    pool = (functional.max_pool2d, functional.avg_pool2d)[pool_mode]
    rois = torch.tensor([[0., 0, 0, 4, 4], [0, 1, 0.5, 3, 3], [0, 2, 3, 15, 11]])

    def reference(rois, *maps):
        rows = []
        for roi in rois:
            size = float((roi[3] - roi[1]) * (roi[4] - roi[2])) ** 0.5
            level = min(max(math.floor(math.log2(size / finest + 1e-6)), 0), len(maps) - 1)
            rows.append(roi_align(maps[level], roi[None], (2, 2), 1 / strides[level], 2, pool=pool))
        return torch.cat(rows)
    check(tmp_path, "mmdeploy::MMCVMultiLevelRoiAlign",
          dict(output_height_i=2, output_width_i=2, pool_mode_i=pool_mode, sampling_ratio_i=2,
               featmap_strides_f=[float(s) for s in strides], finest_scale_i=finest, roi_scale_factor_f=1.0,
               aligned_i=1), [rois, torch.rand(1, 3, 4, 4), torch.rand(1, 3, 4, 4)], reference)


PICTURE = torch.tensor([[[[1., 2., 5., 6.], [3., 4., 7., 8.], [9., 10., 13., 14.], [11., 12., 15., 16.]]]])


@pytest.mark.parametrize("clockwise", [0, 1])
@pytest.mark.parametrize("x, roi, size, scale, ratio", [
    ([[[[1., 2.], [3., 4.]]]], [0., 0.5, 0.5, 1., 1., 0], 2, 1.0, 2),
    ([[[[1., 2.], [3., 4.]]]], [0., 0.5, 0.5, 1., 1., 0], 4, 2.0, 4),
    (PICTURE.tolist(), [0., 1.5, 2, 3, 2, 0.7], 2, 1.0, 2)])
def test_roi_align_rotated(tmp_path, x, roi, size, scale, ratio, clockwise):
    check(tmp_path, "mmdeploy::MMCVRoIAlignRotated",
          dict(output_height_i=size, output_width_i=size, spatial_scale_f=scale, sampling_ratio_i=ratio, aligned_i=1,
               clockwise_i=clockwise), [torch.tensor(x), torch.tensor([roi])],
          lambda x, rois: operators.rotated_roi_align(x, rois, (size, size), scale, ratio, True, bool(clockwise)))


@pytest.mark.parametrize("angle", [math.pi / 2, 0.3])
def test_multi_level_rotated_roi_align(tmp_path, angle):
    def reference(rois, x):
        return operators.rotated_roi_align(x, rois, (2, 2), 1.0, 2)

    rois = torch.tensor([[0., 1.5, 1.5, 3., 3., angle]])
    if angle > 1:  # by hand, as theirs
        torch.testing.assert_close(reference(rois, PICTURE), torch.tensor([[[[7.5625, 1.9375], [10.375, 4.75]]]]))
    check(tmp_path, "mmdeploy::MMCVMultiLevelRotatedRoiAlign",
          dict(output_height_i=2, output_width_i=2, clockwise_i=0, sampling_ratio_i=2, featmap_strides_f=[1.0],
               finest_scale_i=2, roi_scale_factor_f=1.0, aligned_i=1), [rois, PICTURE], reference)


def test_trt_grid_priors(tmp_path):
    anchors = torch.tensor([[-22.6274, -11.3137, 22.6274, 11.3137], [-16., -16., 16., 16.],
                            [-11.3137, -22.6274, 11.3137, 22.6274]])

    def reference(anchors, rows, columns):
        y, x = torch.meshgrid(torch.arange(len(rows)) * 4.0, torch.arange(len(columns)) * 4.0, indexing="ij")
        return (torch.stack([x, y, x, y], -1)[:, :, None] + anchors).reshape(-1, 4)

    grid = operator("mmdeploy::GridPriorsTRT", dict(stride_h_i=4, stride_w_i=4), reference)

    def of_feature_map(x):
        return grid(anchors, x.new_zeros(x.shape[2]), x.new_zeros(x.shape[3]))
    compare(tmp_path, of_feature_map, [torch.rand(1, 3, 2, 2)], dynamic=(2, 3))


@pytest.mark.parametrize("mask", [None, (4, 3), (2, 4, 3)])
def test_dot_product_attention(tmp_path, mask):
    def reference(q, k, v, mask=None):
        weights = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
        weights = (weights if mask is None else weights + mask).softmax(-1)
        return weights @ v, weights

    inputs = [torch.rand(2, 4, 8), torch.rand(2, 3, 8), torch.rand(2, 3, 8)]
    check(tmp_path, "mmdeploy::ScaledDotProductAttentionTRT", {}, inputs + ([torch.rand(mask)] if mask else []),
          reference)


def test_dot_product_attention_of_a_layer(tmp_path, monkeypatch):
    def attend(q, k, v, mask=None):
        weights = (q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])).softmax(-1)
        return weights @ v, weights
    rewritten = operator("mmdeploy::ScaledDotProductAttentionTRT", {}, attend)
    monkeypatch.setattr(functional, "_scaled_dot_product_attention", lambda q, k, v, *rest: rewritten(q, k, v))
    compare(tmp_path, torch.nn.MultiheadAttention(2, 2), [torch.rand(2, 4, 2) for _ in range(3)])


def test_gather_topk(tmp_path):
    gather = operator("mmdeploy::GatherTopk", {},
                      lambda x, i: torch.gather(x, 1, i.long()[..., None].expand(-1, -1, x.shape[2])))
    compare(tmp_path, lambda x: gather(x, x.max(-1)[0].topk(4)[1]), [torch.rand(2, 10, 4)])


def test_multi_scale_deformable_attn(tmp_path):
    images, heads, channels, queries, points = 2, 8, 32, 32, 32
    levels = [(68, 120), (34, 60)]

    def reference(value, shapes, starts, places, weights):
        total = 0
        for level, (height, width) in enumerate(shapes.tolist()):
            start = int(starts[level])
            maps = value[:, start:start + height * width].permute(0, 2, 3, 1)
            maps = maps.reshape(images * heads, channels, height, width)
            grid = places[:, :, :, level].transpose(1, 2).reshape(-1, queries, points, 2) * 2 - 1
            found = functional.grid_sample(maps, grid, align_corners=False)
            weight = weights[:, :, :, level].transpose(1, 2).reshape(-1, 1, queries, points)
            total = total + (found * weight).sum(-1)
        return total.reshape(images, heads * channels, queries).transpose(1, 2)

    counts = [height * width for height, width in levels]
    check(tmp_path, "mmdeploy::MMCVMultiScaleDeformableAttention", dict(im2col_step_i=32),
          [torch.rand(images, sum(counts), heads, channels), torch.tensor(levels), torch.tensor([0, counts[0]]),
           torch.rand(images, queries, heads, 2, points, 2), torch.rand(images, queries, heads, 2, points)], reference)
