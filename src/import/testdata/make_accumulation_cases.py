"""Writes the cases of sums and powers that 16-bit floats and float32 cannot hold on the way.

Run: python src/import/testdata/make_accumulation_cases.py   (needs numpy, onnx, onnxruntime)
"""
import math

import numpy as np

from node_cases import Constant, case, write

HALF = np.float16


def node(op, name, inputs, opset=18, **more):
    case(op, name, inputs, 1, "", opset, **more)


def integer_powers():
    """By Python's integers."""
    for dtype, bases, exponents in (
            (np.int32, [4097, -4099, 3, 7, 46340, 2, 5, -1], [2, 2, 19, 11, 2, 30, 0, 31]),
            (np.int64, [94906267, -2097151, 3, 3037000499, 2], [2, 3, 39, 2, 62])):
        powers = np.array([b ** e for b, e in zip(bases, exponents)], dtype)
        for exponent_type in (np.int32, np.int64):
            node("Pow", f"{np.dtype(dtype)} {np.dtype(exponent_type)}",
                 [np.array(bases, dtype), np.array(exponents, exponent_type)], opset=15, tolerance=0,
                 expected=[powers])


def integer_norms():
    for dtype, limit in ((np.int32, 46340), (np.int64, 3037000499)):
        values = [4097, 4096, 1, 0, 2, 12345, limit, limit - 1]
        x = np.array(values, dtype).reshape(-1, 1)
        node("ReduceL2", f"roots {np.dtype(dtype)}", [x, Constant(np.array([1]))], tolerance=0, keepdims=0,
             expected=[np.array(values, dtype)])
        rows = np.array([[3, 4, 12], [limit // 2, 1, 0], [limit // 3, limit // 3 + 1, 7]], dtype)
        roots = [math.isqrt(sum(int(v) ** 2 for v in row)) for row in rows]
        node("ReduceL2", f"sums {np.dtype(dtype)}", [rows, Constant(np.array([1]))], tolerance=0, keepdims=0,
             expected=[np.array(roots, dtype)])


def half_floats():
    """What they lead to fits, and what is summed does not."""
    random = np.random.default_rng(7)
    x = random.integers(200, 900, (2, 3, 8, 8)).astype(HALF)
    axes = Constant(np.array([2, 3]))
    for op, divisor in (("ReduceL1", 4), ("ReduceL2", 1), ("ReduceSumSquare", 64), ("ReduceLogSum", 1),
                        ("ReduceLogSumExp", 80)):
        node(op, "float16", [x / HALF(divisor), axes], tolerance=2e-3, keepdims=0)
    for p in (1, 2):
        node("LpNormalization", f"float16 {p}", [x], tolerance=2e-3, axis=1, p=p)
        node("GlobalLpPool", f"float16 {p}", [x / HALF(8 if p == 1 else 1)], tolerance=2e-3, p=p)
        node("LpPool", f"float16 {p}", [x], tolerance=2e-3, p=p, kernel_shape=[3, 3])


integer_powers()
integer_norms()
half_floats()
write("accumulation")
