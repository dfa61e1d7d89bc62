"""Writes microsoft.json: float operators of com.microsoft as ONNX Runtime computes them.

Run: python src/import/testdata/make_microsoft_cases.py   (needs numpy, onnx, onnxruntime)
"""
import numpy as np

from node_cases import Constant, case, floats, integers, write

case("Gelu", "erf", [floats(2, 5)])
case("FastGelu", "without bias", [floats(2, 5)])
case("FastGelu", "with bias", [floats(2, 5), floats(5)])
case("BiasGelu", "", [floats(2, 3, 5), floats(5)])
case("QuickGelu", "default alpha", [floats(2, 5)])
case("QuickGelu", "alpha", [floats(2, 5)], alpha=0.5)

X, W = floats(2, 3, 6), floats(6)
case("LayerNormalization", "in opset 1", [X, W, floats(6)], domain="", opset=16, axis=-1)
case("SimplifiedLayerNormalization", "", [X, W], domain="", opset=16, axis=-1, epsilon=1e-3)
case("SkipLayerNormalization", "", [X, floats(2, 3, 6), W, floats(6)])
case("SkipLayerNormalization", "sum", [X, floats(2, 3, 6), W, floats(6), floats(6)],
     [True, False, False, True], epsilon=1e-3)
case("SkipLayerNormalization", "without beta", [X, floats(2, 3, 6), W])
case("SkipSimplifiedLayerNormalization", "sum", [X, floats(2, 3, 6), W, floats(6)],
     [True, False, False, True])
IDS = integers(2, 3, high=6, dtype=np.int32)
TABLES = [floats(7, 6), floats(4, 6), floats(2, 6), W, floats(6)]
case("EmbedLayerNormalization", "", [IDS, IDS % 2, *TABLES], [True, False])
case("EmbedLayerNormalization", "without segments",
     [IDS, None, TABLES[0], TABLES[1], None, W, floats(6)], [True, False])
case("EmbedLayerNormalization", "positions, mask and sum",
     [IDS, IDS % 2, *TABLES, np.array([[1, 1, 0], [1, 1, 1]], np.int32),
      integers(2, 3, high=3, dtype=np.int32)], 3)

KERNEL = Constant(floats(4, 3, 3, 3))
IMAGE = floats(1, 3, 5, 6)
case("FusedConv", "no activation", [IMAGE, KERNEL], kernel_shape=[3, 3])
case("FusedConv", "Relu", [IMAGE, KERNEL, Constant(floats(4))], kernel_shape=[3, 3], activation="Relu")
case("FusedConv", "LeakyRelu", [IMAGE, KERNEL, Constant(floats(4))], pads=[1, 1, 1, 1],
     kernel_shape=[3, 3], activation="LeakyRelu", activation_params=[0.3])
case("FusedConv", "Clip", [IMAGE, KERNEL], kernel_shape=[3, 3], activation="Clip",
     activation_params=[-1.0, 2.0])
case("FusedConv", "HardSigmoid", [IMAGE, KERNEL], kernel_shape=[3, 3], activation="HardSigmoid",
     activation_params=[0.25, 0.5])
case("FusedConv", "sum", [IMAGE, KERNEL, Constant(floats(4)), floats(1, 4, 3, 4)],
     kernel_shape=[3, 3], activation="Relu")
case("FusedMatMul", "", [floats(2, 3, 4), floats(2, 4, 5)], alpha=0.5)
case("FusedMatMul", "transposed", [floats(2, 4, 3), floats(5, 4)], transA=1, transB=1)
case("FusedMatMul", "vector", [floats(4), floats(4, 5)], alpha=2.0)
case("FusedGemm", "", [floats(3, 4), floats(5, 4), floats(5)], transB=1, activation="LeakyRelu",
     activation_alpha=0.2)
case("FusedGemm", "Relu", [floats(3, 4), floats(4, 5), floats(5)], activation="Relu", alpha=0.5)
SCORES, ADDED = floats(2, 3, 4, 5), floats(2, 1, 1, 5)
SHARES = np.exp(SCORES + ADDED)  # ONNX Runtime has no such kernel for CPUs
case("BiasSoftmax", "", [SCORES, ADDED], axis=3, is_inner_broadcast=1,
     expected=[SHARES / SHARES.sum(-1, keepdims=True)])
