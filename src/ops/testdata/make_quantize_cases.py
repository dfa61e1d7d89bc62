"""Writes the cases of the quantised layers' tests with ONNX Runtime's results: quantize.json,
dequantize.json, quantized_convolution.json and quantized_matrix_multiply.json.

Run: python src/ops/testdata/make_quantize_cases.py   (needs numpy, onnx, onnxruntime)
"""
import numpy as np

from cases import case, onnx_run, random, write

TYPES = {"float32": 0, "float16": 1, "int8": 2, "int32": 3, "uint8": 5}


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
                title = f"{shape} by {scale_shape} {dtype.__name__} {zero}"
                case("quantize", "Quantize", title,
                     {**ours, "to": TYPES[np.dtype(dtype).name]}, [x, s] + ([z] if zero else []),
                     onnx_run("QuantizeLinear", [x, s, z], opset=21, **given))
                q = integers(dtype, *shape)
                case("dequantize", "Dequantize", title, ours, [q, s] + ([z] if zero else []),
                     onnx_run("DequantizeLinear", [q, s, z], opset=21, **given))
    special = np.array([1e9, -1e9, np.inf, -np.inf, 0.0, 63.75, -64.25], np.float32)
    special[2:4] = [3e38, -3e38]  # JSON has no infinity
    z = np.int8(-3)
    case("quantize", "Quantize", "saturates", {"to": 2}, [special, np.float32(0.5), z],
         onnx_run("QuantizeLinear", [special, np.float32(0.5), z], opset=21))
    x, s = floats(9, dtype=np.float16), np.float16(0.5)
    case("quantize", "Quantize", "half", {"to": 2}, [x, s, z],
         onnx_run("QuantizeLinear", [x, s, z], opset=21))
    q = integers(np.int8, 9)
    case("dequantize", "Dequantize", "half", {"to": 1}, [q, s, z],
         onnx_run("DequantizeLinear", [q, s, z], opset=21))
    x = integers(np.int32, 9)
    case("quantize", "Quantize", "int32", {"to": 5}, [x, np.float32(1.5), np.uint8(7)],
         np.clip(np.rint(x / np.float32(1.5)) + 7, 0, 255).astype(np.uint8))  # not in ONNX Runtime
    q = np.array([2**30 + 1, -2**31, 5], np.int32)
    case("dequantize", "Dequantize", "int32", {}, [q, np.float32(0.25)],
         onnx_run("DequantizeLinear", [q, np.float32(0.25)], opset=21))


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
        ours = {**PLAIN, **ours, "output_channels": weights[0]}
        for dx, dw in ((u, u), (u, s), (s, s)):
            x, w = sevens(dx, *shape), sevens(dw, *weights)
            xz, wz = sevens(dx), sevens(dw)
            title = f"{name} {dx.__name__} {dw.__name__}"
            if dx == u:
                wzs = [None, wz]
                for z in wzs:
                    case("quantized_convolution", "QuantizedConvolution",
                         f"{title} int32 {z is None}", ours,
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
            case("quantized_convolution", "QuantizedConvolution", f"{title} quantized",
                 {**ours, "to": TYPES[dx.__name__]},
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
                case("quantized_matrix_multiply", "QuantizedMatrixMultiply", f"{title} {name}", {},
                     [a, b] + zeros,
                     onnx_run("MatMulInteger", [a, b] + full, opset=10))
            scale_a, scale_b, scale_y = np.float32(0.02), np.float32(0.015), np.float32(0.04)
            yz = sevens(da)
            y = onnx_run("QLinearMatMul", [a, scale_a, az, b, scale_b, bz, scale_y, yz], opset=10)
            case("quantized_matrix_multiply", "QuantizedMatrixMultiply", title + " quantized",
                 {"to": TYPES[da.__name__]},
                 [a, b, az, bz, None, np.float32(scale_a * scale_b / scale_y), yz], y)


quantize_cases()
convolution_cases()
matrix_multiply_cases()
write()
