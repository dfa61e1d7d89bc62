"""Writes the cases of the quantised layers' tests with ONNX Runtime's results: quantize.json,
dequantize.json, integer_convolution.json and integer_matrix_multiply.json.

Run: python src/ops/testdata/make_quantize_cases.py   (needs numpy, onnx, onnxruntime)
"""

import json
import pathlib

import numpy as np
import onnxruntime
from onnx import helper

FOLDER = pathlib.Path(__file__).parent
TYPES = {"float32": 0, "float16": 1, "int8": 2, "int32": 3, "uint8": 5}
random = np.random.default_rng(7)
files = {}


def as_json(array):
    if array is None:
        return None
    array = np.asarray(array)
    values = [float(f"{v:.9g}") if array.dtype.kind == "f" else int(v) for v in array.ravel()]
    return {"type": str(array.dtype), "shape": list(array.shape), "data": values}


def case(op, name, attributes, inputs, output, **more):
    file = "".join("_" + c.lower() if c.isupper() else c for c in op)[1:]  # snake_case
    files.setdefault(file, []).append(
        {"name": name, "op": op, "attributes": attributes, "inputs": [as_json(i) for i in inputs],
         "outputs": [as_json(output)], **more})


def onnx_run(op, inputs, opset=21, domain="", **attributes):
    """One node through ONNX Runtime; None leaves an input out."""
    names = [f"x{i}" if a is not None else "" for i, a in enumerate(inputs)]
    feeds = {n: np.asarray(a) for n, a in zip(names, inputs) if n}
    node = helper.make_node(op, names, ["y"], domain=domain, **attributes)
    graph = helper.make_graph(
        [node], "case",
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
         for n, a in feeds.items()],
        [helper.make_empty_tensor_value_info("y")])
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=imports)
    model.ir_version = 10
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    return session.run(None, feeds)[0]


def floats(*shape, high=40.0, dtype=np.float32):
    """Multiples of 1/4: halves of a scale of 0.5 or 2 are ties."""
    return (random.integers(-int(high * 4), int(high * 4), shape, endpoint=True) / 4).astype(dtype)


def integers(dtype, *shape):
    info = np.iinfo(dtype if dtype != np.int32 else np.int16)
    return random.integers(info.min, info.max, shape, endpoint=True).astype(dtype)


def scales(*shape, dtype=np.float32):
    return random.choice([0.25, 0.5, 1.0, 1.5, 2.0, 0.3], shape).astype(dtype)


# Data shape, scale shape, ONNX's attributes, ours.
LAYOUTS = [
    ((3, 5), (), {}, {}),
    ((2, 3, 4), (3,), {"axis": 1}, {"axis": 1}),
    ((2, 3, 4), (4,), {"axis": -1}, {"axis": 2}),
    ((4, 3), (4,), {"axis": 0}, {"axis": 0}),
    ((7,), (7,), {"axis": 0}, {"axis": 0}),
    ((2, 7, 3), (2, 3, 3), {"axis": 1, "block_size": 3}, {"block": [1, 3, 1]}),
    ((2, 6), (2, 2), {"axis": 1, "block_size": 3}, {"block": [1, 3]}),
    ((6, 2), (3, 2), {"axis": 0, "block_size": 2}, {"block": []}),  # follows from the extents
    ((0, 3), (), {}, {}),
    ((), (), {}, {}),
]


def quantize_cases():
    for shape, scale_shape, given, ours in LAYOUTS:
        for dtype in (np.int8, np.uint8):
            for zero in (True, False):
                if dtype == np.int8 and not zero:
                    continue
                x, s = floats(*shape), scales(*scale_shape)
                z = integers(dtype, *scale_shape) if zero else None
                case("Quantize", f"{shape} by {scale_shape} to {dtype.__name__} {zero}",
                     {**ours, "to": TYPES[np.dtype(dtype).name]}, [x, s] + ([z] if zero else []),
                     onnx_run("QuantizeLinear", [x, s, z], **given))
                q = integers(dtype, *shape)
                case("Dequantize", f"{shape} by {scale_shape} of {dtype.__name__} {zero}", ours,
                     [q, s] + ([z] if zero else []),
                     onnx_run("DequantizeLinear", [q, s, z], **given))
    special = np.array([1e9, -1e9, np.inf, -np.inf, 0.0, 63.75, -64.25], np.float32)
    special[2:4] = [3e38, -3e38]  # JSON has no infinity
    z = np.int8(-3)
    case("Quantize", "saturates", {"to": 2}, [special, np.float32(0.5), z],
         onnx_run("QuantizeLinear", [special, np.float32(0.5), z]))
    x, s = floats(9, dtype=np.float16), np.float16(0.5)
    case("Quantize", "half", {"to": 2}, [x, s, z], onnx_run("QuantizeLinear", [x, s, z]))
    q = integers(np.int8, 9)
    case("Dequantize", "half", {"to": 1}, [q, s, z], onnx_run("DequantizeLinear", [q, s, z]))
    x = integers(np.int32, 9)
    case("Quantize", "int32", {"to": 5}, [x, np.float32(1.5), np.uint8(7)],
         np.clip(np.rint(x / np.float32(1.5)) + 7, 0, 255).astype(np.uint8))  # not in ONNX Runtime
    q = np.array([2**30 + 1, -2**31, 5], np.int32)
    case("Dequantize", "int32", {}, [q, np.float32(0.25)],
         onnx_run("DequantizeLinear", [q, np.float32(0.25)]))


