"""Maximum pooling: a NaN is the maximum of its window, -infinity is where there is nothing else. By loops over the
windows as ONNX describes them."""
import itertools
import unittest

import numpy as np
from onnx import helper

from properties import Case, Properties

TYPES = [np.float32, np.float32, np.float16, np.int8, np.uint8]


def data(rng, shape, dtype):
    if np.dtype(dtype).kind != "f":
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max + 1, shape).astype(dtype)
    x = rng.integers(-9, 9, shape).astype(dtype)  # some are equal
    if rng.random() < 0.7:
        x[rng.random(shape) < rng.choice([0.02, 0.7])] = -np.inf
        x[rng.random(shape) < 0.03] = np.nan
        x[rng.random(shape) < 0.03] = np.inf
    return x


def extent(size, kernel, stride, dilation, before, after, up):
    reach = (kernel - 1) * dilation + 1
    count = (size + before + after - reach + (stride - 1 if up else 0)) // stride + 1
    return count - 1 if up and (count - 1) * stride >= size + before else count  # windows begin within the data


def greater(a, b):
    return a > b or (a != a and b == b)


def pooled(x, kernel, strides, dilations, pads, up, column_major):
    axes = len(kernel)
    sizes = x.shape[2:]
    out = [extent(sizes[i], kernel[i], strides[i], dilations[i], pads[i], pads[axes + i], up) for i in range(axes)]
    values = np.empty(x.shape[:2] + tuple(out), x.dtype)
    indices = np.empty(values.shape, np.int64)
    order = "F" if column_major else "C"
    for n, c in np.ndindex(*x.shape[:2]):
        plane = x[n, c]
        for at in np.ndindex(*out):
            best = None
            for tap in itertools.product(*map(range, kernel)):
                position = tuple(p * s - b + t * d for p, s, b, t, d in zip(at, strides, pads, tap, dilations))
                inside = all(0 <= p < size for p, size in zip(position, sizes))
                if inside and (best is None or greater(plane[position], plane[best])):
                    best = position
            values[(n, c, *at)] = plane[best]
            indices[(n, c, *at)] = (n * x.shape[1] + c) * plane.size + np.ravel_multi_index(best, sizes, order=order)
    return values, indices


def case(rng):
    axes = int(rng.choice([1, 2, 2, 2, 3]))
    dtype = TYPES[rng.integers(len(TYPES))]
    kernel = [int(k) for k in rng.integers(1, 5, axes)]
    strides = [int(s) for s in rng.integers(1, 4, axes)]
    dilations = [int(d) for d in rng.choice([1, 1, 1, 2], axes)]
    # Every window must reach the data.
    pads = [int(rng.integers(0, max(1, k))) if d == 1 else 0 for k, d in zip(kernel * 2, dilations * 2)]
    sizes = tuple(int(rng.integers((k - 1) * d + 1, (k - 1) * d + 12)) for k, d in zip(kernel, dilations))
    x = data(rng, (int(rng.integers(1, 3)), int(rng.choice([1, 3, 16, 20])), *sizes), dtype)
    up, column_major, has_indices = rng.random(3) < [0.3, 0.3, 0.3]
    node = helper.make_node("MaxPool", ["x"], ["y", "indices"] if has_indices else ["y"], kernel_shape=kernel,
                            strides=strides, dilations=dilations, pads=pads, ceil_mode=int(up),
                            storage_order=int(column_major))
    values, indices = pooled(x, kernel, strides, dilations, pads, up, column_major)
    return Case([node], {"x": x}, {"y": values} | ({"indices": indices} if has_indices else {}))


class MaximumPooling(Properties):
    def test_windows(self):
        self.check(case, 150)

    def test_whole_planes(self):
        def make(rng):
            x = data(rng, tuple(int(e) for e in rng.integers(1, 7, rng.integers(3, 6))), np.float32)
            axes = tuple(range(2, x.ndim))
            return Case([helper.make_node("GlobalMaxPool", ["x"], ["y"])], {"x": x}, {"y": x.max(axes, keepdims=True)})
        self.check(make, 30)


if __name__ == "__main__":
    unittest.main()
