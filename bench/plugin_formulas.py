"""PyTorch's formula of each plugin that has a short one, as operators that operators.py measures.

One measurement stands for all names of one kernel: the plugins that @formula lists, as "name", or "name/version" where
it is not 1. A plugin that is not listed has no formula of a few lines: what prints, makes constants, or reads images,
and chains of gathers and suppressions.
"""
import itertools
import math

import numpy as np
import torch
import torch.nn.functional as functional
import torchvision

import operators
from operators import Operator, plugin

FORMULAS = {}  # name of a measurement: what makes its Operator
PLUGINS = {}  # name of a measurement: keys of plugins, name/version/namespace


def key_of(text):
    name, version, namespace = (*text.split("/"), "", "")[:3]
    return f"{name}/{version or 1}/{namespace}"


def formula(*plugins):
    def added(make):
        name = make.__name__
        FORMULAS[name] = make
        PLUGINS[name] = [key_of(text) for text in plugins]
        return make

    return added


def of(kind, inputs, attributes, by_torch, version=1, namespace="", comparable=lambda outputs: outputs, **more):
    """An Operator without a standard's node."""
    own = {**attributes, **({"plugin_version": str(version)} if version != 1 else {}),
           **({"plugin_namespace": namespace} if namespace else {})}
    return Operator(plugin(kind, inputs, own, **more), None, by_torch, comparable)


def images(numbers):
    return {"x": numbers.normal(1, 64, 128, 128)}


# Those of operators.py that are plugins of several names.
formula("MMCVRoiAlign", "MMCVRoIAlign", "ROIAlign_TRT", "ROIAlign_TRT/2")(operators.roi_align)
formula("MMCVDeformConv2d", "DeformableConvPluginDynamic")(operators.deform_conv)
formula("MMCVModulatedDeformConv2d", "ModulatedDeformableConv2dTRT", "ModulatedDeformableConv2dTRT2", "ModulatedDeformConv2d",
        "ModulatedDeformConv2d/2", "ModulatedDeformableConvPluginDynamic", "DCNv2")(operators.mod_deform_conv)
formula("grid_sampler", "GridSampler2DTRT", "GridSampler2DTRT2")(operators.grid_sample)
formula("NonMaxSuppression", "EfficientNMS_ONNX_TRT", "TorchNMS", "TorchNMSPluginDynamic")(operators.nms_5000)
formula("cummax", "cummaxmin", "TorchCumMaxMinPluginDynamic")(operators.cummax)
formula("cummin")(operators.cummin)
formula("TRTInstanceNormalization", "MMCVInstanceNormalization", "InstanceNormalization_TRT", "InstanceNormalization_TRT/2",
        "InstanceNormalization_TRT/3", "InstanceNorm")(operators.instance_norm)
formula("ReflectPad")(operators.reflect_pad)
formula("ScatterND", "MyScatterND")(operators.scatter_nd)
formula("TRTBicubicInterpolate")(operators.bicubic_hp)


@formula("HSwish")
def hard_swish(numbers):
    return of("HSwish", images(numbers), {}, lambda x: functional.hardswish(x))


@formula("HSigmoid")
def hard_sigmoid(numbers):
    return of("HSigmoid", images(numbers), {}, lambda x: functional.hardsigmoid(x))


@formula("MYSELU")
def silu(numbers):
    return of("MYSELU", images(numbers), {"attr1": "", "attr2": [1, 2, 3], "attr3": 222.0}, lambda x: functional.silu(x))


@formula("LReLU_TRT", "LeakyReluPlugin")
def leaky_relu(numbers):
    return of("LReLU_TRT", images(numbers), {"negSlope": 0.25}, lambda x: functional.leaky_relu(x, 0.25))


@formula("Prelu")
def prelu(numbers):
    slopes = numbers.normal(64)
    return of("Prelu", images(numbers), {"weights": slopes.tolist()}, lambda x: functional.prelu(x, torch.from_numpy(slopes)))


@formula("Clip_TRT")
def clip(numbers):
    return of("Clip_TRT", images(numbers), {"clipMin": -1.0, "clipMax": 1.5}, lambda x: x.clamp(-1, 1.5))


@formula("CustomGeluPluginDynamic")
def gelu(numbers):
    return of("CustomGeluPluginDynamic", images(numbers), {"type_id": 0}, lambda x: functional.gelu(x, approximate="tanh"))


@formula("AdaptivePoolPluginDynamic")
def adaptive_pool(numbers):
    return of("AdaptivePoolPluginDynamic", {"x": numbers.normal(1, 256, 64, 64)}, {"pooling_type": 1, "output_size": [7, 7]},
              lambda x: functional.adaptive_avg_pool2d(x, 7))


@formula("ScaledDotProductAttentionTRT")
def attention_with_weights(numbers):
    def by_torch(q, k, v):
        weights = (q @ k.transpose(1, 2) / q.shape[2] ** 0.5).softmax(2)
        return weights @ v, weights

    return of("ScaledDotProductAttentionTRT", {name: numbers.normal(8, 256, 64) for name in "qkv"}, {}, by_torch,
              outputs=("y", "weights"))


@formula("TorchBmmPluginDynamic")
def batched_product(numbers):
    return of("TorchBmmPluginDynamic", {"a": numbers.normal(16, 256, 256), "b": numbers.normal(16, 256, 256)}, {},
              lambda a, b: torch.bmm(a, b))


