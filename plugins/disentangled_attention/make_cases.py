"""Writes cases.json: scores of DeBERTa by their definition. Needs NumPy."""
import math
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

random = numpy.random.RandomState(0)


def sixteenths(*shape):
    # Multiples of 1/16 within 2, so that fp16 holds them exactly.
    return random.randint(-32, 33, shape).astype("float32") / 16


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
