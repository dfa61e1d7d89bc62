"""The largest and smallest elements: ArgMax and ArgMin find the first NaN, or the last, where there is one, as NumPy
and PyTorch do; to TopK a NaN is greater than every number, as to PyTorch; of equal elements the first comes first.
By Python's sorting."""
import unittest

import numpy as np
from onnx import helper

from properties import Case, Properties

TYPES = [np.float32, np.float32, np.float16, np.int32, np.int64, np.int8, np.uint8]


def data(rng):
    dtype = TYPES[rng.integers(len(TYPES))]
    shape = tuple(int(e) for e in rng.integers(1, 9, rng.integers(1, 5)))
    if rng.random() < 0.2:
        shape = (*shape[:-1], int(rng.integers(100, 400)))
    low = 0 if dtype == np.uint8 else -9
    x = rng.integers(low, 9, shape).astype(dtype)
    if np.dtype(dtype).kind == "f":
        for special in (np.nan, np.inf, -np.inf, -0.0):
            x[rng.random(shape) < rng.choice([0, 0.1, 0.5])] = special
    return x, int(rng.integers(len(shape)))


def one(rng, op):
    x, axis = data(rng)
    last, keeps = (int(v) for v in rng.integers(2, size=2))

    def index(row):
        nans = [i for i, v in enumerate(row) if v != v]
        best = [i for i, v in enumerate(row) if v == (max if op == "ArgMax" else min)(row)]
        return (nans or best)[-1 if last else 0]

    expected = np.apply_along_axis(lambda row: np.int64(index(row.tolist())), axis, x)
    if keeps:
        expected = np.expand_dims(expected, axis)
    node = helper.make_node(op, ["x"], ["y"], axis=axis, keepdims=keeps, select_last_index=last)
    return Case([node], {"x": x}, {"y": np.asarray(expected, np.int64)})


def some(rng):
    x, axis = data(rng)
    k, largest = int(rng.integers(0, x.shape[axis] + 1)), int(rng.integers(2))

    def key(v):
        rank = (1, 0) if v != v else (0, v)
        return tuple(-r for r in rank) if largest else rank

    order = np.apply_along_axis(lambda row: np.array(sorted(range(len(row)), key=lambda i: key(row[i].item()))), axis, x)
    indices = np.take(order, range(k), axis).astype(np.int64)
    node = helper.make_node("TopK", ["x", "k"], ["values", "indices"], axis=axis, largest=largest)
    inputs, constants = {"x": x}, {"k": np.array([k])}
    return Case([node], inputs, {"values": np.take_along_axis(x, indices, axis), "indices": indices}, constants)


class Order(Properties):
    def test_arg_max(self):
        self.check(lambda rng: one(rng, "ArgMax"), 150)

    def test_arg_min(self):
        self.check(lambda rng: one(rng, "ArgMin"), 150)

    def test_top_k(self):
        self.check(some, 200)


if __name__ == "__main__":
    unittest.main()
