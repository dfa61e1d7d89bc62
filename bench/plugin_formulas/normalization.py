"""Normalisations."""
import numpy as np
import torch
import torch.nn.functional as functional

from plugin_formulas.registry import formula, of


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
