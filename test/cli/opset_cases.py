"""Nodes whose opset is lowered: (name, nodes, constants, inputs' shapes, opsets from and to). By hand, they run in ONNX Runtime:

    TENON=build/release/tools/tenon/tenon .cache/bench/venv/bin/python test/cli/opset_cases.py
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

INT64 = TensorProto.INT64


def node(op, inputs, outputs="y", **attributes):
    return helper.make_node(op, inputs.split(","), outputs.split(","), **attributes)


def ints(name, *values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def floats(name, *values, shape=None):
    return numpy_helper.from_array(np.array(values, np.float32).reshape(shape if shape is not None else (-1,)), name)


def scalar(name, value):
    return numpy_helper.from_array(np.float32(value), name)


X = {"x": (2, 4, 6)}
IMAGE = {"x": (1, 4, 6, 6)}
CASES = [
    ("squeeze", [node("Unsqueeze", "x,u", "a"), node("Squeeze", "a,s")], [ints("u", 0, -1), ints("s", 0)], X, 21, 7),
    ("reduce", [node("ReduceMean", "x,a", "m"), node("ReduceSum", "m,b", keepdims=0)], [ints("a", -1), ints("b", 1)], X, 21, 7),
    ("reduce_all", [node("ReduceSum", "x", "m"), node("ReduceMax", "m")], [], X, 18, 8),
    ("reduce_none", [node("ReduceSum", "x", "m", noop_with_empty_axes=1), node("Relu", "m")], [], X, 18, 8),
    ("split", [node("Split", "x", "a,b,c", axis=2, num_outputs=3), node("Concat", "c,a,b", axis=-1)], [], X, 20, 9),
    ("split_uneven", [node("Split", "x", "a,b,c,d", axis=2, num_outputs=4), node("Concat", "d,c,a,b", axis=2)], [], {"x": (2, 4, 7)}, 20, 9),
    ("split_sizes", [node("Split", "x,s", "a,b", axis=1), node("Concat", "b,a", axis=1)], [ints("s", 1, 3)], X, 17, 11),
    ("clip", [node("Clip", "x,l,h")], [scalar("l", -0.5), scalar("h", 0.25)], X, 21, 9),
    ("clip_low", [node("Clip", "x,l")], [scalar("l", -0.5)], X, 13, 7),
    ("pad", [node("Pad", "x,p,v,a")], [ints("p", 1, 2, 0, 3), scalar("v", 1.5), ints("a", -1, 0)], X, 21, 9),
    ("pad_reflect", [node("Pad", "x,p", mode="reflect")], [ints("p", 0, 0, 1, 0, 0, 2)], X, 13, 7),
    ("slice", [node("Slice", "x,s,e,a")], [ints("s", 1, 0), ints("e", 5, 3), ints("a", -1, 1)], X, 21, 7),
    ("topk", [node("TopK", "x,k", "y,i", axis=-1)], [ints("k", 3)], X, 11, 8),
    ("dropout", [node("Dropout", "x,r", "d"), node("Relu", "d")], [scalar("r", 0.3)], X, 21, 7),
    ("batch_norm", [node("BatchNormalization", "x,s,b,m,v")],
     [floats("s", 1, 2, 3, 4), floats("b", 0, 1, 0, 1), floats("m", 0, 0, 1, 1), floats("v", 1, 2, 3, 4)], X, 21, 8),
    ("softmax_last", [node("Softmax", "x")], [], X, 21, 7),
    ("softmax_middle", [node("Softmax", "x", axis=1)], [], X, 13, 8),
    ("log_softmax", [node("LogSoftmax", "x", axis=-2)], [], X, 17, 11),
    ("resize_up", [node("Resize", "x,,s", mode="nearest")], [floats("s", 1, 1, 2, 3)], IMAGE, 19, 7),
    ("resize_sizes", [node("Resize", "x,,,s", mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")],
     [ints("s", 1, 4, 9, 12)], IMAGE, 18, 10),
    ("resize_linear", [node("Resize", "x,,s", mode="linear", coordinate_transformation_mode="asymmetric")], [floats("s", 1, 1, 2, 2)], IMAGE, 13, 9),
    ("resize_half_pixel", [node("Resize", "x,,s", mode="linear")], [floats("s", 1, 1, 2, 2)], IMAGE, 19, 11),
    ("group_norm", [node("GroupNormalization", "x,s,b", num_groups=2)], [floats("s", 1, 2, 3, 4), floats("b", 0, 1, 2, 3)], IMAGE, 21, 13),
    ("group_norm_to_18", [node("GroupNormalization", "x,s,b", num_groups=2)], [floats("s", 1, 2, 3, 4), floats("b", 0, 1, 2, 3)], IMAGE, 21, 18),
    ("layer_norm", [node("LayerNormalization", "x,s,b", axis=1)], [floats("s", *range(24), shape=(4, 6)), floats("b", *range(6))], X, 17, 9),
    ("layer_norm_last", [node("LayerNormalization", "x,s", epsilon=0.1)], [floats("s", *range(6))], X, 17, 16),
    ("gelu", [node("Gelu", "x")], [], X, 20, 11),
    ("gelu_tanh", [node("Gelu", "x", approximate="tanh")], [], X, 20, 13),
    ("mish", [node("Mish", "x")], [], X, 18, 10),
    ("hard_swish", [node("HardSwish", "x")], [], X, 14, 9),
    ("celu", [node("Celu", "x", alpha=0.5)], [], X, 12, 7),
    ("or_equal", [node("GreaterOrEqual", "x,l", "g"), node("LessOrEqual", "x,h", "s"), node("And", "g,s", "b"), node("Cast", "b", to=1)],
     [scalar("l", -0.5), scalar("h", 0.5)], X, 16, 11),
    ("shape_part", [node("Shape", "x", "s", start=1, end=-1), node("Cast", "s", to=1)], [], X, 15, 10),
    ("scatter", [node("ScatterElements", "x,i,u", axis=-1)],
     [numpy_helper.from_array(np.zeros((2, 4, 1), np.int64), "i"), floats("u", *range(8), shape=(2, 4, 1))], X, 11, 9),
    ("gemm", [node("Flatten", "x", "f", axis=-1), node("Gemm", "f,w")], [floats("w", *range(12), shape=(6, 2))], X, 13, 9),
    ("reshape", [node("Reshape", "x,s", allowzero=0)], [ints("s", 0, -1)], X, 21, 7),
    ("gather", [node("Gather", "x,i", axis=-1)], [ints("i", 1, 0)], X, 13, 7),
    ("constants", [helper.make_node("Constant", [], ["k"], value_float=0.5), helper.make_node("Constant", [], ["l"], value_floats=[1.0, 2.0] * 3),
                   helper.make_node("Constant", [], ["s"], value_ints=[4, -1]), helper.make_node("Constant", [], ["f"], value_int=1),
                   node("Mul", "x,k", "m"), node("Add", "m,l", "a"), node("Gather", "a,f", "g"), node("Reshape", "g,s")], [], X, 13, 7),
    ("pool", [node("MaxPool", "x", kernel_shape=[2, 2], dilations=[1, 1], ceil_mode=0), ], [], IMAGE, 21, 7),
]


def model_of(nodes, constants, shapes, opset, outputs=("y",)):
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph(nodes, "g", inputs, results, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=4)
    model = onnx.shape_inference.infer_shapes(model, data_prop=True)
    for result in model.graph.output:
        if not result.type.tensor_type.HasField("shape"):  # behind what the package does not know
            result.type.CopyFrom(next(i.type for i in model.graph.input if i.name == "x"))
    del model.graph.value_info[:]
    return model


def main():
    import onnxruntime
    onnxruntime.set_default_logger_severity(3)
    failed = 0
    for name, nodes, constants, shapes, before, after in CASES:
        model = model_of(nodes, constants, shapes, before)
        arrays = {key: np.random.default_rng(1).standard_normal(shape).astype(np.float32) for key, shape in shapes.items()}
        with tempfile.TemporaryDirectory() as folder:
            source, lowered = Path(folder) / "m.onnx", Path(folder) / "l.onnx"
            onnx.save(model, source)
            done = subprocess.run([os.environ["TENON"], "onnx", f"opset={after}", source, "-o", lowered], capture_output=True, text=True)
            if done.returncode != 0:
                result = done.stderr.strip()
            else:
                try:
                    onnx.checker.check_model(str(lowered), full_check=True)
                    a, b = (onnxruntime.InferenceSession(str(p), providers=["CPUExecutionProvider"]).run(None, arrays)[0] for p in (source, lowered))
                    result = "" if a.shape == b.shape and np.allclose(a, b, rtol=1e-5, atol=1e-6) else f"differs: {a.shape} {b.shape}"
                except Exception as e:
                    result = str(e)[:250]
        failed += bool(result)
        print(f"{name} {before} -> {after}: {result or 'equal'}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
