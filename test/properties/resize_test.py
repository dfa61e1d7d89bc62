"""Nearest neighbours by sizes lie where exact fractions say, and by scales where float32 does."""
import math
import unittest
from fractions import Fraction

import numpy as np
from onnx import helper

from properties import Case, Properties

RULES = ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"]
ROUNDING = {"floor": lambda x, half: math.floor(x), "ceil": lambda x, half: math.ceil(x),
            "round_prefer_floor": lambda x, half: math.ceil(x - half),
            "round_prefer_ceil": lambda x, half: math.floor(x + half)}


def coordinate(rule, x, size, out, scale, half):
    """Of the type of scale and half: Fraction, or float32."""
    one = half + half
    if rule == "align_corners":
        return one * 0 if out == 1 else x * (size - 1) * one / (out - 1)
    if rule == "asymmetric":
        return x / scale
    if rule == "pytorch_half_pixel" and out == 1:
        return one * 0
    return (x + half) / scale - half


def positions(rule, rounding, size, out, scale, half):
    if size == out and scale == 1:
        return list(range(out))
    number = type(half)
    return [min(max(ROUNDING[rounding](coordinate(rule, number(x), size, out, scale, half), half), 0), size - 1)
            for x in range(out)]


def resized(x, tables):
    for axis, table in enumerate(tables):
        x = np.take(x, table, axis)
    return x


def attributes(rng, rules):
    return {"mode": "nearest", "coordinate_transformation_mode": rules[rng.integers(len(rules))],
            "nearest_mode": list(ROUNDING)[rng.integers(len(ROUNDING))]}


def numbered(rng, shape):
    dtype = [np.float32, np.float16, np.int32, np.uint8][rng.integers(4)]
    return (np.arange(math.prod(shape)) % 251).astype(dtype).reshape(shape)


def by_sizes(rng):
    # Long axes: one in a hundred of their tables has a coordinate that float64 rounds to the wrong side.
    shape = (*(int(e) for e in rng.integers(1, 3, rng.integers(0, 3))), *(int(e) for e in rng.integers(5, 40, 2)))
    axes = list(range(int(rng.integers(len(shape) - 1)), len(shape)))
    sizes = [int(s) for s in rng.integers(1, 64, len(axes))]
    chosen = attributes(rng, RULES)
    tables = []
    for axis, size in enumerate(shape):
        out = sizes[axes.index(axis)] if axis in axes else size
        tables.append(positions(chosen["coordinate_transformation_mode"], chosen["nearest_mode"], size, out,
                                Fraction(out, size), Fraction(1, 2)))
    x = numbered(rng, shape)
    given = {"sizes": np.array(sizes)}
    inputs, constants = ({"x": x} | given, {}) if rng.random() < 0.3 else ({"x": x}, given)
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], axes=axes, **chosen)
    return Case([node], inputs, {"y": resized(x, tables)}, constants)


def by_scales(rng):
    shape = tuple(int(e) for e in rng.integers(2, 20, 2))
    scales = [np.float32(rng.choice([0.3, 0.6, 2 / 3, 0.75, 1.1, 1.25, 1.5, 2.2, 2.5, 3.3])) for _ in shape]
    # The rule shares the rest of a scaled extent that is not whole, which this file does not know of.
    chosen = attributes(rng, [rule for rule in RULES if rule != "half_pixel_symmetric"])
    tables = []
    for size, scale in zip(shape, scales):
        out = math.floor(np.float32(size) * scale)
        if out == 0:
            return by_scales(rng)
        tables.append(positions(chosen["coordinate_transformation_mode"], chosen["nearest_mode"], size, out, scale,
                                np.float32(0.5)))
    x = numbered(rng, shape)
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], **chosen)
    return Case([node], {"x": x}, {"y": resized(x, tables)}, {"scales": np.array(scales)})


class Resize(Properties):
    def test_nearest_by_sizes(self):
        self.check(by_sizes, 400)

    def test_nearest_by_scales(self):
        self.check(by_scales, 150)


if __name__ == "__main__":
    unittest.main()
