"""The cases of MMDeploy's own tests of its operators and wrappers, through tenon.mmdeploy."""
import json
import math

import pytest
import torch
from operators import check, deform_conv, kept_boxes, min_opt_max, roi_align
from torch.nn import functional

from tenon import mmdeploy
from tenon import tensorrt as trt


def run(file, inputs, dynamic):
    shapes = {}
    for name, tensor in inputs.items():
        three = min_opt_max(tensor, dynamic)
        shapes[name] = dict(zip(("min_shape", "opt_shape", "max_shape"), three))
    prefix = file.removesuffix(".onnx")
    mmdeploy.from_onnx(file, prefix, shapes)
    return mmdeploy.TRTWrapper(prefix + ".engine")(inputs)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("scale", [(2.0, 2.0), (10 / 4, 20 / 4)])
def test_bicubic_interpolate(tmp_path, align, scale):
    check(run, tmp_path, "mmdeploy::TRTBicubicInterpolate",
          dict(scale_factor_f=list(scale), align_corners_i=int(align)), [torch.rand(1, 2, 4, 4)],
          lambda x: functional.interpolate(x, scale_factor=scale, mode="bicubic",
                                           align_corners=align))


@pytest.mark.parametrize("align", [0, 1])
def test_dynamic_resize(tmp_path, align):
    check(run, tmp_path, "Test::DynamicTRTResize", dict(align_corners_i=align),
          [torch.rand(1, 2, 8, 8), torch.rand(1, 1, 12, 20)],
          lambda x, size: functional.interpolate(x, size=size.shape[2:], mode="bicubic",
                                                 align_corners=bool(align)), dynamic=True)


def test_instance_norm(tmp_path):
    check(run, tmp_path, "mmdeploy::TRTInstanceNormalization", dict(epsilon_f=1e-5),
          [torch.rand(2, 2, 32, 32), torch.rand(2), torch.rand(2)],
          lambda x, s, b: functional.instance_norm(x, weight=s, bias=b, eps=1e-5))


@pytest.mark.parametrize("mode", ["avg"])
@pytest.mark.parametrize("aligned", [0, 1])
def test_roi_align(tmp_path, mode, aligned):
    rois = torch.tensor([[0.0, 0, 0, 3, 3], [0, 1.5, 1, 6, 7]])
    check(run, tmp_path, "mmdeploy::MMCVRoiAlign",
          dict(output_height_i=2, output_width_i=2, spatial_scale_f=1.0, sampling_ratio_i=2,
               mode_s=mode, aligned_i=aligned), [torch.rand(1, 3, 8, 8), rois],
          lambda x, rois: roi_align(x, rois, (2, 2), 1.0, 2, bool(aligned)))


@pytest.mark.parametrize("aligned", [0, 1])
def test_multi_level_roi_align(tmp_path, aligned):
    strides, finest = (4, 8), 8
    rois = torch.tensor([[0.0, 0, 0, 6, 9], [0, 3, 2, 30, 27], [0, 8, 8, 16, 17]])

    def reference(rois, *maps):
        rows = []
        for roi in rois:
            size = float((roi[3] - roi[1]) * (roi[4] - roi[2])) ** 0.5
            level = min(max(math.floor(math.log2(size / finest + 1e-6)), 0), len(maps) - 1)
            rows.append(roi_align(maps[level], roi[None], (2, 2), 1 / strides[level], 2, bool(aligned)))
        return torch.cat(rows)

    check(run, tmp_path, "mmdeploy::MMCVMultiLevelRoiAlign",
          dict(output_height_i=2, output_width_i=2, pool_mode_i=1, sampling_ratio_i=2,
               featmap_strides_f=[float(s) for s in strides], finest_scale_i=finest,
               roi_scale_factor_f=-1.0, aligned_i=aligned),
          [rois, torch.rand(1, 3, 8, 8), torch.rand(1, 3, 4, 4)], reference)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("channels, out, stride, padding", [(3, 64, 1, 0), (1, 32, 3, 2)])
