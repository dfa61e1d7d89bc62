"""Writes the cases of selection, placing, filling and of shapes that only running tells.

Run: python src/import/testdata/make_indexing_cases.py   (needs numpy, onnx, onnxruntime)
"""
import numpy as np

from node_cases import Constant, case, floats, integers, write


def node(op, name, inputs, outputs=1, opset=21, **more):
    """Lists of integers keep their lengths; all else may be unknown."""
    arrays = [i if i is None or isinstance(i, Constant) else np.asarray(i) for i in inputs]
    case(op, name, arrays, outputs, "", opset, **{"static": "lists", **more})


def ints(*values, dtype=np.int64):
    return np.array(values, dtype)


def top_k():
    x = floats(3, 4, 5)
    node("TopK", "opset 1", [x], 2, opset=9, k=2, axis=1)
    for axis in (0, -1):
        for largest in (0, 1):
            node("TopK", f"k at run time {axis} {largest}", [x, ints(3)], 2, axis=axis,
                 largest=largest)
    node("TopK", "not sorted", [x, Constant(ints(5))], 2, sorted=1)
    for dtype in (np.int32, np.int64, np.uint8, np.int8):
        node("TopK", str(np.dtype(dtype)), [integers(2, 9, dtype=dtype), ints(1)], 2, opset=24)
    ties = integers(3, 6, high=2).astype(np.float32)
    for op in ("ArgMax", "ArgMin"):
        node(op, "opset 1", [x], opset=9, axis=2, keepdims=0)
        for last in (0, 1):
            for axis in (0, 1):
                node(op, f"ties {last} {axis}", [ties], opset=13, select_last_index=last, axis=axis)
        for dtype in (np.int32, np.uint8, np.int8):
            node(op, str(np.dtype(dtype)), [integers(4, 5, dtype=dtype)], opset=13, axis=-1,
                 keepdims=0)
    node("Hardmax", "opset 11", [x], opset=11, axis=1)
    node("Hardmax", "opset 11 whole", [x], opset=11, axis=0)
    node("Hardmax", "opset 13", [x], opset=13, axis=1)
    node("Hardmax", "ties", [ties], opset=13)


def selection():
    x = floats(3, 4)
    node("NonZero", "floats", [np.where(x > 0, x, np.float32(0))])
    node("NonZero", "bools", [x > 0])
    node("NonZero", "nothing", [x * 0])
    keep = np.array([True, False, True])
    node("Compress", "rows", [x, keep], axis=0)
    node("Compress", "columns", [x, keep], axis=-1)
    node("Compress", "flat", [x, np.array([False] * 5 + [True] * 3)])
    node("Compress", "nothing", [x, np.zeros(3, bool)], axis=0)
    y = integers(4, 3, high=2).astype(np.float32)
    for in_order in (0, 1):
        node("Unique", f"flat {in_order}", [y], 4, sorted=in_order)
        for axis in (0, 1):
            node("Unique", f"axis {axis} {in_order}", [y], 4, sorted=in_order, axis=axis)
    node("Unique", "values only", [integers(9, dtype=np.int64)], [True, False, False, False],
         static=True)
    node("Unique", "counts only", [integers(9, high=3)], [True, False, False, True], static=True)
    lengths = ints(1, 4, 2)
    node("ReverseSequence", "batch first", [x, lengths], batch_axis=0, time_axis=1)
    node("ReverseSequence", "time first", [floats(4, 3, 2), lengths])
    indices = ints(1, -2, 9, 0)
    for axis in (-1, 0):
        node("OneHot", f"{axis}", [indices, np.float32(4), floats(2)], opset=11, axis=axis)
        node("OneHot", f"depth at run time {axis}", [indices, np.array([3]), floats(2)], axis=axis,
             opset=11)
    node("CumSum", "axis at run time", [x, np.int32(-1)], reverse=1)
    node("CumSum", "exclusive", [x, np.int64(0)], exclusive=1)
    node("GatherElements", "lists", [x, integers(3, 2, low=-4, high=3)], axis=1)
    node("GatherND", "tuples", [x, Constant(np.array([[0, 1], [-1, -2]]))])


def placing():
    x = floats(3, 4)
    for op, opset in (("Scatter", 10), ("ScatterElements", 11), ("ScatterElements", 18)):
        node(op, f"opset {opset}", [x, ints(0, -2)[None], floats(1, 2)], opset=opset, axis=1)
    for number, reduction in enumerate(("add", "mul", "min", "max")):
        opset = 16 if number < 2 else 18
        node("ScatterElements", reduction, [x, integers(3, 4, low=-3, high=2), floats(3, 4)],
             opset=opset, reduction=reduction)
        node("ScatterND", reduction, [x, integers(4, 1, low=0, high=2), floats(4, 4)], opset=opset,
             reduction=reduction)
    node("ScatterND", "opset 11", [x, ints(2, 0)[:, None], floats(2, 4)], opset=11)