case("ExpandDims", "", [floats(2, 3), Constant(np.array([1], np.int32))])
case("Pad", "", [floats(2, 3), Constant(np.array([1, 0, 0, 2])), Constant(np.float32(1.5))],
     mode="constant")
case("GatherND", "", [floats(2, 3, 4), integers(2, 2, high=1)], static=True)

N, L, S, HEADS, SIZE = 2, 3, 5, 2, 4
H = HEADS * SIZE


def attention(name, mask=None, past=0, bias=None, outputs=1, **attributes):
    case("Attention", name, [floats(N, L, 6), Constant(floats(6, 3 * H)), Constant(floats(3 * H)), mask,
                             floats(2, N, HEADS, past, SIZE) if past else None, bias],
         outputs, num_heads=HEADS, static="heads", **attributes)


attention("plain")
attention("causal", unidirectional=1)
attention("scale", scale=0.3)
attention("lengths", np.array([2, 3], np.int32))
attention("mask of keys", np.array([[1, 1, 0], [1, 0, 1]], np.int32))
attention("mask of pairs", integers(N, L, L, high=1, dtype=np.int32))
attention("bias", bias=floats(1, HEADS, L, L))
attention("past", past=2, outputs=2)
attention("past, causal", past=2, outputs=2, unidirectional=1)
case("Attention", "sizes", [floats(N, L, 6), Constant(floats(6, 2 * H + 6)), Constant(floats(2 * H + 6))],
     num_heads=HEADS, qkv_hidden_sizes=[H, H, 6], static="heads")


def many(name, more=(), outputs=1, key=None, value=None, **attributes):
    case("MultiHeadAttention", name,
         [floats(N, L, H), floats(N, S, H) if key is None else key,
          floats(N, S, H) if value is None else value, *more], outputs, num_heads=HEADS, static="heads", **attributes)


many("plain")
many("bias of inputs", [Constant(floats(3 * H))])
many("mask of keys", [None, integers(N, S, high=1, dtype=np.int32)])
many("bias", [None, None, floats(N, HEADS, L, S)])
many("scale, causal", scale=0.2, unidirectional=1, key=floats(N, L, H), value=floats(N, L, H))
many("cross", key=floats(N, HEADS, S, SIZE), value=floats(N, HEADS, S, SIZE))
many("past", [None, None, None, floats(N, HEADS, 2, SIZE), floats(N, HEADS, 2, SIZE)], outputs=3)

COS, SIN = Constant(floats(16, SIZE // 2)), Constant(floats(16, SIZE // 2))


def grouped(name, past=0, outputs=3, packed=False, **attributes):
    heads = {"num_heads": 4, "kv_num_heads": 2}
    total = past + L
    inputs = ([floats(1, L, 8 * SIZE), None, None] if packed else
              [floats(1, L, 4 * SIZE), floats(1, L, 2 * SIZE), floats(1, L, 2 * SIZE)])
    inputs += [floats(1, 2, past, SIZE), floats(1, 2, past, SIZE)] if past else [None, None]
    inputs += [np.array([total - 1], np.int32), Constant(np.array(total, np.int32)), COS, SIN]
    case("GroupQueryAttention", name, inputs, outputs, do_rotary=1, **heads, static="heads", **attributes)


SIZE = 16  # the least that ONNX Runtime turns
COS, SIN = Constant(floats(16, SIZE // 2)), Constant(floats(16, SIZE // 2))
grouped("plain")
grouped("packed", packed=True)
grouped("window", local_window_size=2)
grouped("softcap", softcap=2.0)
grouped("interleaved", rotary_interleaved=1)
grouped("past", past=5)
grouped("past and window", past=5, local_window_size=3)
grouped("past, packed", past=2, packed=True)

POSITIONS = integers(N, L, high=15)
case("RotaryEmbedding", "joined", [floats(N, L, HEADS * SIZE), POSITIONS, COS, SIN], static="heads")
case("RotaryEmbedding", "split", [floats(N, HEADS, L, SIZE), POSITIONS, COS, SIN], interleaved=1, static="heads")
case("RotaryEmbedding", "first position", [floats(N, L, HEADS * SIZE), np.array([2]), COS, SIN], static="heads")

for upper in (0, 1):
    for k in (-2, 1):
        case("Trilu", f"{upper} {k}", [floats(2, 3, 4), np.array(k)], upper=upper)
    case("Trilu", f"{upper}", [floats(3, 5)], upper=upper)
case("Trilu", "integers", [integers(4, 3)], upper=0)

write("microsoft")
