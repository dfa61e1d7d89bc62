"""Writes cases.json: attention with a cache by its definition. Needs NumPy."""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

random = numpy.random.RandomState(0)


def sixteenths(*shape):
    # Multiples of 1/16 within 1, so that fp16 holds them exactly.
    return random.randint(-16, 17, shape).astype("float32") / 16


def turned(x, table):
    """The rotated features of x, by cosines and sines: the first half with the second."""
    half = len(table) // 2
    cosine, sine, y = table[:half], table[half:], x.copy()
    y[..., :half] = x[..., :half] * cosine - x[..., half:2 * half] * sine
    y[..., half:2 * half] = x[..., half:2 * half] * cosine + x[..., :half] * sine
    return y


def attention(name, batch, tokens, heads, key_heads, size, capacity, starts, lengths, rotated=None, tables=1, tree=False,
              plain_tree=False, masks=None):
    """`starts` None: all tokens are new. `masks`: how many there are that mean nothing; None: one for each sequence."""
    rotated = size if rotated is None else rotated
    qkv = sixteenths(batch, tokens, (heads + 2 * key_heads) * size)
    cache = sixteenths(batch, 2, key_heads, capacity, size)
    angles = random.uniform(0, 6, (tables, capacity, rotated // 2))
    rope = numpy.concatenate([numpy.cos(angles), numpy.sin(angles)], -1).astype("float32")
    begin = starts or [0] * batch
    bits = numpy.tril(random.randint(0, 2, (batch, tokens, tokens))) | numpy.eye(tokens, dtype=int)
    places = numpy.array([[b + int(s) for s in range(tokens)] for b in begin]).reshape(batch, tokens)
    if tree:
        places = numpy.array([[begin[n] + int(bits[n, s].sum()) - 1 for s in range(tokens)] for n in range(batch)])
    parts = numpy.split(qkv.reshape(batch, tokens, heads + 2 * key_heads, size).astype("float64"),
                        [heads, heads + key_heads], 2)
    extended, y = cache.copy(), numpy.zeros((batch, tokens, heads, size), "float32")
    for n in range(batch):
        table = rope[n if tables > 1 else 0].astype("float64")
        for s in range(tokens):
            if begin[n] + s < lengths[n]:
                extended[n, 0, :, begin[n] + s] = turned(parts[1][n, s], table[places[n, s]])
                extended[n, 1, :, begin[n] + s] = parts[2][n, s]
        for s in range(tokens):
            q = turned(parts[0][n, s], table[places[n, s]])
            seen = [k for k in range(lengths[n])
                    if (k <= begin[n] + s if not tree or k < begin[n] else bits[n, s, k - begin[n]])]
            for h in range(heads):
                keys, values = extended[n, :, h // (heads // key_heads)][:, seen].astype("float64")
                scores = keys @ q[h] / size ** 0.5
                weights = numpy.exp(scores - scores.max(initial=0))
                y[n, s, h] = weights @ values / weights.sum() if seen else 0
    inputs = {"qkv": qkv, "kv_cache": cache, "context_lengths": numpy.int32(lengths), "rope_cos_sin": rope,
              "kv_cache_start": numpy.array(starts or [], "int32")}
    if tree or plain_tree:
        words = numpy.zeros((batch, tokens, 1), "int64")
        for s in range(tokens):
            words[:, :, 0] |= bits[:, :, s] << s
        inputs["attention_mask"] = words.astype("int32") if tree else numpy.zeros((masks or batch, 1, 1), "int32")
        inputs["attention_pos_id"] = places.astype("int32") if tree else numpy.zeros((batch, 1), "int32")
    case("AttentionPlugin", name, {"num_q_heads": heads, "num_kv_heads": key_heads, "head_size": size,
                                   "enable_tree_attention": int(tree or plain_tree)}, inputs,
         {"attention": y, "extended_kv_cache": extended}, fixed=("rope_cos_sin",), tolerance=(2e-5, 4e-3))


attention("all tokens are new", 2, 5, 4, 2, 8, 9, None, [5, 3])
attention("one more token", 3, 1, 2, 1, 4, 7, [4, 0, 6], [5, 1, 7])
attention("a chunk", 2, 3, 2, 2, 6, 10, [4, 2], [7, 5], rotated=4, tables=2)
attention("a tree", 2, 4, 2, 1, 4, 9, [3, 5], [7, 9], tree=True)
attention("plain tokens where trees are possible", 1, 3, 2, 1, 4, 8, [2], [5], plain_tree=True)
attention("no batch", 0, 2, 2, 1, 4, 4, None, [])
attention("one token of a prompt where trees are possible", 2, 1, 2, 1, 4, 8, None, [1, 1], plain_tree=True)
attention("one more token beside a mask of another batch", 3, 1, 2, 1, 4, 7, [4, 2, 6], [5, 3, 7], plain_tree=True, masks=1)
write(__file__)