def sevens(dtype, *shape):
    """7-bit numbers, as processors without VNNI make ONNX Runtime's 8-bit sums saturate."""
    low, high = (0, 127) if dtype == np.uint8 else (-63, 63)
    return random.integers(low, high, shape, endpoint=True).astype(dtype)


PLAIN = {"kernel": [3, 3], "stride": [1, 1], "dilation": [1, 1], "pre_padding": [0, 0],
         "post_padding": [0, 0]}


def convolution_cases():
    u, s = np.uint8, np.int8
    rows = [
        ("plain", (1, 3, 6, 5), (4, 3, 3, 3), {}, {}),
        ("padded", (2, 2, 5, 5), (3, 2, 3, 3), {"pads": [1, 0, 2, 1]},
         {"pre_padding": [1, 0], "post_padding": [2, 1]}),
        ("strides", (1, 2, 7, 8), (2, 2, 3, 2), {"strides": [2, 3]},
         {"kernel": [3, 2], "stride": [2, 3]}),
        ("dilated", (1, 1, 7, 7), (2, 1, 2, 2), {"dilations": [2, 3], "pads": [1, 1, 1, 1]},
         {"kernel": [2, 2], "dilation": [2, 3], "pre_padding": [1, 1], "post_padding": [1, 1]}),
        ("groups", (1, 4, 4, 4), (6, 2, 3, 3), {"group": 2}, {"groups": 2}),
        ("depthwise", (1, 4, 5, 5), (4, 1, 3, 3), {"group": 4, "pads": [1, 1, 1, 1]},
         {"groups": 4, "pre_padding": [1, 1], "post_padding": [1, 1]}),
    ]
    for name, shape, weights, given, ours in rows:
        ours = {**PLAIN, **ours, "output_maps": weights[0]}
        for dx, dw in ((u, u), (u, s), (s, s)):
            x, w = sevens(dx, *shape), sevens(dw, *weights)
            xz, wz = sevens(dx), sevens(dw)
            title = f"{name} {dx.__name__} {dw.__name__}"
            if dx == u:
                wzs = [None, wz]
                for z in wzs:
                    case("IntegerConvolution", f"{title} int32 {z is None}", ours,
                         [x, w, xz] + ([z] if z is not None else []),
                         onnx_run("ConvInteger", [x, w, xz, z], opset=10, **given))
            maps = weights[0]
            zeros = np.zeros(maps, dw) if dw == s else np.full(maps, wz)
            scale_x, scale_y = np.float32(0.02), np.float32(0.6)
            scale_w = random.choice([0.01, 0.02, 0.015], maps).astype(np.float32)
            bias = random.integers(-3000, 3000, maps).astype(np.int32)
            yz = sevens(dx)
            y = onnx_run("QLinearConv", [x, scale_x, xz, w, scale_w, zeros, scale_y, yz, bias],
                         opset=10, **given)
            case("IntegerConvolution", f"{title} quantized", {**ours, "to": TYPES[dx.__name__]},
                 [x, w, xz, zeros, bias, scale_x * scale_w / scale_y, yz], y)


def matrix_multiply_cases():
    u, s = np.uint8, np.int8
    shapes = [((4, 3), (3, 5)), ((2, 4, 3), (2, 3, 5)), ((2, 1, 4, 3), (1, 3, 3, 2)),
              ((1, 2, 70), (3, 70, 1)), ((0, 3), (3, 2))]
    for sa, sb in shapes:
        for da, db in ((u, u), (u, s), (s, s)):
            a, b, az, bz = sevens(da, *sa), sevens(db, *sb), sevens(da), sevens(db)
            per_column = sevens(db, sb[-1])
            title = f"{sa} {sb} {da.__name__} {db.__name__}"
            for name, zeros in (("none", []), ("one", [az, bz]), ("columns", [az, per_column])):
                if name == "columns" and len(sb) > 2:
                    continue  # ONNX Runtime refuses
                full = zeros + [None] * (2 - len(zeros))
                case("IntegerMatrixMultiply", f"{title} {name}", {}, [a, b] + zeros,
                     onnx_run("MatMulInteger", [a, b] + full, opset=10))
            scale_a, scale_b, scale_y = np.float32(0.02), np.float32(0.015), np.float32(0.04)
            yz = sevens(da)
            y = onnx_run("QLinearMatMul", [a, scale_a, az, b, scale_b, bz, scale_y, yz], opset=10)
            case("IntegerMatrixMultiply", title + " quantized", {"to": TYPES[da.__name__]},
                 [a, b, az, bz, None, np.float32(scale_a * scale_b / scale_y), yz], y)


if __name__ == "__main__":
    quantize_cases()
    convolution_cases()
    matrix_multiply_cases()
    for name, cases in files.items():
        lines = ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases)
        (FOLDER / f"{name}.json").write_text(f"[\n{lines}\n]\n")
        print(name, len(cases))
