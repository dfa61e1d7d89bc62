"""Writes cases.json: BERT's embeddings by their definition. Needs NumPy."""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402
from normalized_rows import normalized  # noqa: E402

random = numpy.random.RandomState(0)


def sixteenths(*shape):
    # Multiples of 1/16 within 2, so that fp16 holds them exactly.
    return random.randint(-32, 33, shape).astype("float32") / 16


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
write(__file__)