def test_modulated_deform_conv(tmp_path, channels, out, stride, padding, bias):
    extent = (10 + 2 * padding - 3) // stride + 1
    inputs = [torch.rand(1, channels, 10, 10), torch.randn(1, 18, extent, extent),
              torch.rand(1, 9, extent, extent), torch.rand(out, channels, 3, 3) - 0.5]
    check(run, tmp_path, "mmdeploy::MMCVModulatedDeformConv2d",
          dict(stride_i=[stride] * 2, padding_i=[padding] * 2, dilation_i=[1, 1], groups_i=1,
               deform_groups_i=1), inputs + ([torch.rand(out)] if bias else []),
          lambda x, o, m, w, b=None: deform_conv(x, o, w, m, b, stride=stride, padding=padding))


def test_grid_priors(tmp_path):
    def reference(anchors, rows, columns):
        y, x = torch.meshgrid(torch.arange(len(rows)) * 2.0, torch.arange(len(columns)) * 3.0,
                              indexing="ij")
        shifts = torch.stack([x, y, x, y], -1)[:, :, None]
        return (shifts + anchors).reshape(-1, 4)

    check(run, tmp_path, "mmdeploy::GridPriorsTRT", dict(stride_w_i=3, stride_h_i=2),
          [torch.rand(3, 4), torch.zeros(5), torch.zeros(2)], reference)


@pytest.mark.parametrize("mask", [None, (4, 3), (2, 4, 3)])
def test_dot_product_attention(tmp_path, mask):
    def reference(q, k, v, mask=None):
        weights = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
        weights = (weights if mask is None else weights + mask).softmax(-1)
        return weights @ v, weights

    inputs = [torch.rand(2, 4, 8), torch.rand(2, 3, 8), torch.rand(2, 3, 8)]
    check(run, tmp_path, "mmdeploy::ScaledDotProductAttentionTRT", {},
          inputs + ([torch.rand(mask)] if mask else []), reference)


def test_gather_topk(tmp_path):
    check(run, tmp_path, "mmdeploy::GatherTopk", {},
          [torch.rand(2, 10, 4), torch.randint(0, 10, (2, 3), dtype=torch.int32)],
          lambda x, i: torch.gather(x, 1, i.long()[..., None].expand(-1, -1, x.shape[2])))


def test_deformable_attention(tmp_path):
    batch, heads, channels, queries, points = 2, 2, 4, 5, 3
    levels = [(6, 8), (3, 4)]

    def reference(value, shapes, starts, places, weights):
        total = 0
        for level, (height, width) in enumerate(levels):
            start = int(starts[level])
            maps = value[:, start:start + height * width].permute(0, 2, 3, 1)
            maps = maps.reshape(batch * heads, channels, height, width)
            grid = places[:, :, :, level].transpose(1, 2).reshape(-1, queries, points, 2) * 2 - 1
            found = functional.grid_sample(maps, grid, align_corners=False)
            weight = weights[:, :, :, level].transpose(1, 2).reshape(-1, 1, queries, points)
            total = total + (found * weight).sum(-1)
        return total.reshape(batch, heads * channels, queries).transpose(1, 2)

    shapes = torch.tensor(levels, dtype=torch.int32)
    starts = torch.tensor([0, 48], dtype=torch.int32)
    weights = torch.rand(batch, queries, heads, 2 * points).softmax(-1)
    check(run, tmp_path, "mmdeploy::MMCVMultiScaleDeformableAttention", {},
          [torch.rand(batch, 60, heads, channels), shapes, starts,
           torch.rand(batch, queries, heads, 2, points, 2),
           weights.reshape(batch, queries, heads, 2, points)], reference)


def test_batched_nms(tmp_path):
    corners = torch.rand(1, 12, 1, 2) * 0.6
    boxes = torch.cat([corners, corners + 0.1 + torch.rand(1, 12, 1, 2) * 0.3], -1)
    scores = torch.rand(1, 12, 5)
    keep = 6

    def reference(boxes, scores):
        found = []
        for label in range(5):
            for i in kept_boxes(boxes[0, :, 0], scores[0, :, label], 0.7, 0.1):
                found.append((float(scores[0, i, label]), label, i))
        found = sorted(found, reverse=True)[:keep]
        dets = [boxes[0, i, 0].tolist() + [score] for score, _, i in found]
        labels = [label for _, label, _ in found]
        return torch.tensor([dets]), torch.tensor([labels], dtype=torch.int32)

    check(run, tmp_path, "mmdeploy::TRTBatchedNMS",
          dict(background_label_id_i=-1, num_classes_i=5, topk_i=12, keep_topk_i=keep,
               score_threshold_f=0.1, iou_threshold_f=0.7, is_normalized_i=0, clip_boxes_i=0),
          [boxes, scores], reference)


