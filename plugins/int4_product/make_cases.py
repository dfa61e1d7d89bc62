"""Writes cases.json: products with weights of 4 bits by their definition. Needs NumPy."""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

random = numpy.random.RandomState(0)


def sixteenths(*shape):
    # Multiples of 1/16 within 1, so that fp16 holds them exactly.
    return random.randint(-16, 17, shape).astype("float32") / 16


def packed(q):
    """Weights (outputs, inputs) from 0 to 15, as tensorrt_edgellm orders them: within 32 inputs, within 8 of these, and
    four outputs beside each other in blocks of 64 inputs."""
    n, k = q.shape
    q = q.reshape(n, k // 32, 4, 4, 2).transpose(0, 1, 3, 2, 4).reshape(n, k // 32, 4, 4, 2).transpose(0, 1, 2, 4, 3)
    q = q.reshape(n // 4, 4, k // 64, 64).transpose(0, 2, 1, 3).reshape(n // 4, k, 4)
    pairs = q[..., 0::2] | q[..., 1::2] << 4
    return pairs.astype("uint8").reshape(n // 2, k).view("int8")


def product(name, rows, outputs, inputs, group):
    x = sixteenths(*rows, inputs)
    q = random.randint(0, 16, (outputs, inputs))
    scales = (random.randint(1, 17, (inputs // group, outputs)) / 64).astype("float32")
    weights = (q - 8).T * numpy.repeat(scales, group, 0).astype("float64")
    case("Int4GroupwiseGemmPlugin", name, {"gemm_n": outputs, "gemm_k": inputs, "group_size": group},
         {"input": x, "weights": packed(q), "scales": scales}, {"output": (x @ weights).astype("float32")},
         tolerance=(2e-5, 4e-3))


product("two rows", (1, 2), 8, 128, 128)
product("groups of 64", (3,), 12, 192, 64)
product("more outputs than are unpacked at a time", (1,), 516, 64, 64)
product("no rows", (0, 2), 4, 64, 64)
write(__file__)