def filling():
    for start, limit, delta in ((0, 7, 2), (5, -3, -3), (3, 3, 1), (4, 0, 1)):
        for dtype in (np.int64, np.int32, np.float32):
            node("Range", f"{start} {limit} {delta} {np.dtype(dtype)}",
                 [np.array(v, dtype) for v in (start, limit, delta)], opset=11)
    node("Range", "fractions", [np.float32(0.5), np.float32(2), np.float32(0.25)], opset=11)
    node("Range", "length at run time", [Constant(np.int64(0)), np.int64(4), Constant(np.int64(1))],
         opset=11)
    x = floats(3, 4, 5)
    for upper in (0, 1):
        node("Trilu", f"{upper}", [x], upper=upper)
        for k in (-2, 1, 7):
            node("Trilu", f"{upper} {k}", [x, np.int64(k)], upper=upper)
    node("Trilu", "integers", [integers(4, 3), Constant(np.int64(-1))])
    for k in (0, 2, -1):
        node("EyeLike", f"{k}", [integers(3, 4, dtype=np.int32)], opset=9, k=k, dtype=1)
    node("EyeLike", "own type", [floats(4, 2)], opset=9)
    node("ConstantOfShape", "shape at run time", [ints(2, 0, 3)])
    # Draws of which only one result is possible.
    node("RandomUniform", "one number", [], shape=[2, 3], low=3.0, high=3.0,
         expected=[np.full((2, 3), 3, np.float32)])
    node("RandomNormal", "one number", [], shape=[2], mean=-2.5, scale=0.0,
         expected=[np.full(2, -2.5, np.float32)])
    node("RandomUniformLike", "one number", [floats(3, 2, dtype=np.float16)], low=3.0, high=3.0,
         expected=[np.full((3, 2), 3, np.float16)])
    node("RandomNormalLike", "of another type", [integers(3, 2)], mean=4.0, scale=0.0, dtype=1,
         expected=[np.full((3, 2), 4, np.float32)])
    sure = np.float32([[0, 1, 1], [1, 0, 0]])
    node("Bernoulli", "sure", [sure], expected=[sure])
    node("Bernoulli", "of another type", [sure], dtype=9, expected=[sure > 0])
    node("Multinomial", "sure", [np.float32([[-99, 0, -99], [0, -99, -99]])], sample_size=3,
         expected=[np.array([[1] * 3, [0] * 3], np.int32)])


def bits():
    a, b = (integers(2, 5, high=255, dtype=np.uint8) for _ in range(2))
    for direction in ("LEFT", "RIGHT"):
        node("BitShift", direction, [a, b % 8], opset=11, direction=direction)
    for dtype in (np.int8, np.int32, np.int64, np.uint8):
        c, d = a.astype(dtype), b[:1].astype(dtype)
        for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
            node(op, str(np.dtype(dtype)), [c, d[0]], opset=18)
        node("BitwiseNot", str(np.dtype(dtype)), [c], opset=18)
    x = floats(2, 4)
    x[0, :3] = [np.inf, -np.inf, np.nan]
    for negative in (0, 1):
        for positive in (0, 1):
            node("IsInf", f"{negative} {positive}", [x], detect_negative=negative,
                 detect_positive=positive)
    node("IsNaN", "", [x])


def run_time_shapes():
    x = floats(2, 3, 4)
    node("Reshape", "-1", [x, ints(4, -1)])
    node("Reshape", "0 and -1", [x, ints(0, -1)])
    node("Reshape", "all given", [x, ints(3, 8)])
    node("Reshape", "0 keeps nothing", [floats(2, 0), ints(0, 3)], allowzero=1, opset=14)
    node("Reshape", "0 keeps", [x, ints(0, 0, 2, -1)])
    node("Slice", "all at run time",
         [x, ints(0, -1), ints(2**62, -5), ints(-1, 1), ints(2, -1)])
    node("Slice", "backwards", [x, ints(9), ints(-2**63 + 1), ints(2), ints(-3)])
    node("Slice", "nothing", [x, ints(2), ints(1)])
    node("Slice", "int32", [x, ints(1, dtype=np.int32), ints(2, dtype=np.int32),
                            ints(1, dtype=np.int32)])
    for mode in ("constant", "edge", "reflect", "wrap"):
        node("Pad", f"{mode} at run time", [x, ints(0, 1, 2, 0, 2, 1)], opset=19, mode=mode)
        if mode != "wrap":
            node("Pad", f"{mode} crops", [x, ints(0, -1, 1, 0, 1, -1)], opset=19, mode=mode)
        node("Pad", f"{mode} axes at run time", [x, ints(1, 2, 0, 1), None, ints(-1, 1)], opset=19,
             mode=mode)
    node("Pad", "value", [x, ints(1, 1), np.float32(7), ints(2)], opset=19)
    node("Pad", "opset 10", [x], opset=10, pads=[0, 1, 0, 0, 0, 2], value=1.5)
    node("Tile", "", [x, ints(2, 1, 3)])
    node("Expand", "", [floats(3, 1), ints(2, 1, 4)])
    node("Expand", "to less", [floats(3, 4), ints(1, 1)])
    node("CenterCropPad", "both", [x, ints(3, 2, 4)], opset=18)
    node("CenterCropPad", "axes", [x, ints(7, 1)], opset=18, axes=[-1, 0])
    node("Size", "", [x])
    node("SpaceToDepth", "", [floats(1, 2, 4, 6)], blocksize=2)
    node("DepthToSpace", "", [floats(1, 8, 2, 3)], blocksize=2, mode="CRD")


for make in (top_k, selection, placing, filling, bits, run_time_shapes):
    make()
write("indexing")