@formula("BEVPoolV2TRT", "BEVPoolV2TRT2")
def bev_pool(numbers):
    cells, points, channels = 128 * 128, 100000, 80
    depth, feat = numbers.uniform(6, 59, 16, 44), numbers.normal(6, 16, 44, channels)
    bev = np.sort(numbers.state.randint(0, cells, points))
    starts = np.flatnonzero(np.diff(bev, prepend=-1))
    ranks = {"ranks_depth": numbers.state.randint(0, depth.size, points), "ranks_feat": numbers.state.randint(0, 6 * 16 * 44, points),
             "ranks_bev": bev, "interval_starts": starts, "interval_lengths": np.diff(starts, append=points)}

    def by_torch(depth, feat, ranks_depth, ranks_feat, ranks_bev, **_):
        values = depth.flatten()[ranks_depth][:, None] * feat.reshape(-1, channels)[ranks_feat]
        return torch.zeros(cells, channels).index_add_(0, ranks_bev, values).reshape(1, 128, 128, channels)

    return of("BEVPoolV2TRT", {"depth": depth, "feat": feat, **{k: v.astype(np.int32) for k, v in ranks.items()}},
              {"out_height": 128, "out_width": 128}, by_torch)


def _surfaces(numbers, shape, count):
    """Voxels as a laser finds them: on the ground, and on walls."""
    depth, height, width = shape
    ground = np.stack([np.full(count, depth // 8), numbers.state.randint(0, height // 2, count), numbers.state.randint(0, width // 2, count)],
                      1)
    wall = np.stack([numbers.state.randint(0, depth, count), numbers.state.randint(0, 10, count) * (height // 10),
                     numbers.state.randint(0, width // 4, count)], 1)
    rows = np.unique(np.concatenate([ground, wall]), axis=0)
    rows = numbers.state.permutation(rows)[:count]
    return np.concatenate([np.zeros((count, 1)), rows], 1).astype(np.int32)


def _pairs_of(indices, shape):
    """(27, N): the row of each neighbour, or -1, by a search among sorted numbers of cells."""
    cell = (indices[:, 1] * shape[1] + indices[:, 2]) * shape[2] + indices[:, 3]
    ordered, order = cell.sort()
    table = []
    for z, y, x in itertools.product((-1, 0, 1), repeat=3):
        at = indices[:, 1:] + torch.tensor([z, y, x])
        inside = ((at >= 0) & (at < torch.tensor(shape))).all(1)
        wanted = (at[:, 0] * shape[1] + at[:, 1]) * shape[2] + at[:, 2]
        found = torch.searchsorted(ordered, wanted).clamp(max=len(cell) - 1)
        table.append(torch.where(inside & (ordered[found] == wanted), order[found], -1))
    return torch.stack(table).int()


_GRID = (41, 360, 360)


@formula("GetIndicePairsImplicitGemm", "GetIndicePairs")
def indice_pairs(numbers):
    """Of a submanifold convolution."""
    names = ("out_indices", "pair_fwd", "pair_mask", "mask_argsort", "num_act_out")

    def by_torch(indices):
        table = _pairs_of(indices.long(), _GRID)
        masks = ((table >= 0).int() << torch.arange(27, dtype=torch.int32)[:, None]).sum(0).int()
        order = masks.argsort(stable=True)
        return indices, table, masks[order][:, None], order.int(), torch.tensor(len(indices), dtype=torch.int32)

    return of("GetIndicePairsImplicitGemm", {"indices": _surfaces(numbers, _GRID, 40000)},
              {"batch_size": 1, "algo": 1, "is_train": 0, "ksize": [3, 3, 3], "stride": [1, 1, 1], "padding": [1, 1, 1],
               "dilation": [1, 1, 1], "out_padding": [0, 0, 0], "spatial_shape": list(_GRID), "subm": 1, "transpose": 0},
              by_torch, outputs=names, whole=names)


@formula("ImplicitGemm", "IndiceConv")
def sparse_convolution(numbers):
    indices, channels = _surfaces(numbers, _GRID, 40000), 64
    table = _pairs_of(torch.from_numpy(indices).long(), _GRID).numpy()
    masks = np.bitwise_or.reduce(np.where(table >= 0, 1 << np.arange(27)[:, None], 0), 0).astype(np.int32)
    order = np.argsort(masks, kind="stable")
    inputs = {"features": numbers.normal(len(indices), channels), "filters": numbers.normal(channels, 3, 3, 3, channels) / 16,
              "pair_fwd": table, "pair_mask": masks[order][:, None], "mask_argsort": order.astype(np.int32)}

    def by_torch(features, filters, pair_fwd, **_):
        y = torch.zeros(len(features), len(filters))
        for row, weights in zip(pair_fwd, filters.flatten(1, 3).unbind(1)):
            to = (row >= 0).nonzero()[:, 0]
            y.index_add_(0, to, features[row[to].long()] @ weights.T)
        return y

    return of("ImplicitGemm", inputs, {"act_type": 0, "act_alpha": 0.0, "act_beta": 0.0, "is_subm": 1, "is_train": 0,
                                       "output_add_scale": 0.0, "output_scale": 1.0}, by_torch)


@formula("Argsort")
def argsort(numbers):
    return of("Argsort", {"x": numbers.state.randint(0, 1 << 40, 200000)}, {}, lambda x: x.sort(stable=True)[1],
              long=("y",))


@formula("CustomUnique")
def unique(numbers):
    names = ("unique", "inverse", "counts", "num_out")

    def by_torch(x):
        found = x.unique(return_inverse=True, return_counts=True)
        return *found, torch.tensor(len(found[0]))

    return of("CustomUnique", {"x": numbers.state.randint(0, 50000, 200000)}, {}, by_torch, outputs=names, long=names)


@formula("SegmentCSR")
def segment_csr(numbers):
    starts = np.concatenate([[0], np.sort(numbers.state.randint(0, 100000, 19999)), [100000]])

    def by_torch(src, indptr):
        segment = torch.repeat_interleave(torch.arange(len(indptr) - 1), indptr.diff())
        return torch.zeros(len(indptr) - 1, src.shape[1]).index_add_(0, segment, src)

    return of("SegmentCSR", {"src": numbers.normal(100000, 64), "indptr": starts}, {"reduce": "sum"}, by_torch)


@formula("QuickCumsumCuda")
def bev_pool_of_points(numbers):
    cells, points, channels = 360 * 360, 100000, 80
    cell = np.sort(numbers.state.randint(0, cells, points))
    starts = np.flatnonzero(np.diff(cell, prepend=-1))
    sites = np.stack([cell // 360, cell % 360, 0 * cell, 0 * cell], 1)
    inputs = {"x": numbers.normal(points, channels), "geom_feats": sites.astype(np.int32),
              "interval_lengths": np.diff(starts, append=points).astype(np.int32), "interval_starts": starts.astype(np.int32)}

    def by_torch(x, geom_feats, **_):
        rows = geom_feats[:, 0].long() * 360 + geom_feats[:, 1]
        return torch.zeros(cells, channels).index_add_(0, rows, x).reshape(1, 1, 360, 360, channels)

    return of("QuickCumsumCuda", inputs, {"batch_size": 1, "dimension": 1, "height": 360, "width": 360}, by_torch)


def _samples(x, rows, columns):
    """x (1, C, H, W) at places in elements, of any shape: (C, …)."""
    height, width = x.shape[2:]
    grid = torch.stack([2 * columns / (width - 1) - 1, 2 * rows / (height - 1) - 1], -1)
    return functional.grid_sample(x, grid.reshape(1, -1, 1, 2), align_corners=True).reshape(x.shape[1], *rows.shape)


@formula("MMCVBorderAlign")
def border_align(numbers):
    low, size = numbers.uniform(1, 1000, 2) * 25, numbers.uniform(1, 1000, 2) * 20
    inputs = {"input": numbers.normal(1, 4 * 64, 50, 50), "boxes": np.concatenate([low, low + size], 2)}

    def by_torch(input, boxes):
        x1, y1, x2, y2 = boxes[0].unbind(1)
        along = torch.arange(11) / 10
        sides = []
        for side, (row, column, down, right) in enumerate(
                [(y1, x1, 0 * y1, x2 - x1), (y1, x1, y2 - y1, 0 * x1), (y2, x2, 0 * y1, x1 - x2), (y2, x2, y1 - y2, 0 * x1)]):
            places = row[:, None] + down[:, None] * along, column[:, None] + right[:, None] * along
            sides.append(_samples(input[:, side * 64:side * 64 + 64], *places).amax(-1))
        return torch.stack(sides, -1)[None]

    return of("MMCVBorderAlign", inputs, {"pool_size": 10}, by_torch)


@formula("MMCVCARAFE", "MMCVCARAFENaive", "CarafeFeatureReassemblePluginDynamic")
def carafe(numbers):
    inputs = {"features": numbers.normal(1, 64, 32, 32), "masks": numbers.uniform(1, 25, 64, 64)}

    def by_torch(features, masks):
        windows = functional.unfold(features, 5, padding=2).reshape(1, 64 * 25, 32, 32)
        windows = functional.interpolate(windows, scale_factor=2, mode="nearest").reshape(1, 64, 25, 64, 64)
        return (windows * masks[:, None]).sum(2)

    return of("MMCVCARAFE", inputs, {"kernel_size": 5, "group_size": 1, "scale_factor": 2.0}, by_torch)


@formula("CoordConvAC")
def coord_conv(numbers):
    def by_torch(x):
        line = torch.linspace(-1, 1, 128)
        rows, columns = torch.meshgrid(line, line, indexing="ij")
        return torch.cat([x, torch.stack([rows, columns])[None]], 1)

    return of("CoordConvAC", images(numbers), {}, by_torch)


@formula("MMCVCornerPool")
def corner_pool(numbers):
    return of("MMCVCornerPool", images(numbers), {"mode": 0}, lambda x: x.flip(2).cummax(2).values.flip(2))


@formula("CropAndResize", "CropAndResizeDynamic", "CropAndResizeDynamic/2")
def crop_and_resize(numbers):
    low, size = numbers.uniform(1, 500, 2) * 0.5, numbers.uniform(1, 500, 2) * 0.45
    rois = np.concatenate([low, low + size], 2)[..., None]

    def by_torch(feature_maps, rois):
        y1, x1, y2, x2 = rois[0, :, :, 0].unbind(1)
        steps = torch.linspace(0, 1, 14)
        rows, columns = y1[:, None] + (y2 - y1)[:, None] * steps, x1[:, None] + (x2 - x1)[:, None] * steps
        places = (49 * rows)[:, :, None].expand(-1, -1, 14), (49 * columns)[:, None].expand(-1, 14, -1)
        return _samples(feature_maps, *places).transpose(0, 1)[None]

    return of("CropAndResizeDynamic", {"feature_maps": numbers.normal(1, 256, 50, 50), "rois": rois},
              {"crop_width": 14, "crop_height": 14}, by_torch)


@formula("TorchCumPluginDynamic")
def cumulative_sum(numbers):
    return of("TorchCumPluginDynamic", {"x": numbers.normal(8, 256, 1024)}, {"dim": 2, "cum_type": 0}, lambda x: x.cumsum(2))


def _attend(value, shapes, locations, weights):
    """(batch, heads * channels, queries): multi-scale deformable attention by grid_sample."""
    batch, _, heads, channels = value.shape
    queries, points = locations.shape[1], locations.shape[4]
    grids, sampled = 2 * locations - 1, []
    for level, part in enumerate(value.split([h * w for h, w in shapes], 1)):
        maps = part.flatten(2).transpose(1, 2).reshape(batch * heads, channels, *shapes[level])
        grid = grids[:, :, :, level].transpose(1, 2).flatten(0, 1)
        sampled.append(functional.grid_sample(maps, grid, align_corners=False))
    shares = weights.transpose(1, 2).reshape(batch * heads, 1, queries, len(shapes) * points)
    return (torch.stack(sampled, -2).flatten(-2) * shares).sum(-1).reshape(batch, heads * channels, queries)


LEVELS = ((64, 64), (32, 32), (16, 16), (8, 8))
PIXELS = sum(h * w for h, w in LEVELS)


@formula("MMCVMultiScaleDeformableAttention", "MultiscaleDeformableAttnPlugin_TRT", "MultiscaleDeformableAttnPlugin_TRT/2")
def deformable_attention(numbers):
    inputs = {"value": numbers.normal(1, PIXELS, 8, 32), "value_spatial_shapes": np.int32(LEVELS),
              "value_level_start_index": np.int32([0, 4096, 5120, 5376]),
              "sampling_locations": numbers.uniform(1, 900, 8, 4, 4, 2), "attention_weights": numbers.uniform(1, 900, 8, 4, 4)}

    def by_torch(value, sampling_locations, attention_weights, **_):
        return _attend(value, LEVELS, sampling_locations, attention_weights).transpose(1, 2).contiguous()

    return of("MMCVMultiScaleDeformableAttention", inputs, {}, by_torch)


@formula("MultiScaleDeformableAttnTRT", "MultiScaleDeformableAttnTRT2")
def deformable_attention_of_offsets(numbers):
    inputs = {"value": numbers.normal(1, PIXELS, 8, 32), "value_spatial_shapes": np.int32(LEVELS),
              "reference_points": numbers.uniform(1, 900, 1, 2), "sampling_offsets": numbers.normal(1, 900, 8, 32),
              "attention_weights": numbers.normal(1, 900, 8, 16)}

    def by_torch(value, value_spatial_shapes, reference_points, sampling_offsets, attention_weights):
        extents = value_spatial_shapes.flip(1).reshape(1, 1, 1, 4, 1, 2)
        places = reference_points.reshape(1, 900, 1, 1, 1, 2) + sampling_offsets.reshape(1, 900, 8, 4, 4, 2) / extents
        y = _attend(value, LEVELS, places, attention_weights.softmax(-1).reshape(1, 900, 8, 4, 4))
        return y.reshape(1, 8, 32, 900).permute(0, 3, 1, 2).contiguous()

    return of("MultiScaleDeformableAttnTRT", inputs, {}, by_torch)


@formula("Delta2BBoxPluginDynamic")
def delta2bbox(numbers):
    low = numbers.uniform(20000, 2) * 500
    inputs = {"scores": numbers.uniform(1, 20000, 80), "deltas": numbers.normal(1, 20000, 4),
              "anchors": np.concatenate([low, low + 8 + numbers.uniform(20000, 2) * 100], 1)}

    def by_torch(scores, deltas, anchors):
        size, middle = anchors[:, 2:] - anchors[:, :2], (anchors[:, 2:] + anchors[:, :2]) / 2
        centre = middle + deltas[..., :2] * size
        limit = math.log(1000 / 16)
        half = size * deltas[..., 2:].clamp(-limit, limit).exp() / 2
        return scores.clone(), torch.cat([centre - half, centre + half], -1)

    return of("Delta2BBoxPluginDynamic", inputs, {"min_num_bbox": 1000}, by_torch, outputs=("padded_scores", "boxes"))


@formula("SplitGeLU")
def split_gelu(numbers):
    def by_torch(x):
        value, gate = x.chunk(2, 2)
        return value * functional.gelu(gate)

    return of("SplitGeLU", {"x": numbers.normal(1, 1024, 2560)}, {}, by_torch)


@formula("SeqLen2Spatial")
def sequence_to_space(numbers):
    inputs = {"x": numbers.normal(1, 4096, 320), "bias": numbers.normal(320), "residual": numbers.normal(1, 4096, 320),
              "size": np.zeros((1, 320, 64, 64), np.float32)}
    return of("SeqLen2Spatial", inputs, {}, lambda x, bias, residual, size:
              (x + bias + residual).transpose(1, 2).reshape(1, 320, 64, 64).contiguous())


@formula("DisentangledAttention_TRT", "DisentangledAttention_TRT/2")
def disentangled_attention(numbers):
    heads, length, span = 12, 256, 256
    inputs = {"c2c": numbers.normal(heads, length, length), "c2p": numbers.normal(heads, length, 2 * span),
              "p2c": numbers.normal(heads, length, 2 * span)}
    distance = torch.arange(length)[:, None] - torch.arange(length)
    middle = span // 2
    far = torch.ceil(torch.log(distance.abs().clamp(min=1) / middle) / math.log((2 * span - 1) / middle) * (middle - 1) - 1e-5)
    buckets = torch.where(distance.abs() <= middle, distance, (far + middle).long() * distance.sign())
    places = (buckets + span).clamp(0, 2 * span - 1).expand(heads, -1, -1)

    def by_torch(c2c, c2p, p2c):
        return (c2c + c2p.gather(2, places) + p2c.gather(2, places.transpose(1, 2)).transpose(1, 2)) * 0.125

    return of("DisentangledAttention_TRT", inputs, {"span": span, "factor": 0.125}, by_torch)


@formula("DynamicTRTResize")
def resize_like(numbers):
    inputs = {"x": numbers.normal(1, 64, 64, 64), "size_tensor": np.zeros((1, 1, 128, 128), np.float32)}
    return of("DynamicTRTResize", inputs, {"align_corners": 1}, lambda x, size_tensor:
              functional.interpolate(x, size=(128, 128), mode="bicubic", align_corners=True))


def _detections(numbers):
    low, size = numbers.uniform(1, 2000, 2) * 600, numbers.uniform(1, 2000, 2) * 80 + 8
    return np.concatenate([low, low + size], 2), numbers.uniform(1, 2000, 80) ** 6


def _suppressed(boxes, scores):
    """The 100 best of each class's survivors."""
    places = (scores > 0.9).nonzero()
    values = scores[places[:, 0], places[:, 1]]
    kept = torchvision.ops.batched_nms(boxes[places[:, 0]], values, places[:, 1], 0.5)[:100]
    count = len(kept)
    shown, best, classes = torch.zeros(1, 100, 4), torch.zeros(1, 100), torch.full((1, 100), -1)
    shown[0, :count], best[0, :count], classes[0, :count] = boxes[places[kept, 0]], values[kept], places[kept, 1]
    return torch.tensor([[count]]), shown, best, classes


@formula("BatchedNMSDynamic_TRT", "BatchedNMS_TRT", "BatchedNMS_TRT_CUSTOM", "TRTBatchedNMS")
def batched_nms(numbers):
    boxes, scores = _detections(numbers)
    attributes = {"shareLocation": 1, "backgroundLabelId": -1, "numClasses": 80, "topK": -1, "keepTopK": 100, "scoreThreshold": 0.9,
                  "iouThreshold": 0.5, "isNormalized": 0, "clipBoxes": 0}
    return of("BatchedNMSDynamic_TRT", {"boxes": boxes[:, :, None], "scores": scores}, attributes,
              lambda boxes, scores: _suppressed(boxes[0, :, 0], scores[0]),
              outputs=("num", "boxes_kept", "scores_kept", "classes"), whole=("num",),
              comparable=lambda outputs: {"num": outputs["num"], "scores_kept": outputs["scores_kept"]})


@formula("EfficientNMS_TRT", "EfficientNMS_Explicit_TF_TRT", "EfficientNMS_Implicit_TF_TRT")
def efficient_nms(numbers):
    boxes, scores = _detections(numbers)
    attributes = {"score_threshold": 0.9, "iou_threshold": 0.5, "max_output_boxes": 100, "background_class": -1,
                  "score_activation": 0, "box_coding": 0}
    return of("EfficientNMS_TRT", {"boxes": boxes, "scores": scores}, attributes,
              lambda boxes, scores: _suppressed(boxes[0], scores[0]),
              outputs=("num", "boxes_kept", "scores_kept", "classes"), whole=("num", "classes"),
              comparable=lambda outputs: {"num": outputs["num"], "scores_kept": outputs["scores_kept"]})


@formula(*(f"CustomEmbLayerNormPluginDynamic/{version}" for version in range(1, 7)))
def embedding_normalization(numbers):
    size, length, batch = 768, 128, 8
    gamma, beta = numbers.normal(size), numbers.normal(size)
    words, kinds, positions = numbers.normal(1000, size), numbers.normal(2, size), numbers.normal(length, size)
    weights = {"layernorm_beta": beta, "layernorm_gamma": gamma, "word_embeddings": words, "token_type_embeddings": kinds,
               "position_embeddings": positions}
    tables = [torch.from_numpy(array) for array in (words, kinds, positions, gamma, beta)]
    inputs = {"token_id": numbers.state.randint(0, 1000, (length, batch)).astype(np.int32),
              "segment_id": numbers.state.randint(0, 2, (length, batch)).astype(np.int32),
              "input_mask": np.ones((length, batch), np.int32)}

    def by_torch(token_id, segment_id, input_mask):
        words, kinds, positions, gamma, beta = tables
        sums = functional.embedding(token_id, words) + functional.embedding(segment_id, kinds) + positions[:, None]
        y = functional.layer_norm(sums, (size,), gamma, beta, 1e-6)
        return y[..., None, None], input_mask.sum(0)[:, None]

    return of("CustomEmbLayerNormPluginDynamic", inputs,
              {"output_fp16": 0, **{f"bert_embeddings_{name}": array.flatten() for name, array in weights.items()}}, by_torch,
              outputs=("embedded", "mask_idx"), whole=("mask_idx",))


@formula("CustomFCPluginDynamic")
def fully_connected(numbers):
    weights = numbers.normal(768, 3072) * np.float32(0.02)
    held = torch.from_numpy(weights)
    return of("CustomFCPluginDynamic", {"input": numbers.normal(128, 1, 768, 1, 1)},
              {"out_dims": 3072, "type_id": 0, "W": weights.flatten()},
              lambda input: (input[..., 0, 0] @ held)[..., None, None])


@formula("MMCVFurthestPointSample")
def furthest_point_sample(numbers):
    def by_torch(points):
        nearest, last, chosen = torch.full((4096,), torch.inf), torch.tensor(0), []
        for _ in range(512):
            chosen.append(last)
            nearest = torch.minimum(nearest, (points[0] - points[0, last]).square().sum(1))
            last = nearest.argmax()
        return torch.stack(chosen)[None]

    return of("MMCVFurthestPointSample", {"points": numbers.normal(1, 4096, 3)}, {"num_points": 512}, by_torch,
              outputs=("indices",), whole=("indices",))


@formula("GatherTopk")
def gather_topk(numbers):
    return of("GatherTopk", {"data": numbers.normal(1, 20000, 85), "indices": numbers.state.randint(0, 20000, (1, 2000)).astype(np.int32)},
              {}, lambda data, indices: data[0, indices[0]][None])


@formula("GridPriorsTRT", "GridAnchorDynamicPluginDynamic")
def grid_priors(numbers):
    inputs = {"base_anchors": numbers.normal(9, 4), "height": np.zeros(100, np.float32), "width": np.zeros(136, np.float32)}

    def by_torch(base_anchors, height, width):
        y, x = torch.meshgrid(torch.arange(100) * 8.0, torch.arange(136) * 8.0, indexing="ij")
        return (torch.stack([x, y, x, y], -1).reshape(-1, 1, 4) + base_anchors).reshape(-1, 4)

    return of("GridPriorsTRT", inputs, {"stride_h": 8, "stride_w": 8}, by_torch)


@formula("GridSampler3DTRT", "GridSampler3DTRT2")
def grid_sample_3d(numbers):
    inputs = {"input": numbers.normal(1, 32, 16, 32, 32), "grid": numbers.uniform(1, 3, 16, 32, 32) * 20 - 10}
    return of("GridSampler3DTRT", inputs, {"interpolation_mode": 0, "padding_mode": 0, "align_corners": 0}, lambda input, grid:
              functional.grid_sample(input, grid.permute(0, 2, 3, 4, 1) / 10, align_corners=False))


def _group_norm_inputs(numbers, *names):
    return {"x": numbers.normal(1, 320, 64, 64), **{name: numbers.normal(320) for name in names}}


@formula("GroupNormalizationPlugin", "GroupNormPluginDynamic")
def group_normalization(numbers):
    return of("GroupNormalizationPlugin", _group_norm_inputs(numbers, "scale", "bias"), {"num_groups": 32},
              lambda x, scale, bias: functional.group_norm(x, 32, scale, bias))


@formula("GroupNorm")
def group_normalization_swish(numbers):
    return of("GroupNorm", _group_norm_inputs(numbers, "gamma", "beta"), {"bSwish": 1},
              lambda x, gamma, beta: functional.silu(functional.group_norm(x, 32, gamma, beta)))


def _by_head(x):
    return x.transpose(1, 2)


@formula("fMHA_V2")
def self_attention(numbers):
    def by_torch(qkv):
        return _by_head(functional.scaled_dot_product_attention(*(_by_head(qkv[:, :, :, i]) for i in range(3)))).contiguous()

    return of("fMHA_V2", {"qkv": numbers.normal(1, 1024, 8, 3, 64)}, {}, by_torch)


@formula("fMHCA")
def cross_attention(numbers):
    def by_torch(q, kv):
        return _by_head(functional.scaled_dot_product_attention(_by_head(q), _by_head(kv[:, :, :, 0]),
                                                                _by_head(kv[:, :, :, 1]))).contiguous()

    return of("fMHCA", {"q": numbers.normal(1, 1024, 8, 64), "kv": numbers.normal(1, 77, 8, 2, 64)}, {}, by_torch)


@formula("QKVTRT", "QKVTRT2")
def plain_attention(numbers):
    return of("QKVTRT", {name: numbers.normal(8, 512, 64) for name in ("query", "key", "value")}, {},
              lambda query, key, value: functional.scaled_dot_product_attention(query, key, value))


@formula(*(f"CustomQKVToContextPluginDynamic/{version}" for version in (1, 2, 4, 5)))
def bert_attention(numbers):
    def by_torch(qkv):
        q, k, v = qkv.reshape(128, 4, 12, 3, 64).permute(3, 1, 2, 0, 4)
        return functional.scaled_dot_product_attention(q, k, v).permute(2, 0, 1, 3).reshape(128, 4, 768, 1, 1)

    return of("CustomQKVToContextPluginDynamic", {"qkv": numbers.normal(128, 4, 3 * 768, 1, 1)},
              {"type_id": 0, "hidden_size": 768, "num_heads": 12, "has_mask": 0}, by_torch)


@formula(*(f"CustomQKVToContextPluginDynamic/{version}" for version in (3, 6)))
def bert_attention_across(numbers):
    inputs = {"qkv": numbers.normal(1, 3 * 768, 512, 1), "cu_seqlens": np.int32([0, 128, 256, 384, 512]),
              "max_seqlen": np.zeros(128, np.int32)}

    def by_torch(qkv, **_):
        q, k, v = qkv.reshape(12, 3, 64, 4, 128).permute(1, 3, 0, 4, 2)
        return functional.scaled_dot_product_attention(q, k, v).permute(1, 3, 0, 2).reshape(1, 768, 512, 1)

    return of("CustomQKVToContextPluginDynamic", inputs, {"hidden_size": 768, "num_heads": 12}, by_torch, version=3)


@formula("InverseTRT")
def inverse(numbers):
    return of("InverseTRT", {"x": numbers.normal(64, 16, 16) + 8 * np.eye(16, dtype=np.float32)}, {}, lambda x: torch.linalg.inv(x))


@formula("Normalize_TRT")
def l2_normalization(numbers):
    weights = numbers.normal(512)
    scale = torch.from_numpy(weights).reshape(1, -1, 1, 1)
    return of("Normalize_TRT", {"x": numbers.normal(1, 512, 38, 38)},
              {"weights": weights.tolist(), "acrossSpatial": 0, "channelShared": 0, "nbWeights": 1},
              lambda x: functional.normalize(x, dim=1) * scale)


def _rows(numbers, *names):
    return {**{name: numbers.normal(8, 128, 768) for name in names}, "gamma": numbers.normal(768), "beta": numbers.normal(768)}


@formula("LayerNorm")
def layer_normalization(numbers):
    return of("LayerNorm", _rows(numbers, "x"), {}, lambda x, gamma, beta: functional.layer_norm(x, (768,), gamma, beta))


@formula("SkipLayerNormV1")
def skip_layer_normalization(numbers):
    return of("SkipLayerNormV1", _rows(numbers, "x", "skip"), {},
              lambda x, skip, gamma, beta: functional.layer_norm(x + skip, (768,), gamma, beta))


@formula("SkipLayerNormV2")
def skip_layer_normalization_and_sum(numbers):
    def by_torch(x, skip, gamma, beta):
        total = x + skip
        return functional.layer_norm(total, (768,), gamma, beta), total

    return of("SkipLayerNormV2", _rows(numbers, "x", "skip"), {}, by_torch, outputs=("y", "sum"))


def _skip(numbers, version, *shape):
    gamma, beta = numbers.normal(768), numbers.normal(768)
    held = torch.from_numpy(gamma), torch.from_numpy(beta)

    def by_torch(input, skip):
        total = input + skip
        if version == 1:
            return functional.layer_norm(total[..., 0, 0], (768,), *held)[..., None, None]
        return functional.layer_norm(total.transpose(1, 3), (768,), *held).transpose(1, 3).contiguous()

    return of("CustomSkipLayerNormPluginDynamic", {name: numbers.normal(*shape) for name in ("input", "skip")},
              {**({"type_id": 0, "ld": 768} if version == 1 else {}), "beta": beta, "gamma": gamma}, by_torch, version=version)


@formula(*(f"CustomSkipLayerNormPluginDynamic/{version}" for version in (1, 2, 5, 6)))
def bert_skip_normalization(numbers):
    return _skip(numbers, 1, 128, 8, 768, 1, 1)


@formula(*(f"CustomSkipLayerNormPluginDynamic/{version}" for version in (3, 4, 7, 8)))
def bert_skip_normalization_across(numbers):
    return _skip(numbers, 3, 1, 768, 1024, 1)


@formula("MMCVMaskedConv2d")
def masked_convolution(numbers):
    weight, bias = numbers.normal(64, 64, 3, 3) * np.float32(0.05), numbers.normal(64)
    held = torch.from_numpy(weight), torch.from_numpy(bias)
    inputs = {"features": numbers.normal(1, 64, 64, 64), "mask": (numbers.uniform(1, 64, 64) > 0.5).astype(np.float32),
              "weight": weight, "bias": bias}
    return of("MMCVMaskedConv2d", inputs, {"padding": [1, 1], "stride": 1},
              lambda features, mask: functional.conv2d(features, *held, padding=1) * mask[:, None], constants=("weight", "bias"))


@formula("MMCVMultiLevelRoiAlign", "RoiExtractorPluginDynamic")
def multi_level_roi_align(numbers):
    low, size = numbers.uniform(500, 2) * 256, 8 + numbers.uniform(500, 2) ** 2 * 240
    rois = np.concatenate([np.zeros((500, 1), np.float32), low, low + size], 1)
    strides = [4.0, 8.0, 16.0, 32.0]
    maps = {f"feat{i}": numbers.normal(1, 256, *[int(512 / stride)] * 2) for i, stride in enumerate(strides)}

    def by_torch(rois, **maps):
        scale = ((rois[:, 3] - rois[:, 1]) * (rois[:, 4] - rois[:, 2])).sqrt()
        levels = (scale / 56 + 1e-6).log2().floor().clamp(0, 3)
        y = torch.zeros(len(rois), 256, 7, 7)
        for level, (x, stride) in enumerate(zip(maps.values(), strides)):
            chosen = (levels == level).nonzero()[:, 0]
            y[chosen] = torchvision.ops.roi_align(x, rois[chosen], 7, 1 / stride, 2, True)
        return y

    attributes = {"featmap_strides": strides, "output_height": 7, "output_width": 7, "sampling_ratio": 2, "roi_scale_factor": -1.0,
                  "finest_scale": 56, "aligned": 1, "pool_mode": 1}
    return of("MMCVMultiLevelRoiAlign", {"rois": rois, **maps}, attributes, by_torch)


def _cloud(numbers):
    return {"features": numbers.normal(1, 64, 16384)}


@formula("MMCVThreeInterpolate")
def three_interpolate(numbers):
    inputs = {**_cloud(numbers), "indices": numbers.state.randint(0, 16384, (1, 4096, 3)).astype(np.int32),
              "weights": numbers.uniform(1, 4096, 3)}
    return of("MMCVThreeInterpolate", inputs, {},
              lambda features, indices, weights: (features[0][:, indices[0]] * weights[0]).sum(-1)[None])


@formula("MMCVGroupPoints")
def group_points(numbers):
    inputs = {**_cloud(numbers), "indices": numbers.state.randint(0, 16384, (1, 1024, 16)).astype(np.int32)}
    return of("MMCVGroupPoints", inputs, {}, lambda features, indices: features[0][:, indices[0]][None])


@formula("MMCVGatherPoints")
def gather_points(numbers):
    inputs = {**_cloud(numbers), "indices": numbers.state.randint(0, 16384, (1, 4096)).astype(np.int32)}
    return of("MMCVGatherPoints", inputs, {}, lambda features, indices: features[0][:, indices[0]][None])


@formula("PillarScatterPlugin")
def pillar_scatter(numbers):
    rows, columns, pillars = 496, 432, 12000
    places = numbers.state.permutation(rows * columns)[:pillars]
    coordinates = np.zeros((1, pillars, 4), np.int32)
    coordinates[0, :, 2], coordinates[0, :, 3] = places // columns, places % columns
    inputs = {"features": numbers.normal(1, pillars, 64), "coordinates": coordinates, "num_pillars": np.int32([pillars])}

    def by_torch(features, coordinates, num_pillars):
        y = torch.zeros(64, rows, columns)
        y[:, coordinates[0, :, 2], coordinates[0, :, 3]] = features[0].T
        return y[None]

    return of("PillarScatterPlugin", inputs, {"dense_shape": [rows, columns]}, by_torch)


def _squares(a, b):
    return (a[:, :, None] - b[:, None]).square().sum(-1)


def _distances(a, b, indices):
    """Of points b from their a, which tells alike neighbours of nearly one distance."""
    return np.linalg.norm(b[0][indices[0]] - a[0][:, None], axis=-1)


@formula("MMCVKNN")
def nearest_neighbours(numbers):
    points, centers = numbers.normal(1, 4096, 3), numbers.normal(1, 1024, 3)
    return of("MMCVKNN", {"points": points, "centers": centers}, {"k": 16},
              lambda points, centers: _squares(centers, points).topk(16, largest=False).indices.transpose(1, 2),
              outputs=("indices",), whole=("indices",),
              comparable=lambda outputs: {"distances": _distances(centers, points, outputs["indices"].transpose(0, 2, 1))})


@formula("MMCVThreeNN")
def three_neighbours(numbers):
    target, source = numbers.normal(1, 4096, 3), numbers.normal(1, 1024, 3)

    def by_torch(target, source):
        found = _squares(target, source).topk(3, largest=False)
        return found.values.sqrt(), found.indices

    return of("MMCVThreeNN", {"target": target, "source": source}, {}, by_torch, outputs=("distances", "indices"),
              comparable=lambda outputs: {"distances": outputs["distances"],
                                          "places": _distances(target, source, outputs["indices"])})


@formula("MMCVBallQuery")
def ball_query(numbers):
    points, centers = numbers.uniform(1, 4096, 3), numbers.uniform(1, 1024, 3)

    def by_torch(points, centers):
        near = _squares(centers, points) < 0.04
        order = torch.where(near, torch.arange(4096), 4096).topk(16, largest=False, sorted=True).values
        order = torch.where(order == 4096, order[..., :1], order)
        return torch.where(order == 4096, 0, order)

    return of("MMCVBallQuery", {"points": points, "centers": centers}, {"min_radius": 0.0, "max_radius": 0.2, "sample_num": 16}, by_torch,
              outputs=("indices",), whole=("indices",))


@formula("FlattenConcat_TRT")
def flatten_concat(numbers):
    inputs = {f"x{i}": numbers.normal(1, 256, size, size) for i, size in enumerate((64, 32, 16))}
    return of("FlattenConcat_TRT", inputs, {"axis": 1, "ignoreBatch": 0},
              lambda **inputs: torch.cat([x.flatten(1) for x in inputs.values()], 1)[..., None, None])


@formula("BatchTilePlugin_TRT")
def batch_tile(numbers):
    return of("BatchTilePlugin_TRT", {"images": np.zeros((8, 1), np.float32), "x": numbers.normal(1, 256, 32, 32)}, {},
              lambda images, x: x.repeat(len(images), 1, 1, 1))


@formula("SpecialSlice_TRT")
def special_slice(numbers):
    return of("SpecialSlice_TRT", {"detections": numbers.normal(8, 20000, 6)}, {}, lambda detections: detections[..., :4].contiguous())


@formula("Reorg_TRT", "Reorg_TRT/2")
def reorg(numbers):
    def by_torch(x):
        blocks = functional.pixel_unshuffle(x.reshape(8, 16, 104, 104), 2)
        return blocks.reshape(8, 16, 4, 52, 52).transpose(1, 2).reshape(8, 256, 26, 26)

    return of("Reorg_TRT", {"x": numbers.normal(8, 64, 52, 52)}, {"stride": 2}, by_torch)


@formula("Region_TRT")
def region(numbers):
    def by_torch(x):
        y = x.reshape(8, 5, 85, 19, 19)
        return torch.cat([y[:, :, :2].sigmoid(), y[:, :, 2:4], y[:, :, 4:5].sigmoid(), y[:, :, 5:].softmax(2)], 2).reshape(x.shape)

    return of("Region_TRT", {"x": numbers.normal(8, 425, 19, 19)}, {"num": 5, "coords": 4, "classes": 80}, by_torch)


@formula("RotateTRT", "RotateTRT2")
def rotate(numbers):
    inputs = {"img": numbers.normal(256, 200, 200), "angle": np.float32([30]), "center": np.float32([100, 100])}

    def by_torch(img, angle, center):
        turn = -torch.deg2rad(angle)
        cosine, sine = turn.cos(), turn.sin()
        (cx, cy), zero = center - 100, torch.zeros(1)
        theta = torch.stack([torch.cat([cosine, sine, (-cx * cosine - cy * sine + cx) / 100]),
                             torch.cat([-sine, cosine, (cx * sine - cy * cosine + cy) / 100])])
        grid = functional.affine_grid(theta[None], (1, 1, 200, 200), align_corners=False)
        return functional.grid_sample(img[None], grid, align_corners=False)[0]

    return of("RotateTRT", inputs, {"interpolation": 0}, by_torch)


@formula("ScatterElements", "ScatterElements/2")
def scatter_elements(numbers):
    indices = np.argsort(numbers.uniform(1024, 512), 0)[:256]
    inputs = {"data": numbers.normal(1024, 512), "indices": indices.astype(np.int64), "updates": numbers.normal(256, 512)}
    return of("ScatterElements", inputs, {"axis": 0}, lambda data, indices, updates: data.scatter(0, indices, updates), version=2)


@formula("SoftNonMaxSuppression")
def soft_nms(numbers):
    low = numbers.uniform(300, 2) * 200
    boxes = np.concatenate([low, low + 8 + numbers.uniform(300, 2) * 60], 1)

    def by_torch(boxes, scores):
        scores, left = scores.clone(), torch.ones(300, dtype=torch.bool)
        overlaps = torchvision.ops.box_iou(boxes, boxes)
        rows, indices = torch.zeros(300, 5), torch.full((300,), -1)
        for row in range(300):
            if not left.any():
                break
            best = torch.where(left, scores, -1).argmax()
            rows[row, :4], rows[row, 4], indices[row] = boxes[best], scores[best], best
            left[best] = False
            scores = scores * torch.exp(-overlaps[best].square() / 0.5)
            left &= scores >= 1e-3
        return rows, indices

    return of("SoftNonMaxSuppression", {"boxes": boxes, "scores": numbers.uniform(300)},
              {"iou_threshold": 0.3, "sigma": 0.5, "min_score": 1e-3, "method": 2, "offset": 0}, by_torch, outputs=("dets", "indices"),
              comparable=lambda outputs: {"dets": outputs["dets"]})


@formula("TopkLastDim")
def topk(numbers):
    return of("TopkLastDim", {"x": numbers.normal(8, 8400)}, {"type_id": 0, "k": 300, "is_largest": 1, "axis": -1},
              lambda x: tuple(x.topk(300)), outputs=("values", "indices"))


@formula("TorchUnfoldPluginDynamic")
def unfold(numbers):
    return of("TorchUnfoldPluginDynamic", {"x": numbers.normal(1, 64, 64, 64)}, {"kernel_size": [3]}, lambda x: functional.unfold(x, 3))


@formula("UpsamplePlugin")
def upsample_bilinear(numbers):
    return of("UpsamplePlugin", {"x": numbers.normal(1, 64, 64, 64)}, {"scaleFactor": 2, "alignCorners": 0}, lambda x:
              functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False))


@formula("ResizeNearest_TRT", "UpSamplePlugin_TRT/01/_TRT")
def upsample_nearest(numbers):
    return of("ResizeNearest_TRT", {"x": numbers.normal(1, 64, 64, 64)}, {"scale": 2.0}, lambda x:
              functional.interpolate(x, scale_factor=2, mode="nearest"))
