"""Writes cases.json: softmax(q k^T / sqrt(d)) v as PyTorch works it out in float64. Needs NumPy and PyTorch."""
import pathlib
import sys

import numpy
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402
from quantized import quantized_case  # noqa: E402

random = numpy.random.RandomState(0)


def sixteenths(*shape, most=32):
    # Multiples of 1/16, so that fp16 holds them exactly.
    return random.randint(-most, most + 1, shape).astype("float32") / 16


def attend(q, k, v, lengths=None):
    """(B, heads, tokens, d) each. A batch sees its first keys."""
    kind = q.dtype
    q, k, v = (torch.from_numpy(numpy.ascontiguousarray(x)).double() for x in (q, k, v))
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if lengths is not None:
        hidden = torch.arange(k.shape[2])[None] >= torch.as_tensor(lengths)[:, None]
        scores = scores.masked_fill(hidden[:, None, None], float("-inf"))
    return (scores.softmax(-1).nan_to_num() @ v).numpy().astype(kind)


def by_head(x):
    return x.transpose(0, 2, 1, 3)


def packed(name, batch, tokens, heads, features):
    qkv = sixteenths(batch, tokens, heads, 3, features)
    y = by_head(attend(*(by_head(qkv[:, :, :, i]) for i in range(3))))
    case("fMHA_V2", name, {}, {"qkv": qkv}, {"y": y})


packed("two heads", 2, 5, 2, 4)
packed("many tokens", 1, 70, 1, 33)
packed("one of each", 1, 1, 1, 1)
packed("no batch", 0, 3, 2, 4)


def crossed(name, batch, queries, keys, heads, features):
    q, kv = sixteenths(batch, queries, heads, features), sixteenths(batch, keys, heads, 2, features)
    y = by_head(attend(by_head(q), by_head(kv[:, :, :, 0]), by_head(kv[:, :, :, 1])))
    case("fMHCA", name, {}, {"q": q, "kv": kv}, {"y": y})


crossed("two heads", 2, 5, 7, 2, 4)
crossed("many queries", 1, 40, 3, 3, 17)
crossed("no queries", 1, 0, 3, 2, 4)
crossed("no keys", 1, 2, 0, 1, 3)


def plain(name, batch, queries, keys, features, largest=None):
    q, k, v = sixteenths(batch, queries, features), sixteenths(batch, keys, features), sixteenths(batch, keys, features)
    names, inputs = ("QKVTRT", "QKVTRT2"), {"query": q, "key": k, "value": v}

    def attended(inputs):
        return attend(*(x[:, None] for x in inputs.values()))[:, 0]

    if largest is not None:
        return quantized_case(names, name, {}, inputs, attended, "y", largest=largest)
    for plugin in names:
        case(plugin, name, {}, inputs, {"y": attended(inputs)})


plain("batches", 3, 4, 6, 8)
plain("large scores", 1, 18, 20, 64)
plain("no batch", 0, 2, 2, 3)


def bert(name, batch, tokens, heads, features, masked):
    qkv = sixteenths(tokens, batch, heads, 3, features)
    lengths = random.randint(1, tokens + 1, batch).astype("int32")
    q, k, v = (qkv[:, :, :, i].transpose(1, 2, 0, 3) for i in range(3))
    y = attend(q, k, v, lengths if masked else None).transpose(2, 0, 1, 3)
    size = heads * features
    attributes = {"type_id": 0, "hidden_size": size, "num_heads": heads, "has_mask": int(masked)}
    inputs = {"qkv": qkv.reshape(tokens, batch, 3 * size, 1, 1)}
    if masked:
        inputs["mask"] = lengths.reshape(batch, 1)
    for version in ("1", "2", "4", "5"):
        case("CustomQKVToContextPluginDynamic", name, attributes, inputs,
             {"context": y.reshape(tokens, batch, size, 1, 1)}, version=version)


bert("sequences", 2, 6, 2, 4, False)
bert("a mask", 3, 9, 2, 5, True)
bert("one token", 1, 1, 1, 2, True)


def of_lengths(name, lengths, heads, features, longest=None):
    total, size = sum(lengths), heads * features
    starts = numpy.cumsum([0, *lengths]).astype("int32")
    qkv = sixteenths(total, heads, 3, features)
    y = numpy.zeros((total, heads, features), "float32")
    for first, end in zip(starts, starts[1:]):
        q, k, v = (qkv[None, first:end, :, i].transpose(0, 2, 1, 3) for i in range(3))
        y[first:end] = attend(q, k, v)[0].transpose(1, 0, 2)
    most = numpy.zeros(longest or max(lengths, default=1), "int32")
    attributes = {"hidden_size": size, "num_heads": heads}
    for version in ("2", "5"):
        case("CustomQKVToContextPluginDynamic", name,
             {**attributes, "type_id": 1, "has_mask": 1, "var_seqlen": 1},
             {"qkv": qkv.reshape(total, 3 * size, 1, 1), "mask": numpy.zeros((len(lengths), 1), "int32"),
              "cu_seqlens": starts, "max_seqlen": most}, {"context": y.reshape(total, size, 1, 1)}, version=version)
    across = qkv.reshape(total, 3 * size).T.reshape(1, 3 * size, total, 1)
    for version in ("3", "6"):
        case("CustomQKVToContextPluginDynamic", name, attributes,
             {"qkv": across, "cu_seqlens": starts, "max_seqlen": most},
             {"context": y.reshape(total, size).T.reshape(1, size, total, 1)}, version=version)


of_lengths("sequences of lengths", [3, 1, 5], 2, 4)
of_lengths("an empty sequence", [2, 0, 4], 1, 3, 6)
of_lengths("no sequences", [], 2, 4)
exact = numpy.full(1, 0.01)
while abs(abs(exact * 50) % 1 - 0.5).min() < 1e-2:  # until none is rounded by chance
    steps = random.randint(-100, 101, (5, 2, 3, 4)).astype("int8")
    q, k, v = (steps[None, :, :, i].transpose(0, 2, 1, 3).astype("float32") / 64 for i in range(3))
    exact = attend(q, k, v)[0].transpose(1, 0, 2).reshape(5, 8)
for version in ("3", "6"):
    case("CustomQKVToContextPluginDynamic", "int8", {"hidden_size": 8, "num_heads": 2, "use_explicit_int8": 1,
                                                     "input_qkv_scale": 1 / 64, "output_ctx_scale": 0.02},
         {"qkv": steps.reshape(5, 24).T.reshape(1, 24, 5, 1), "cu_seqlens": numpy.int32([0, 5]),
          "max_seqlen": numpy.zeros(5, "int32")},
         {"context": numpy.round(exact * 50).clip(-128, 127).astype("int8").T.reshape(1, 8, 5, 1)}, version=version)
plain("int8", 3, 4, 6, 8, 127)
plain("int8 that saturates", 2, 5, 3, 7, 190)
write(__file__)
