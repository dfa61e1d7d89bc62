"""Bounds of slices and ranges and new shapes may be any 64-bit integers, whether they are constants or known only when
the model runs. By Python's integers, lists and ranges."""
import math
import unittest

import numpy as np
from onnx import helper

from properties import Case, Properties, fed

LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1


def bound(rng, extent):
    """Near the data, or near a limit of 64 or 32 bits."""
    near = int(rng.integers(-2 * extent - 2, 2 * extent + 3))
    far = int(rng.choice([LOWEST, HIGHEST, -(1 << 31), (1 << 31) - 1])) + int(rng.integers(-3, 4))
    return max(LOWEST, min(HIGHEST, far)) if rng.random() < 0.5 else near


def int64(values):
    return np.array(values, np.int64)


def sliced(extent, start, end, step):
    start, end = (v + extent if v < 0 else v for v in (start, end))
    if step > 0:
        return range(min(max(start, 0), extent), min(max(end, 0), extent), step)
    return range(min(max(start, 0), extent - 1), min(max(end, -1), extent - 1), step)


def slices(rng):
    shape = tuple(int(e) for e in rng.integers(1, 9, rng.integers(1, 4)))
    x = np.arange(math.prod(shape), dtype=[np.float32, np.int64, np.uint8][rng.integers(3)]).reshape(shape)
    axes = [int(a) for a in rng.permutation(len(shape))[:rng.integers(1, len(shape) + 1)]]
    starts, ends, steps = [], [], []
    expected = x
    for axis in axes:
        start, end, step = (bound(rng, shape[axis]) for _ in range(3))
        step = step or 1
        if rng.random() < 0.5:
            step = int(rng.choice([1, 1, -1, 2, -2]))
        starts.append(start), ends.append(end), steps.append(step)
        expected = np.take(expected, int64(sliced(shape[axis], start, end, step)), axis)
    lists = {"starts": int64(starts), "ends": int64(ends), "steps": int64(steps)}
    inputs, constants = fed(rng, lists)
    constants["axes"] = int64([a - len(shape) if rng.random() < 0.3 else a for a in axes])
    node = helper.make_node("Slice", ["x", "starts", "ends", "axes", "steps"], ["y"])
    return Case([node], inputs | {"x": x}, {"y": expected}, constants)


def ranges(rng):
    dtype = [np.int64, np.int64, np.int32][rng.integers(3)]
    lowest, highest = np.iinfo(dtype).min, np.iinfo(dtype).max
    count = int(rng.integers(0, 12))
    step = int(rng.choice([1, 1, -1, 2, -3, 7, highest // 4, -(highest // 3), highest, lowest]))
    first = int(rng.choice([0, 5, -5, lowest, highest, lowest + 9, highest - 9]))
    limit = first + count * step - (int(rng.integers(0, abs(step))) if abs(step) < highest else 0) * (1 if step > 0 else -1)
    limit = max(lowest, min(highest, limit))
    if rng.random() < 0.2:  # behind the start
        limit = lowest if step > 0 else highest
    expected = np.array(list(range(first, limit, step)), dtype)
    arrays = {name: np.array(v, dtype) for name, v in (("start", first), ("limit", limit), ("delta", step))}
    inputs, constants = fed(rng, arrays) if rng.random() < 0.7 else ({}, arrays)
    # A difference that is computed when the model runs has 64 bits.
    refused = bool(inputs) and expected.size > 0 and abs(limit - first) >= 1 << 63
    return Case([helper.make_node("Range", list(arrays), ["y"])], inputs, None if refused else {"y": expected}, constants)


def reshapes(rng):
    shape = [int(e) for e in rng.choice([1, 2, 3, 4, 6], rng.integers(1, 5))]
    x = np.arange(math.prod(shape), dtype=np.float32).reshape(shape)
    left, wanted = x.size, []
    while left > 1 and len(wanted) < 5:
        extent = int(rng.choice([d for d in range(1, left + 1) if left % d == 0]))
        wanted.append(extent)
        left //= extent
    wanted.append(left)
    expected = x.reshape(wanted)
    if rng.random() < 0.5:
        wanted[rng.integers(len(wanted))] = -1
    for i, extent in enumerate(wanted):  # 0 copies an extent
        if i < len(shape) and shape[i] == extent and rng.random() < 0.3:
            wanted[i] = 0
    if rng.random() < 0.3:
        wanted[rng.integers(len(wanted))] = int(rng.choice([LOWEST, LOWEST + 1, HIGHEST, -2, -(1 << 32), 1 << 62, 1 << 20]))
        expected = None
    arrays = {"shape": int64(wanted)}
    inputs, constants = (arrays, {}) if rng.random() < 0.6 else ({}, arrays)
    return Case([helper.make_node("Reshape", ["x", "shape"], ["y"])], inputs | {"x": x},
                None if expected is None else {"y": expected}, constants)


class Bounds(Properties):
    def test_slices(self):
        self.check(slices, 400)

    def test_ranges(self):
        self.check(ranges, 300)

    def test_shapes(self):
        self.check(reshapes, 200)


if __name__ == "__main__":
    unittest.main()