@pytest.fixture
def model(tmp_path):
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU()).eval()
    x = torch.rand(1, 3, 64, 64)
    file = str(tmp_path / "end2end.onnx")
    torch.onnx.export(module, (x,), file, input_names=["input"], output_names=["output"],
                      dynamic_axes={"input": {0: "n", 2: "h", 3: "w"}})
    with torch.no_grad():
        return file, x, module(x)


CONFIG = {"backend_config": {
    "type": "tensorrt",
    "common_config": {"fp16_mode": False, "max_workspace_size": 1 << 20},
    "model_inputs": [{"input_shapes": {"input": {
        "min_shape": [1, 3, 32, 32], "opt_shape": [1, 3, 64, 64], "max_shape": [2, 3, 64, 64]}}}]}}


@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
def test_onnx2tensorrt_and_wrapper(model, tmp_path, device):
    file, x, expected = model
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    for config in (CONFIG, str(tmp_path / "config.json")):
        mmdeploy.onnx2tensorrt(str(tmp_path / "work"), "end2end.engine", 0, config, file, device)
        engine = mmdeploy.load(str(tmp_path / "work" / "end2end.engine"))
        assert isinstance(engine, trt.ICudaEngine)
        wrapper = mmdeploy.TRTWrapper(engine, ["output"])
        torch.testing.assert_close(wrapper({"input": x})["output"], expected, rtol=1e-3, atol=1e-5)
    with pytest.raises(AssertionError, match=r"'input' expects shape from \(1, 3, 32, 32\)"):
        wrapper({"input": torch.rand(1, 3, 16, 16)})
    with pytest.raises(AssertionError, match="'input' expects shape"):
        wrapper({"input": torch.rand(3, 64, 64)})


def test_manager(model, tmp_path):
    file, x, expected = model
    manager = mmdeploy.TensorRTManager
    plans = manager.to_backend([file], str(tmp_path / "plans"), CONFIG)
    wrapper = manager.build_wrapper(plans, device="cpu")
    torch.testing.assert_close(wrapper({"input": x})["output"], expected, rtol=1e-3, atol=1e-5)
    assert manager.is_available(with_custom_ops=True)
    lines = []
    assert manager.get_version() in manager.check_env(lines.append)
    assert len(lines) == 2


def test_plugins_and_versions():
    import ctypes
    assert mmdeploy.load_tensorrt_plugin() is True
    names = [creator.name for creator in trt.get_plugin_registry().plugin_creator_list]
    assert "DynamicTRTResize" in names
    ctypes.CDLL(mmdeploy.get_ops_path())
    assert float(mmdeploy.search_cuda_version()) >= 12
    assert mmdeploy.get_trt_log_level() == trt.Logger.WARNING


def test_failures(model, tmp_path):
    file, _, _ = model
    (tmp_path / "bad.onnx").write_bytes(b"rubbish")
    with pytest.raises(RuntimeError, match="Failed to parse onnx, "):
        mmdeploy.from_onnx(str(tmp_path / "bad.onnx"), str(tmp_path / "bad"), {})
    shapes = CONFIG["backend_config"]["model_inputs"][0]["input_shapes"]
    with pytest.raises(ValueError, match="'x': expected a dictionary of min_shape, opt_shape, max_"):
        mmdeploy.from_onnx(file, str(tmp_path / "a"), {"x": {"min_shape": [1, 3]}})
    with pytest.raises(NotImplementedError, match="INT8 calibration at build is not supported yet"):
        mmdeploy.from_onnx(file, str(tmp_path / "a"), shapes, int8_mode=True)
    with pytest.raises(ValueError, match="device 'tpu'"):
        mmdeploy.onnx2tensorrt(str(tmp_path), "a.engine", 0, CONFIG, file, device="tpu")
    with pytest.raises(ValueError, match="deploy_cfg has 1 model_inputs"):
        mmdeploy.onnx2tensorrt(str(tmp_path), "a.engine", 1, CONFIG, file)
    with pytest.raises(TypeError, match="Config.fromfile"):
        mmdeploy.onnx2tensorrt(str(tmp_path), "a.engine", 0, "config.py", file)
