"""Attention and products of matrices."""
import math

import numpy as np
import torch
import torch.nn.functional as functional

from plugin_formulas.registry import formula, of


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


@formula("CustomFCPluginDynamic")
def fully_connected(numbers):
    weights = numbers.normal(768, 3072) * np.float32(0.02)
    held = torch.from_numpy(weights)
    return of("CustomFCPluginDynamic", {"input": numbers.normal(128, 1, 768, 1, 1)},
              {"out_dims": 3072, "type_id": 0, "W": weights.flatten()},
              lambda input: (input[..., 0, 0] @ held)[..., None, None])


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
