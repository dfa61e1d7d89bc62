"""Writes cases.json: BERT's and DeBERTa's layers as PyTorch works them out in float64. Needs NumPy and PyTorch."""
import math
import pathlib
import sys

import numpy
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

random = numpy.random.RandomState(0)


def sixteenths(*shape):
    # Multiples of 1/16 within 2, so that fp16 holds them exactly.
    return random.randint(-32, 33, shape).astype("float32") / 16


def normalized(x, gamma, beta, axis=-1):
    x = torch.from_numpy(numpy.moveaxis(x.astype("float64"), axis, -1))
    y = torch.nn.functional.layer_norm(x, x.shape[-1:], torch.from_numpy(gamma).double(),
                                       torch.from_numpy(beta).double(), 2.0 ** -23)
    return numpy.moveaxis(y.float().numpy(), -1, axis)


def tables(size, tokens, segments, positions):
    names = [("layernorm_beta", (size,)), ("layernorm_gamma", (size,)), ("word_embeddings", (tokens, size)),
             ("token_type_embeddings", (segments, size)), ("position_embeddings", (positions, size))]
    return {f"bert_embeddings_{name}": sixteenths(*shape) for name, shape in names}


def fields(weights):
    return {key: value.flatten() for key, value in weights.items()}


def embeddings(name, length, batch, size):
    weights = tables(size, 11, 2, 9)
    beta, gamma, words, kinds, positions = weights.values()
    tokens = random.randint(0, 11, (length, batch)).astype("int32")
    segments = random.randint(0, 2, (length, batch)).astype("int32")
    counts = random.randint(0, length + 1, batch)
    mask = (numpy.arange(length)[:, None] < counts).astype("int32")
    y = normalized(words[tokens] + kinds[segments] + positions[:length, None], gamma, beta)
    for version in ("1", "6"):
        case("CustomEmbLayerNormPluginDynamic", name, {"output_fp16": 0, **fields(weights)},
             {"token_id": tokens, "segment_id": segments, "input_mask": mask},
             {"embedded": y.reshape(length, batch, size, 1, 1), "mask_idx": counts.reshape(batch, 1).astype("int32")},
             version=version, tolerance=(2e-5, 2e-3))


embeddings("two sequences", 6, 2, 8)
embeddings("one token", 1, 1, 3)
embeddings("no tokens", 0, 2, 4)
embeddings("no sequences", 3, 0, 4)


def of_lengths(name, lengths, size):
    weights = tables(size, 11, 2, 9)
    beta, gamma, words, kinds, positions = weights.values()
    total = sum(lengths)
    tokens, segments = random.randint(0, 11, total).astype("int32"), random.randint(0, 2, total).astype("int32")
    places = numpy.concatenate([numpy.arange(n) for n in lengths] or [numpy.zeros(0, int)]).astype(int)
    sums = (words[tokens] + kinds[segments] + positions[places]).astype("float32")
    y = normalized(sums, gamma, beta)
    inputs = {"token_id": tokens, "segment_id": segments, "cu_seqlen": numpy.cumsum([0, *lengths]).astype("int32"),
              "max_seqlen": numpy.int32([max(lengths, default=0)])}
    shape = (total, size, 1, 1)
    for version in ("2", "3", "4", "5"):
        # The second result of 2 and 4 has no meaning.
        second = {} if version in ("2", "4") else {"mask_idx": sums.reshape(shape)}
        case("CustomEmbLayerNormPluginDynamic", name, fields(weights), inputs,
             {"embedded": y.reshape(shape), **(second or {"mask_idx": numpy.float32(0)})}, version=version,
             tolerance=(2e-5, 2e-3))


of_lengths("sequences of lengths", [4, 1, 7], 6)
of_lengths("an empty sequence", [3, 0, 2], 5)


def skip_norm(name, length, batch, size, has_bias):
    x, skip = sixteenths(length, batch, size), sixteenths(length, batch, size)
    gamma, beta, bias = sixteenths(size), sixteenths(size), sixteenths(size)
    y = normalized(x + skip + (bias if has_bias else 0), gamma, beta)
    attributes = {"type_id": 0, "ld": size, "beta": beta, "gamma": gamma, **({"bias": bias} if has_bias else {})}

    def tensors(*shape):
        return {"input": x.reshape(shape), "skip": skip.reshape(shape)}, {"output": y.reshape(shape)}

    for version in ("1", "2", "5", "6"):
        if version in ("1", "5"):
            case("CustomSkipLayerNormPluginDynamic", name, attributes, *tensors(length, batch, size, 1, 1),
                 version=version, tolerance=(2e-5, 4e-3))
        else:
            case("CustomSkipLayerNormPluginDynamic", name, {k: v for k, v in attributes.items() if k != "ld"},
                 *tensors(length * batch, size, 1, 1), version=version, tolerance=(2e-5, 4e-3))
    y = normalized(x + skip, gamma, beta)
    across = {key: value.reshape(-1, size).T.reshape(1, size, length * batch, 1)
              for key, value in (("input", x), ("skip", skip), ("output", y), ("sum", x + skip))}
    for version in ("3", "4", "7", "8"):
        outputs = {"output": across["output"], **({"sum": across["sum"]} if version in ("4", "8") else {})}
        case("CustomSkipLayerNormPluginDynamic", name, {"beta": beta, "gamma": gamma},
             {"input": across["input"], "skip": across["skip"]}, outputs, version=version, tolerance=(2e-5, 4e-3))


skip_norm("two sequences", 5, 2, 12, False)
skip_norm("a bias", 3, 1, 40, True)
skip_norm("no tokens", 0, 2, 4, False)


def product(name, rows, batch, depth, columns):
    x, weights = sixteenths(rows, batch, depth), sixteenths(depth, columns)
    y = (x.astype("float64") @ weights).astype("float32")
    case("CustomFCPluginDynamic", name, {"out_dims": columns, "type_id": 0, "W": weights.flatten()},
         {"input": x.reshape(rows, batch, depth, 1, 1)}, {"output": y.reshape(rows, batch, columns, 1, 1)})


product("a product", 3, 2, 5, 7)
product("longer than vectors", 2, 9, 33, 18)
product("one element", 1, 1, 1, 1)
product("no rows", 0, 2, 4, 3)


def bucket(distance, span, positions):
    """transformers' make_log_bucket_position."""
    middle = span // 2
    if abs(distance) <= middle:
        at = distance
    else:
        far = math.ceil(round(math.log(abs(distance) / middle) / math.log((positions - 1) / middle) * (middle - 1), 5))
        at = (far + middle) * (1 if distance > 0 else -1)
    return min(max(at + span, 0), positions - 1)


def disentangled(name, heads, length, span):
    content = sixteenths(heads, length, length)
    to, from_ = sixteenths(heads, length, 2 * span), sixteenths(heads, length, 2 * span)
    y = numpy.zeros_like(content)
    for i, j in numpy.ndindex(length, length):
        at = bucket(i - j, span, 2 * span)
        y[:, i, j] = (content[:, i, j] + to[:, i, at] + from_[:, j, at]) * 0.25
    for version in ("1", "2"):
        case("DisentangledAttention_TRT", name, {"span": span, "factor": 0.25},
             {"c2c": content, "c2p": to, "p2c": from_}, {"scores": y}, version=version)


disentangled("near", 2, 5, 8)
disentangled("far", 1, 40, 8)
disentangled("farther than all buckets", 1, 30, 4)
disentangled("no heads", 0, 3, 2)
write(__file__)
