"""Remainders, powers and norms, by Python's integers, by C's fmod and in float64: exact, and in 16 bits as near as
the result can be, whatever is summed on the way."""
import math
import unittest

import numpy as np
from onnx import helper

from properties import Case, Properties, fed

INTEGERS = [np.int8, np.uint8, np.int32, np.int64]


def pair_of_shapes(rng):
    """Two that broadcast."""
    shape = [int(e) for e in rng.integers(1, 6, rng.integers(1, 4))]
    a, b = (tuple(1 if rng.random() < 0.2 else e for e in shape) for _ in range(2))
    return (a, b[rng.integers(len(b)):]) if rng.random() < 0.3 else (a, b)


def integers(rng, shape, dtype):
    """Many small ones, and some at the limits."""
    limits = np.iinfo(dtype)
    x = rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
    small = rng.integers(0 if limits.min == 0 else -9, 10, shape).astype(dtype)
    x = np.where(rng.random(shape) < 0.6, small, x)
    return np.where(rng.random(shape) < 0.1, rng.choice(np.array([limits.min, limits.max], dtype), shape), x).astype(dtype)


def wrapped(value, dtype):
    bits = np.iinfo(dtype).bits
    value &= (1 << bits) - 1
    return value - (1 << bits) if np.iinfo(dtype).min < 0 and value >> (bits - 1) else value


def of_pairs(function, a, b, dtype):
    a, b = np.broadcast_arrays(a, b)
    made = [function(x, y) for x, y in zip(a.ravel().tolist(), b.ravel().tolist())]
    return np.array(made, dtype).reshape(a.shape)


def c_fmod(a, b):
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or b == 0:
        return math.nan
    return math.fmod(a, b)  # of float64, which holds the operands and the result


def python_mod(a, b):
    rest = c_fmod(a, b)
    return rest + b if rest != 0 and (rest < 0) != (b < 0) else rest


def integer_mod(truncates):
    def mod(a, b):
        if b == 0:
            return a
        return int(math.fmod(a, b)) if truncates and abs(a) < 1 << 53 else a - b * int_quotient(a, b, truncates)
    return mod


def int_quotient(a, b, truncates):
    return -(-a // b) if truncates and (a < 0) != (b < 0) and a % b else a // b


def integer_power(dtype):
    def power(a, b):
        if b < 0:
            return 1 if a == 1 else (1 - 2 * (b % 2)) if a == -1 else 0
        return wrapped(pow(a, b, 1 << 64) if a >= 0 else pow(a % (1 << 64), b, 1 << 64), dtype)
    return power


def float_remainder(rng):
    dtype = [np.float32, np.float16][rng.integers(2)]
    shapes = pair_of_shapes(rng)
    highest = 37 if dtype == np.float32 else 4
    with np.errstate(all="ignore"):
        a, b = ((rng.standard_normal(s) * 10.0 ** rng.integers(-highest if dtype == np.float32 else -3, highest, s))
                .astype(dtype) for s in shapes)
    if rng.random() < 0.3:
        a, b = np.trunc(a), np.trunc(b)
    for x in (a, b):
        for special in (np.inf, -np.inf, np.nan, 0):
            x[rng.random(x.shape) < 0.03] = special
    inputs, constants = fed(rng, {"a": a, "b": b})
    node = helper.make_node("Mod", ["a", "b"], ["y"], fmod=1)
    return Case([node], inputs, {"y": of_pairs(c_fmod, a, b, dtype)}, constants)


def integer_remainder(rng):
    dtype = INTEGERS[rng.integers(len(INTEGERS))]
    a, b = (integers(rng, s, dtype) for s in pair_of_shapes(rng))
    truncates = int(rng.integers(2))
    inputs, constants = fed(rng, {"a": a, "b": b})
    node = helper.make_node("Mod", ["a", "b"], ["y"], fmod=truncates)
    return Case([node], inputs, {"y": of_pairs(integer_mod(truncates), a, b, dtype)}, constants)


def powers(rng):
    dtype, exponent_dtype = ([np.int32, np.int64][k] for k in rng.integers(2, size=2))
    shapes = pair_of_shapes(rng)
    a = integers(rng, shapes[0], dtype)
    b = rng.integers(-2, 40, shapes[1]).astype(exponent_dtype)
    inputs, constants = fed(rng, {"a": a, "b": b})
    node = helper.make_node("Pow", ["a", "b"], ["y"])
    return Case([node], inputs, {"y": of_pairs(integer_power(dtype), a, b, dtype)}, constants)


NORMS = {"ReduceL1": lambda x, axes: np.abs(x).sum(axes), "ReduceL2": lambda x, axes: np.sqrt((x * x).sum(axes)),
         "ReduceSumSquare": lambda x, axes: (x * x).sum(axes), "ReduceLogSum": lambda x, axes: np.log(x.sum(axes)),
         "ReduceMean": lambda x, axes: x.mean(axes)}


def norm_of_halves(rng):
    op = list(NORMS)[rng.integers(len(NORMS))]
    shape = tuple(int(e) for e in rng.integers(1, 9, rng.integers(1, 5)))
    axes = tuple(sorted(int(a) for a in rng.choice(len(shape), rng.integers(1, len(shape) + 1), replace=False)))
    x = (rng.random(shape) + 0.1) * 10.0 ** rng.uniform(-1, 4)
    count = math.prod(shape[a] for a in axes)
    limit = {"ReduceL1": 60000 / count, "ReduceSumSquare": math.sqrt(60000 / count), "ReduceL2": 60000 / math.sqrt(count)}
    x = np.minimum(x, limit.get(op, 60000)).astype(np.float16)
    keeps = int(rng.integers(2))
    with np.errstate(all="ignore"):
        expected = NORMS[op](x.astype(np.float64), axes)
    if keeps:
        expected = expected.reshape([1 if i in axes else e for i, e in enumerate(shape)])
    node = helper.make_node(op, ["x", "axes"], ["y"], keepdims=keeps)
    return Case([node], {"x": x}, {"y": np.asarray(expected).astype(np.float16)}, {"axes": np.array(axes)}, tolerance=2e-3)


def norm_of_integers(rng):
    dtype, limit = ((np.int32, 46340), (np.int64, 3037000499))[rng.integers(2)]
    rows = (int(rng.integers(1, 6)), int(rng.integers(1, 5)))
    x = rng.integers(-limit, limit + 1, rows) // math.isqrt(rows[1] - 1 + 1) // 2
    roots = [math.isqrt(sum(v * v for v in row)) for row in x.tolist()]
    node = helper.make_node("ReduceL2", ["x", "axes"], ["y"], keepdims=0)
    return Case([node], {"x": x.astype(dtype)}, {"y": np.array(roots, dtype)}, {"axes": np.array([1])})


class Arithmetic(Properties):
    def test_remainders_of_floats(self):
        self.check(float_remainder, 150)

    def test_remainders_of_integers(self):
        self.check(integer_remainder, 150)

    def test_powers_of_integers(self):
        self.check(powers, 150)

    def test_norms_of_16_bit_floats(self):
        self.check(norm_of_halves, 150)

    def test_norms_of_integers(self):
        self.check(norm_of_integers, 100)


if __name__ == "__main__":
    unittest.main()
