"""Writes reduce.json and softmax.json, as ONNX Runtime or NumPy computes them.

Run: python src/ops/testdata/make_reduction_cases.py   (needs numpy, onnx, onnxruntime)
"""
import numpy as np

from cases import case, floats, integers, onnx_run, write


def reduce_cases():
    names = ["ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceMean"]
    x = floats(2, 3, 4, low=-2, high=2)
    for number, op in enumerate(names):
        for axes in ([0], [1], [2], [0, 2], [0, 1, 2]):
            for keep in (False, True):
                y = onnx_run(op, [x, np.array(axes)], opset=18, keepdims=int(keep)) \
                    if op != "ReduceSum" else onnx_run(op, [x, np.array(axes)], keepdims=int(keep))
                case("reduce", "Reduce", f"{op} {axes} {keep}",
                     {"operation": number, "axes": sum(1 << a for a in axes),
                      "keep_dimensions": keep}, [x], y)
        numpy_op = [np.sum, np.prod, np.max, np.min, None][number]
        if numpy_op:
            for dtype in (np.int32, np.int64):
                i = integers(5, low=-4, high=4, dtype=dtype)
                case("reduce", "Reduce", f"{op} {dtype.__name__}", {"operation": number, "axes": 1},
                     [i], numpy_op(i).astype(dtype))
        half = x.astype(np.float16)
        if op != "ReduceProd":
            y = onnx_run(op, [x, np.array([2])], opset=18, keepdims=0)
            case("reduce", "Reduce", op + " half", {"operation": number, "axes": 4}, [half],
                 y.astype(np.float16))
    empty = floats(2, 0)
    for number, value in ((0, 0.0), (1, 1.0), (2, -np.inf), (3, np.inf), (4, np.nan)):
        case("reduce", "Reduce", f"empty {number}", {"operation": number, "axes": 2}, [empty],
             np.full(2, value, np.float32))


def softmax_cases():
    x = floats(2, 3, 4)
    for axis in range(3):
        case("softmax", "Softmax", f"axis {axis}", {"axes": 1 << axis}, [x],
             onnx_run("Softmax", [x], axis=axis))
    large = x * 100
    case("softmax", "Softmax", "large", {"axes": 4}, [large], onnx_run("Softmax", [large], axis=2))
    case("softmax", "Softmax", "half", {"axes": 4}, [x.astype(np.float16)],
         onnx_run("Softmax", [x], axis=2).astype(np.float16))
    case("softmax", "Softmax", "empty", {"axes": 2}, [floats(0, 3)], floats(0, 3))


reduce_cases()
softmax_cases()
write()
