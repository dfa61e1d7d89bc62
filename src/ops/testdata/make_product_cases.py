"""Writes matrix_multiply.json and fully_connected.json: products by NumPy.

Run: python src/ops/testdata/make_product_cases.py   (needs numpy, onnx, onnxruntime)
"""
import numpy as np

from cases import case, constant, floats, integers, write


def matrix_multiply_cases():
    rows = [((2, 3), (3, 4)), ((2, 2, 3), (2, 3, 4)), ((1, 2, 3), (5, 3, 1)),
            ((2, 1, 2, 3), (1, 3, 3, 2)), ((0, 3), (3, 2)), ((2, 0), (0, 3))]
    for sa, sb in rows:
        a, b = floats(*sa), floats(*sb)
        y = np.matmul(a.astype(np.float64), b).astype(np.float32)
        for ta in (0, 1):
            for tb in (0, 1):
                left, right = (np.swapaxes(m, -1, -2) if t else m for m, t in ((a, ta), (b, tb)))
                case("matrix_multiply", "MatrixMultiply", f"{sa} {sb} {ta} {tb}",
                     {"operation_a": ta, "operation_b": tb}, [left, right], y)
    a, v = floats(2, 3), floats(3)
    case("matrix_multiply", "MatrixMultiply", "vector right", {"operation_b": 2}, [a, v], a @ v)
    case("matrix_multiply", "MatrixMultiply", "vector left", {"operation_a": 2}, [v, a.T.copy()],
         v @ a.T)
    case("matrix_multiply", "MatrixMultiply", "dot", {"operation_a": 2, "operation_b": 2}, [v, v],
         np.array(v @ v, np.float32))
    batch = floats(4, 3), floats(1, 3, 2)
    case("matrix_multiply", "MatrixMultiply", "vector batch", {"operation_a": 2}, list(batch),
         np.einsum("bk,bkn->bn", batch[0], np.broadcast_to(batch[1], (4, 3, 2))))
    i, j = integers(2, 3, dtype=np.int32), integers(3, 2, dtype=np.int32)
    case("matrix_multiply", "MatrixMultiply", "int32", {}, [i, j], i @ j)
    a, b, bias = floats(2, 3), floats(3, 4), floats(4)
    case("matrix_multiply", "MatrixMultiply", "bias", {}, [a, b, constant(bias)], a @ b + bias)
    h = [m.astype(np.float16) for m in (a, b)]
    case("matrix_multiply", "MatrixMultiply", "half", {}, h, (a @ b).astype(np.float16))


def fully_connected_cases():
    x, k, b = floats(2, 3, 2, 2), floats(5, 12), floats(5)
    y = x.reshape(2, 12) @ k.T
    case("fully_connected", "FullyConnected", "bias", {"outputs": 5}, [x, constant(k), constant(b)],
         (y + b).reshape(2, 5, 1, 1))
    case("fully_connected", "FullyConnected", "plain", {"outputs": 5}, [x, constant(k.ravel())],
         y.reshape(2, 5, 1, 1))


matrix_multiply_cases()
fully_connected_cases()
write()
