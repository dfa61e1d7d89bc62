"""Writes quantized.json: quantised operators of com.microsoft as ONNX Runtime computes them.

Run: python src/import/testdata/make_quantized_cases.py   (needs numpy, onnx, onnxruntime)
"""
import numpy as np
from node_cases import Constant, case, floats, integers, write

EXACT = {"tolerance": 1e-6}
UINT8, INT8 = np.uint8, np.int8


def data(dtype, *shape):
    """7-bit numbers: without VNNI ONNX Runtime's sums of 8-bit products saturate."""
    low, high = (0, 127) if dtype == UINT8 else (-63, 63)
    return integers(*shape, low=low, high=high, dtype=dtype)


def real(x):
    return np.array(x, np.float32)


def zero(dtype, x):
    return np.array(x, dtype)


def with_scale(dtype, scale, zero, *shape):
    return [data(dtype, *shape), real(scale), np.array(zero, dtype)]


# The scales are such that no quotient is a tie, which ONNX Runtime rounds after other roundings.
for t in (UINT8, INT8):
    name = t.__name__
    case("QLinearAdd", name, with_scale(t, 0.0317, 5, 2, 3, 4) + with_scale(t, 0.0213, 9, 3, 1)
         + [real(0.0419), zero(t, 7)], **EXACT)
    case("QLinearMul", name, with_scale(t, 0.0317, 5, 2, 3, 4) + with_scale(t, 0.0213, 9, 2, 3, 4)
         + [real(0.0119), zero(t, 7)], **EXACT)
    case("QLinearConcat", name, [real(0.0419), zero(t, 7)] + with_scale(t, 0.0317, 5, 2, 3)
         + with_scale(t, 0.0213, 9, 2, 1), axis=1, **EXACT)
    case("QLinearGlobalAveragePool", name, with_scale(t, 0.0317, 5, 1, 2, 3, 5)
         + [real(0.0219), zero(t, 7)], **EXACT)
    case("QLinearAveragePool", name, with_scale(t, 0.0317, 5, 1, 2, 7, 5) + [real(0.0219), zero(t, 7)],
         kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1],
         **EXACT)
    case("QLinearLeakyRelu", name, [Constant(i) if k else i for k, i in enumerate(
        with_scale(t, 0.0317, 40 if t == UINT8 else 3, 3, 9) + [real(0.0119), zero(t, 60)])], alpha=0.2,
         **EXACT)
    case("QLinearSigmoid", name, [Constant(i) if k else i for k, i in enumerate(
        with_scale(t, 0.0817, 40 if t == UINT8 else 3, 3, 9) + [real(0.0041), zero(t, 3)])], **EXACT)
    for opset in (12, 13):
        case("QLinearSoftmax", f"{name} {opset}", [Constant(i) if k else i for k, i in enumerate(
            with_scale(t, 0.0817, 40 if t == UINT8 else 3, 2, 3, 4)
            + [real(1 / 256), zero(t, 0 if t == UINT8 else -128)])], axis=1,
             more={"opset": opset}, tolerance=1.0)
    case("QLinearWhere", name, [integers(2, 3, 4, high=1).astype(bool)]
         + with_scale(t, 0.0317, 5, 2, 3, 4) + with_scale(t, 0.0213, 9, 3, 1)
         + [real(0.0419), zero(t, 7)], tolerance=1.0)
    case("MatMulIntegerToFloat", name + " bias", [data(t, 4, 6), data(INT8, 6, 5), real(0.02),
         floats(5, low=0.5), zero(t, 3), zero(INT8, 0), floats(5)])
    case("MatMulIntegerToFloat", name, [data(t, 2, 4, 6), data(INT8, 6, 5), real(0.02),
         real(0.03)])
    scales = np.array([0.011, 0.021, 0.017, 0.03, 0.009], np.float32)
    for attributes, sa, sb in (({}, (4, 6), (6, 5)), ({"transA": 1, "transB": 1}, (6, 4), (5, 6)),
                               ({"alpha": 1.5}, (4, 6), (6, 5))):
        operands = [data(t, *sa), real(0.0231), zero(t, 5), data(INT8, *sb)]
        each = [scales, np.zeros(5, INT8)]
        bias = integers(5, low=-900, high=900, dtype=np.int32)
        case("QGemm", f"{name} {attributes}", operands + each + [bias, real(0.0123), zero(t, 11)],
             **attributes, **EXACT)
        case("QGemm", f"{name} {attributes} float", operands + [real(0.013), zero(INT8, 0), bias],
             **attributes)
    bias = integers(4, 1, low=-900, high=900, dtype=np.int32)
    case("QGemm", f"{name} row bias", [data(t, 4, 6), real(0.0231), zero(t, 5), data(INT8, 6, 5),
         real(0.013), zero(INT8, 0), bias, real(0.0123), zero(t, 11)], tolerance=1.0)

for b in (data(INT8, 6, 5), data(UINT8, 6, 5)):
    case("DynamicQuantizeMatMul", str(b.dtype), [floats(3, 6), b, real(0.02), zero(b.dtype, 3)])
    case("DynamicQuantizeMatMul", f"{b.dtype} columns", [floats(2, 3, 6), b, floats(5, low=0.5),
         np.zeros(5, b.dtype), floats(5)])
x = floats(3, 4, high=30.0)
s = np.array([0.25, 0.5, 2], np.float32)
case("QuantizeLinear", "axis", [x, s, np.array([3, 4, 5], UINT8)], axis=0, **EXACT)
case("QuantizeLinear", "one", [x, real(0.5), zero(INT8, 3)], **EXACT)
case("DequantizeLinear", "axis", [data(INT8, 3, 4), s, np.array([3, 4, 5], INT8)], axis=0)
case("DequantizeLinear", "one", [data(UINT8, 3, 4), real(0.5), zero(UINT8, 3)])
for bits in (4, 8):
    n, k, block = 5, 40, 16
    blocks = 3
    weights = Constant(integers(n, blocks, block * bits // 8, high=255, dtype=UINT8))
    scale = Constant(floats(n * blocks, low=0.1))
    zeros = Constant(integers(n * ((blocks * bits + 7) // 8), high=255, dtype=UINT8))
    given = {"K": k, "N": n, "bits": bits, "block_size": block, "tolerance": 1e-4}
    case("MatMulNBits", f"{bits} bits", [floats(2, 3, k), weights, scale], **given)
    case("MatMulNBits", f"{bits} bits, zero points", [floats(3, k), weights, scale, zeros], **given)
    case("MatMulNBits", f"{bits} bits, bias", [floats(3, k), weights, scale, None, None, floats(n)],
         **given)
    if bits == 4:  # ONNX Runtime's kernel with groups of columns has no other
        groups = Constant(integers(blocks * block, high=blocks - 1, dtype=np.int32))
        case("MatMulNBits", "groups", [floats(3, k), weights, scale, None, groups], **given)
        # Its kernel leaves the zero points out then: the sum as the operator's text has it.
        x, g = floats(3, k), groups.array[:k]
        def nibbles(packed):
            return np.stack([packed & 15, packed >> 4], -1).reshape(n, -1).astype(np.float32)
        matrix = (nibbles(weights.array)[:, :k] - nibbles(zeros.array)[:, g]) \
            * scale.array.reshape(n, blocks)[:, g]
        case("MatMulNBits", "groups, zero points", [x, weights, scale, zeros, groups],
             expected=[x @ matrix.T], **given)

write("quantized")
