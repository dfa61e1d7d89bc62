"""Writes the cases that the tests of src/ops compare with: inputs, attributes and the results of
ONNX Runtime (or NumPy where ONNX has no such operator), one JSON file per layer kind.

Run: python src/ops/testdata/make_cases.py   (needs numpy, onnx, onnxruntime)
"""

import json
import pathlib

import numpy as np
import onnxruntime
from onnx import helper

FOLDER = pathlib.Path(__file__).parent
random = np.random.default_rng(1)
files = {}


def floats(*shape, low=-4.0, high=4.0):
    """Random multiples of 1/16: exact in every float type and short in JSON."""
    sixteenths = random.integers(int(low * 16), int(high * 16), shape, endpoint=True)
    return (sixteenths / 16).astype(np.float32)


def integers(*shape, low=-9, high=9, dtype=np.int64):
    return random.integers(low, high, shape, endpoint=True).astype(dtype)


def as_json(array, kind=None):
    if array is None:
        return None
    array = np.asarray(array)
    def number(v):
        if isinstance(v, (np.floating, float)):
            v = float(v)
            return v if np.isfinite(v) else str(v)
        return int(v)
    if array.dtype in (np.float32, np.float16):
        values = [float(f"{v:.9g}") if np.isfinite(v) else str(float(v)) for v in array.ravel()]
        values = [int(v) if not isinstance(v, str) and v == int(v) and v != 0 else v
                  for v in values]
    else:
        values = [number(v) for v in array.ravel()]
    out = {"type": str(array.dtype), "shape": list(array.shape), "data": values}
    if kind:
        out["kind"] = kind
    return out


def constant(array):
    return (array, "constant")


def shape_input(values):
    return (np.array(values, np.int64), "shape")


def case(file, op, name, attributes, inputs, outputs, **more):
    """Inputs are arrays, None, or (array, kind). static=True: extents cannot be symbols."""
    listed = [as_json(*i) if isinstance(i, tuple) else as_json(i) for i in inputs]
    if not isinstance(outputs, (list, tuple)):
        outputs = [outputs]
    files.setdefault(file, []).append(
        {"name": name, "op": op, "attributes": attributes, "inputs": listed,
         "outputs": [as_json(o) for o in outputs], **more})


def onnx_run(op, inputs, opset=19, domain="", outputs=1, **attributes):
    """One node through ONNX Runtime; None leaves an input out. A list for several outputs."""
    results = [f"y{i}" for i in range(outputs)]
    names = [f"x{i}" if a is not None else "" for i, a in enumerate(inputs)]
    feeds = {n: np.asarray(a) for n, a in zip(names, inputs) if n}
    node = helper.make_node(op, names, results, domain=domain, **attributes)
    graph = helper.make_graph(
        [node], "case",
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
         for n, a in feeds.items()],
        [helper.make_empty_tensor_value_info(r) for r in results])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 9
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    computed = session.run(None, feeds)
    return computed if outputs > 1 else computed[0]


SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5], np.float32)
UNARY = ["Exp", "Log", "Sqrt", "Reciprocal", "Abs", "Neg", "Sin", "Cos", "Tan", "Sinh", "Cosh",
         "Asin", "Acos", "Atan", "Asinh", "Acosh", "Atanh", "Ceil", "Floor", "Erf", "Not", "Sign",
         "Round", "IsInf", "IsNaN"]


def unary_cases():
    for number, op in enumerate(UNARY):
        attributes = {"operation": number}
        if op == "Not":
            x = np.array([True, False, True])
            case("unary", "Unary", op, attributes, [x], ~x)
            continue
        domain = {"Log": (0.1, 4), "Sqrt": (0, 4), "Acosh": (1, 4), "Asin": (-1, 1),
                  "Acos": (-1, 1), "Atanh": (-0.9, 0.9)}.get(op, (-4, 4))
        x = floats(2, 5, low=domain[0], high=domain[1])
        x = np.where(x == 0, 0.25, x).astype(np.float32)
        case("unary", "Unary", op, attributes, [x], onnx_run(op, [x]))
        if op in ("Abs", "Neg", "Ceil", "Floor", "Round", "IsInf", "IsNaN"):
            case("unary", "Unary", op + " special", attributes, [SPECIAL], onnx_run(op, [SPECIAL]))
        if op in ("Abs", "Neg", "Sign"):
            for dtype in (np.int32, np.int64, np.int8):
                x = integers(7, dtype=dtype)
                case("unary", "Unary", f"{op} {dtype.__name__}", attributes, [x], onnx_run(op, [x]))
        if op in ("Exp", "Sqrt", "Floor"):
            x = np.abs(floats(4)).astype(np.float16)
            case("unary", "Unary", op + " half", attributes, [x],
                 onnx_run(op, [x.astype(np.float32)]).astype(np.float16))


def activation_cases():
    rows = [("Relu", 0, {}, 0, 0), ("Sigmoid", 1, {}, 0, 0), ("Tanh", 2, {}, 0, 0),
            ("LeakyRelu", 3, {"alpha": 0.1}, 0.1, 0), ("Elu", 4, {"alpha": 1.5}, 1.5, 0),
            ("Selu", 5, {"alpha": 1.6, "gamma": 1.05}, 1.6, 1.05), ("Softsign", 6, {}, 0, 0),
            ("Softplus", 7, {}, 1, 1), ("HardSigmoid", 9, {"alpha": 0.2, "beta": 0.5}, 0.2, 0.5),
            ("ThresholdedRelu", 11, {"alpha": 1.25}, 1.25, 0)]
    x = np.concatenate([floats(14), [0.0, 1.25, 90.0, -90.0]]).astype(np.float32).reshape(2, 9)
    for op, number, given, alpha, beta in rows:
        case("activation", "Activation", op, {"type": number, "alpha": alpha, "beta": beta}, [x],
             onnx_run(op, [x], **given))
    case("activation", "Activation", "Clip", {"type": 8, "alpha": -1, "beta": 2}, [x],
         onnx_run("Clip", [x, np.float32(-1), np.float32(2)]))
    case("activation", "Activation", "ScaledTanh", {"type": 10, "alpha": 1.7, "beta": 0.6}, [x],
         (1.7 * np.tanh(0.6 * x.astype(np.float64))).astype(np.float32))
    case("activation", "Activation", "Softplus scaled", {"type": 7, "alpha": 2, "beta": 0.5}, [x],
         (2 * np.logaddexp(0, 0.5 * x.astype(np.float64))).astype(np.float32))
    for number, approximate in ((12, "none"), (13, "tanh")):
        case("activation", "Activation", "Gelu " + approximate, {"type": number}, [x],
             onnx_run("Gelu", [x], opset=20, approximate=approximate))
    half = x.astype(np.float16)
    case("activation", "Activation", "Sigmoid half", {"type": 1}, [half],
         onnx_run("Sigmoid", [x]).astype(np.float16))
    for dtype in (np.int32, np.int64, np.int8):
        i = integers(6, dtype=dtype)
        case("activation", "Activation", f"Relu {dtype.__name__}", {"type": 0}, [i],
             np.maximum(i, 0))
        case("activation", "Activation", f"Clip {dtype.__name__}",
             {"type": 8, "alpha": -2, "beta": 3}, [i], np.clip(i, -2, 3))


BINARY = ["Add", "Mul", "Max", "Min", "Sub", "Div", "Pow", None, "And", "Or", "Xor", "Equal",
          "Greater", "Less"]


def elementwise_cases():
    shapes = [((2, 3), (2, 3)), ((2, 3), (1, 3)), ((2, 1, 4), (1, 3, 1)), ((1, 1), (2, 3)),
              ((0, 3), (1, 3)), ((), ())]
    for number, op in enumerate(BINARY):
        for sa, sb in shapes:
            name = f"{op} {sa} {sb}"
            if op in ("And", "Or", "Xor"):
                a, b = integers(*sa, low=0, high=1) > 0, integers(*sb, low=0, high=1) > 0
            else:
                a, b = floats(*sa), floats(*sb)
                b = np.where(b == 0, np.float32(0.5), b)
                if op == "Pow":
                    a = np.abs(a)
            y = np.floor(a / b) if op is None else onnx_run(op, [a, b])
            case("elementwise", "ElementWise", name, {"operation": number}, [a, b], y)
        if op in ("And", "Or", "Xor"):
            continue
        for dtype in (np.int32, np.int64, np.int8):
            a, b = integers(9, dtype=dtype), integers(9, dtype=dtype)
            b = np.where(b == 0, dtype(3), b).astype(dtype)
            if op == "Pow":
                a = integers(9, low=-3, high=3, dtype=dtype)
                b = integers(9, low=0, high=4, dtype=dtype)
                y = a ** b
            elif op is None:
                y = a // b
            elif op == "Div":
                y = np.trunc(a / b).astype(dtype)
            else:
                y = {"Add": np.add, "Mul": np.multiply, "Max": np.maximum, "Min": np.minimum,
                     "Sub": np.subtract, "Equal": np.equal, "Greater": np.greater,
                     "Less": np.less}[op](a, b)
            case("elementwise", "ElementWise", f"{op} {dtype.__name__}", {"operation": number},
                 [a, b], y)
    a, b = floats(2, 3).astype(np.float16), floats(1, 3).astype(np.float16)
    case("elementwise", "ElementWise", "half", {"operation": 0}, [a, b], a + b)


def cast_cases():
    number = {np.float32: 0, np.float16: 1, np.int8: 2, np.int32: 3, np.bool_: 4, np.uint8: 5,
              np.int64: 8}
    numbers = np.array([0, 1, 2, 100, 37, 7], np.float32)
    for source in number:
        for target, code in number.items():
            x = numbers.astype(source)
            case("cast", "Cast", f"{source.__name__} to {target.__name__}", {"to": code}, [x],
                 x.astype(target))
    x = np.array([-2.7, -0.5, 0.0, 0.5, 2.7, 1e4], np.float32)
    case("cast", "Cast", "truncates", {"to": 3}, [x], np.trunc(x).astype(np.int32))
    case("cast", "Cast", "bool of a fraction", {"to": 4}, [x], x != 0)
    x = np.array([np.nan, np.inf, -np.inf, 1e20, -1e20, 3e9], np.float32)
    low, high = -2**31, 2**31 - 1
    case("cast", "Cast", "saturates int32", {"to": 3}, [x],
         np.array([0, high, low, high, low, high], np.int32))
    case("cast", "Cast", "saturates int8", {"to": 2}, [x],
         np.array([0, 127, -128, 127, -128, 127], np.int8))
    case("cast", "Cast", "saturates uint8", {"to": 5}, [x],
         np.array([0, 255, 0, 255, 0, 255], np.uint8))
    low, high = -2**63, 2**63 - 1
    case("cast", "Cast", "saturates int64", {"to": 8}, [x],
         np.array([0, high, low, high, low, 3000000000], np.int64))


def shuffle_cases():
    x = floats(2, 3, 4)
    case("shuffle", "Shuffle", "transpose", {"first_transpose": [2, 0, 1]}, [x],
         x.transpose(2, 0, 1))
    case("shuffle", "Shuffle", "reshape", {"has_reshape": True, "reshape": [6, 4]}, [x],
         x.reshape(6, 4))
    case("shuffle", "Shuffle", "zero and minus one", {"has_reshape": True, "reshape": [0, -1]}, [x],
         x.reshape(2, 12))
    case("shuffle", "Shuffle", "all three",
         {"first_transpose": [1, 0, 2], "has_reshape": True, "reshape": [3, -1],
          "second_transpose": [1, 0]}, [x], x.transpose(1, 0, 2).reshape(3, 8).T)
    case("shuffle", "Shuffle", "second only",
         {"has_reshape": True, "reshape": [0, 0, 2, 2], "second_transpose": [3, 1, 0, 2]}, [x],
         x.reshape(2, 3, 2, 2).transpose(3, 1, 0, 2))
    for array in (integers(2, 3), integers(2, 3, dtype=np.int32), integers(2, 3, dtype=np.int8),
                  floats(2, 3).astype(np.float16), integers(2, 3) > 0):
        case("shuffle", "Shuffle", f"transpose {array.dtype}", {"first_transpose": [1, 0]}, [array],
             array.T)
    case("shuffle", "Shuffle", "runtime shape", {}, [x, shape_input([4, 6])], x.reshape(4, 6))
    case("shuffle", "Shuffle", "runtime shape with -1", {}, [x, constant(np.array([0, -1]))],
         x.reshape(2, 12))
    one = floats(1)
    case("shuffle", "Shuffle", "to scalar", {"has_reshape": True, "reshape": []}, [one], one[0],
         static=True)
    empty = floats(0, 3)
    case("shuffle", "Shuffle", "empty",
         {"has_reshape": True, "reshape": [3, 0], "zero_is_placeholder": False}, [empty],
         empty.reshape(3, 0))


def concatenation_cases():
    for axis, shapes in ((0, [(2, 3), (1, 3), (4, 3)]), (1, [(2, 3), (2, 1)]),
                         (-1, [(2, 2), (2, 2)]), (1, [(2, 0, 2), (2, 3, 2)]), (0, [(5,)])):
        for array in (floats, integers):
            parts = [array(*s) for s in shapes]
            case("concatenation", "Concatenation", f"{axis} {shapes}", {"axis": axis}, parts,
                 np.concatenate(parts, axis))
    parts = [integers(2), integers(3)]
    case("concatenation", "Concatenation", "shapes", {"axis": 0}, parts, np.concatenate(parts))


def slice_cases():
    x = floats(3, 5, 4)
    def add(name, array, start, size, stride, **more):
        index = [np.array([s + i * d for i in range(n)], np.int64)
                 for s, n, d in zip(start, size, stride)]
        mode = more.pop("mode", 0)
        for axis, (i, extent) in enumerate(zip(index, array.shape)):
            if mode == 1:
                index[axis] = i % extent
            if mode == 2:
                index[axis] = np.clip(i, 0, extent - 1)
            if mode == 4:  # NumPy's reflect, read off a padded index
                pad = 3 * extent
                index[axis] = np.pad(np.arange(extent), pad, mode="reflect")[i + pad]
        attributes = {"start": start, "size": size, "stride": stride, "mode": mode}
        y = array[np.ix_(*index)]
        case("slice", "Slice", name, attributes, [array], y)
        inputs = [array, shape_input(start), shape_input(size), shape_input(stride)]
        case("slice", "Slice", name + " (inputs)", {"mode": mode}, inputs, y)
    add("plain", x, [1, 0, 2], [2, 5, 2], [1, 1, 1])
    add("strided", x, [0, 0, 0], [2, 3, 2], [2, 2, 2])
    add("reversed", x, [2, 4, 3], [3, 5, 4], [-1, -1, -1])
    add("repeated", floats(1, 3), [0, 0], [4, 3], [0, 1])
    add("empty", x, [0, 0, 0], [0, 5, 4], [1, 1, 1])
    add("wrap", x, [-2, 3, 0], [7, 6, 4], [1, 1, 1], mode=1)
    add("clamp", x, [-2, 3, 0], [7, 6, 4], [1, 1, 1], mode=2)
    add("reflect", x, [-4, 3, -1], [11, 6, 4], [1, 1, 1], mode=4)
    add("integers", integers(6), [4], [2], [-3])
    fill = np.float32(7)
    y = np.full((5, 7, 4), fill)
    y[1:4, 1:6] = x
    attributes = {"start": [-1, -1, 0], "size": [5, 7, 4], "stride": [1, 1, 1], "mode": 3}
    case("slice", "Slice", "fill", attributes, [x, None, None, None, fill], y)
    case("slice", "Slice", "fill with zero", attributes, [x], np.where(y == fill, 0, y))
    i = integers(3)
    case("slice", "Slice", "fill integers", {"start": [-1], "size": [5], "stride": [1], "mode": 3},
         [i, None, None, None, constant(np.int64(4))], np.array([4, *i, 4]))
    case("slice", "Slice", "named axes",
         {"start": [1, 0], "size": [2, 2], "stride": [1, 2], "axes": [-1, 0]}, [x],
         x[0:3:2, :, 1:3])
    lists = [shape_input([1]), shape_input([2]), shape_input([2])]
    case("slice", "Slice", "axes input", {}, [x, *lists, None, constant(np.array([1]))],
         x[:, 1:4:2])


def gather_cases():
    x = floats(3, 4, 2)
    for axis in (0, 1, 2, -1):
        for index in (np.array([[0, 1], [-1, 1]]), np.array(1), np.array([], np.int64)):
            case("gather", "Gather", f"default {axis} {index.shape}", {"axis": axis}, [x, index],
                 onnx_run("Gather", [x, index], axis=axis))
    index = np.array([1, 0, -2], np.int32)
    ints = integers(5)
    case("gather", "Gather", "shape arithmetic", {}, [ints, constant(index)], ints[index])
    data, index = floats(2, 5, 3), np.array([[0, 4], [2, -1]])
    case("gather", "Gather", "batch", {"axis": 1, "batch_axes": 1}, [data, index],
         np.stack([data[b][index[b]] for b in range(2)]))
    for axis in (0, 1):
        index = integers(2, 2, low=-2, high=1)
        x2 = floats(3, 4)
        case("gather", "Gather", f"elements {axis}", {"mode": 1, "axis": axis}, [x2, index],
             onnx_run("GatherElements", [x2, index], axis=axis))
    for batch, index in ((0, np.array([[0, 1], [-1, 2]])),
                         (0, np.array([[[2, 3, 1]], [[0, 0, 0]]])),
                         (1, np.array([[1], [0], [-4]])), (0, np.array([1, 1]))):
        case("gather", "Gather", f"nd {batch} {index.shape}", {"mode": 2, "batch_axes": batch},
             [x, constant(index)], onnx_run("GatherND", [x, index], batch_dims=batch))


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


def windows(spatial, kernel, stride=1, dilation=1, pads=None):
    def listed(v):
        return list(v) if isinstance(v, (list, tuple)) else [v] * spatial
    pads = pads or [0] * (2 * spatial)
    return {"kernel": listed(kernel), "stride": listed(stride), "dilation": listed(dilation),
            "pre_padding": pads[:spatial], "post_padding": pads[spatial:]}


def onnx_window(attributes, mode=0):
    out = {"kernel_shape": attributes["kernel"], "strides": attributes["stride"],
           "dilations": attributes["dilation"]}
    if mode >= 2:
        out["auto_pad"] = "SAME_UPPER" if mode == 2 else "SAME_LOWER"
    else:
        out["pads"] = attributes["pre_padding"] + attributes["post_padding"]
    return out


CONVOLUTIONS = [
    ("plain", (2, 3, 5, 6), 4, 1, windows(2, 3)), ("one by one", (1, 4, 3, 3), 2, 1, windows(2, 1)),
    ("stride", (1, 2, 7, 8), 3, 1, windows(2, 3, 2, 1, [1, 1, 1, 1])),
    ("dilation", (1, 2, 9, 8), 2, 1, windows(2, 3, 1, 2)),
    ("asymmetric", (1, 2, 5, 5), 2, 1, windows(2, [2, 3], [1, 2], 1, [0, 1, 2, 0])),
    ("groups", (1, 4, 5, 5), 6, 2, windows(2, 3, 1, 1, [1, 1, 1, 1])),
    ("depthwise", (2, 3, 6, 5), 3, 3, windows(2, 3, 2, 1, [1, 1, 1, 1])),
    ("empty batch", (0, 2, 4, 4), 3, 1, windows(2, 3)),
    ("3-D", (1, 2, 4, 5, 3), 2, 1, windows(3, [2, 3, 2], [1, 2, 1], 1, [1, 0, 1, 0, 1, 1])),
    ("3-D groups", (1, 4, 3, 3, 3), 2, 2, windows(3, 2, 1, 1)),
]


def convolution_cases():
    for name, shape, maps, groups, attributes in CONVOLUTIONS:
        x, b = floats(*shape, low=-2, high=2), floats(maps, low=-2, high=2)
        k = floats(maps, shape[1] // groups, *attributes["kernel"], low=-1, high=1)
        for mode in (0, 2, 3) if name in ("plain", "stride") else (0,):
            full = {**attributes, "output_maps": maps, "groups": groups, "padding_mode": mode}
            given = onnx_window(attributes, mode)
            if 0 in shape:
                y = np.zeros((0, maps, 2, 2), np.float32)
            else:
                y = onnx_run("Conv", [x, k, b], group=groups, **given)
            case("convolution", "Convolution", f"{name} mode {mode}", full,
                 [x, constant(k), constant(b)], y)
        if name == "plain":
            case("convolution", "Convolution", "without bias", full | {"padding_mode": 0},
                 [x, constant(k)], onnx_run("Conv", [x, k], **onnx_window(attributes)))
            flat = constant(k.ravel())
            case("convolution", "Convolution", "kernel as a list", full | {"padding_mode": 0},
                 [x, flat, constant(b)], onnx_run("Conv", [x, k, b], **onnx_window(attributes)))
            up = full | {"padding_mode": 1, "stride": [2, 2]}
            padded = np.pad(x, ((0, 0), (0, 0), (0, 0), (0, 1)))
            case("convolution", "Convolution", "rounded up", up, [x, constant(k), constant(b)],
                 onnx_run("Conv", [padded, k, b], **onnx_window(windows(2, 3, 2))))
            half = [x.astype(np.float16), constant(k.astype(np.float16))]
            case("convolution", "Convolution", "half", full | {"padding_mode": 0}, half,
                 onnx_run("Conv", [x, k], **onnx_window(attributes)).astype(np.float16))
            y = onnx_run("Conv", [x, k, b], **onnx_window(attributes))
            z = floats(*y.shape)
            epilogue = {"epilogue_inputs": 2, "epilogue_constants": [0.5],
                        "epilogue_families": [2, 2, 1], "epilogue_functions": [0, 1, 0],
                        "epilogue_a": [0, 3, 4], "epilogue_b": [1, 2, -1],
                        "epilogue_alpha": [0, 0, 0], "epilogue_beta": [0, 0, 0]}
            case("convolution", "Convolution", "epilogue", full | epilogue | {"padding_mode": 0},
                 [x, constant(k), constant(b), z], np.maximum((y + z) * np.float32(0.5), 0))


def deconvolution_cases():
    for name, shape, maps, groups, attributes in CONVOLUTIONS:
        x, b = floats(*shape, low=-2, high=2), floats(maps, low=-2, high=2)
        k = floats(shape[1], maps // groups, *attributes["kernel"], low=-1, high=1)
        full = {**attributes, "output_maps": maps, "groups": groups}
        if 0 in shape:
            case("deconvolution", "Deconvolution", name, full, [x, constant(k), constant(b)],
                 np.zeros((0, maps, 6, 6), np.float32))
            continue
        case("deconvolution", "Deconvolution", name, full, [x, constant(k), constant(b)],
             onnx_run("ConvTranspose", [x, k, b], group=groups, **onnx_window(attributes)))
        if name != "stride":
            continue
        case("deconvolution", "Deconvolution", "output padding", full | {"output_padding": [1, 0]},
             [x, constant(k)], onnx_run("ConvTranspose", [x, k], output_padding=[1, 0],
                                        **onnx_window(attributes)))
        for mode in (2, 3):
            case("deconvolution", "Deconvolution", f"mode {mode}", full | {"padding_mode": mode},
                 [x, constant(k)],
                 onnx_run("ConvTranspose", [x, k], **onnx_window(attributes, mode)))


def pooling_cases():
    rows = [("plain", (1, 2, 6, 5), windows(2, 2, 2)),
            ("padded", (2, 2, 5, 5), windows(2, 3, 2, 1, [1, 1, 1, 1])),
            ("asymmetric", (1, 1, 5, 6), windows(2, [3, 2], [2, 1], 1, [1, 0, 2, 1])),
            ("rounding", (1, 1, 6, 8), windows(2, 3, 2)),
            ("starts in the padding", (1, 1, 2, 4), windows(2, 1, 2)),
            ("starts in padding 2", (1, 1, 3, 3), windows(2, 2, 2, 1, [1, 1, 1, 1])),
            ("dilated", (1, 1, 7, 8), windows(2, 3, 1, 2)),
            ("3-D", (1, 2, 4, 5, 3), windows(3, 2, [1, 2, 1], 1, [1, 0, 0, 0, 1, 1]))]
    for name, shape, w in rows:
        x = floats(*shape)
        attributes = {k: w[k] for k in ("stride", "pre_padding", "post_padding", "dilation")}
        attributes["window"] = w["kernel"]
        for mode in (0, 1, 2, 3):
            # ONNX Runtime refuses these.
            if name in ("dilated", "starts in the padding") and mode >= 2:
                continue
            given = onnx_window(w, mode) | ({"ceil_mode": 1} if mode == 1 else {})
            largest = onnx_run("MaxPool", [x], opset=22, **given)
            more = {"padding_mode": mode}
            case("pooling", "Pooling", f"max {name} {mode}", attributes | more, [x], largest)
            for include in (0, 1):
                average = onnx_run("AveragePool", [x], opset=22, count_include_pad=include, **given)
                case("pooling", "Pooling", f"average {name} {mode} {include}",
                     attributes | more | {"type": 1, "average_excludes_padding": not include}, [x],
                     average)
            if mode == 0:
                average = onnx_run("AveragePool", [x], opset=22, **given)
                case("pooling", "Pooling", f"blend {name}", attributes | {"type": 2, "blend": 0.25},
                     [x], (0.75 * largest + 0.25 * average).astype(np.float32))
    x = integers(1, 1, 4, 4, dtype=np.int8)
    case("pooling", "Pooling", "int8", {"window": [2, 2], "stride": [2, 2], "pre_padding": [0, 0],
         "post_padding": [0, 0]}, [x], x.reshape(1, 1, 2, 2, 2, 2).max((3, 5)))


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


def scale_cases():
    x = np.abs(floats(2, 3, 2, 2)) + np.float32(0.5)
    for mode, shape in ((0, (1,)), (1, (3,)), (2, (3, 2, 2))):
        shift, scale, power = floats(*shape, low=0, high=2), floats(*shape, low=1, high=2), \
            floats(*shape, low=0, high=2)
        view = (lambda w: w.reshape(1, 3, 1, 1)) if mode == 1 else (lambda w: w)
        y = (x.astype(np.float64) * view(scale) + view(shift)) ** view(power)
        weights = [constant(w) for w in (shift, scale, power)]
        case("scale", "Scale", f"mode {mode}", {"mode": mode}, [x, *weights], y.astype(np.float32))
        case("scale", "Scale", f"mode {mode} scale only", {"mode": mode}, [x, None, weights[1]],
             x * view(scale))
    last = floats(2)
    case("scale", "Scale", "last axis", {"mode": 1, "channel_axis": 3}, [x, constant(last)],
         x + last)


def select_cases():
    for sc, sa, sb in (((2, 3), (2, 3), (2, 3)), ((1, 3), (2, 1), (1, 1)),
                       ((0, 2), (1, 2), (1, 1))):
        for array in (floats, integers):
            c, a, b = integers(*sc, low=0, high=1) > 0, array(*sa), array(*sb)
            case("select", "Select", f"{sc} {sa} {sb}", {}, [c, a, b], np.where(c, a, b))
    c, a, b = np.array([True, False]), integers(2), integers(2)
    case("select", "Select", "shapes", {}, [c, a, b], np.where(c, a, b))


def fully_connected_cases():
    x, k, b = floats(2, 3, 2, 2), floats(5, 12), floats(5)
    y = x.reshape(2, 12) @ k.T
    case("fully_connected", "FullyConnected", "bias", {"outputs": 5}, [x, constant(k), constant(b)],
         (y + b).reshape(2, 5, 1, 1))
    case("fully_connected", "FullyConnected", "plain", {"outputs": 5}, [x, constant(k.ravel())],
         y.reshape(2, 5, 1, 1))


COORDINATES = {"align_corners": 0, "asymmetric": 1, "half_pixel": 2, "pytorch_half_pixel": 10001,
               "tf_half_pixel_for_nn": 10002, "tf_crop_and_resize": 10003,
               "half_pixel_symmetric": 10004}
ROUNDINGS = {"round_prefer_ceil": 0, "round_prefer_floor": 1, "floor": 2, "ceil": 3}


def resize_cases():
    x = floats(1, 2, 4, 5)
    def add(name, array, attributes, sizes=None, scales=None, roi=None, **given):
        scale_array = None if scales is None else np.array(scales, np.float32)
        size_array = None if sizes is None else np.array(sizes, np.int64)
        roi_array = None if roi is None else np.array(roi, np.float32)
        y = onnx_run("Resize", [array, roi_array, scale_array, size_array], **given)
        inputs = [array, shape_input(sizes) if scales is None else constant(scale_array)]
        if roi is not None:
            inputs.append(constant(roi_array))
        case("resize", "Resize", name, attributes | {"input_is_scales": scales is not None},
             inputs, y)
        if roi is None and scales is None:
            case("resize", "Resize", name + " (attribute)", attributes | {"output_size": sizes},
                 [array], y)
        if roi is None and scales is not None:
            case("resize", "Resize", name + " (attribute)", attributes | {"scales": scales},
                 [array], y)
    sizes = [[1, 2, 8, 10], [1, 2, 3, 7], [1, 2, 1, 1]]
    for rule, code in COORDINATES.items():
        if rule == "tf_crop_and_resize":
            continue
        for target in sizes:
            for rounding, number in ROUNDINGS.items():
                add(f"nearest {rule} {rounding} {target}", x,
                    {"mode": 0, "coordinates": code, "rounding": number}, sizes=target,
                    mode="nearest", nearest_mode=rounding, coordinate_transformation_mode=rule)
            if rule == "tf_half_pixel_for_nn":
                continue
            add(f"linear {rule} {target}", x, {"mode": 1, "coordinates": code}, sizes=target,
                mode="linear", coordinate_transformation_mode=rule)
            for outside in (0, 1):
                add(f"cubic {rule} {target} {outside}", x,
                    {"mode": 2, "coordinates": code, "exclude_outside": bool(outside),
                     "cubic_coefficient": -0.5}, sizes=target, mode="cubic", cubic_coeff_a=-0.5,
                    exclude_outside=outside, coordinate_transformation_mode=rule)
        for scales in ([1, 1, 2, 2], [1, 1, 0.6, 1.7], [1, 1, 1.3, 0.5]):
            if rule == "tf_half_pixel_for_nn":
                continue
            add(f"linear {rule} {scales}", x, {"mode": 1, "coordinates": code}, scales=scales,
                mode="linear", coordinate_transformation_mode=rule)
            add(f"cubic {rule} {scales}", x, {"mode": 2, "coordinates": code}, scales=scales,
                mode="cubic", coordinate_transformation_mode=rule)
    for mode, number in (("nearest", 0), ("linear", 1), ("cubic", 2)):
        add(f"crop {mode}", x, {"mode": number, "coordinates": 10003, "extrapolation_value": 9},
            sizes=[1, 2, 3, 4], roi=[0, 0, 0.25, -0.2, 1, 1, 0.9, 1.3], mode=mode,
            coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=9.0,
            **({"nearest_mode": "floor"} if number == 0 else {}))
    for outside in (0, 1):
        for mode, number in (("linear", 1), ("cubic", 2)):
            for target in ([1, 2, 2, 3], [1, 2, 3, 2], [1, 2, 8, 2]):
                add(f"antialias {mode} {target} {outside}", x,
                    {"mode": number, "coordinates": 2, "antialias": True,
                     "exclude_outside": bool(outside)}, sizes=target, mode=mode, antialias=1,
                    exclude_outside=outside)
    volume = floats(1, 1, 3, 4, 3)
    add("trilinear", volume, {"mode": 1, "coordinates": 2}, sizes=[1, 1, 5, 3, 7], mode="linear")
    bytes_ = integers(1, 1, 3, 3, low=0, high=255, dtype=np.uint8)
    add("nearest uint8", bytes_, {"mode": 0, "coordinates": 1}, sizes=[1, 1, 6, 5], mode="nearest",
        coordinate_transformation_mode="asymmetric", nearest_mode="floor")


def write():
    for name, cases in files.items():
        lines = ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases)
        (FOLDER / f"{name}.json").write_text(f"[\n{lines}\n]\n")
        print(name, len(cases))


if __name__ == "__main__":
    for make in (unary_cases, activation_cases, elementwise_cases, cast_cases, shuffle_cases,
                 concatenation_cases, slice_cases, gather_cases, reduce_cases, convolution_cases,
                 deconvolution_cases, pooling_cases, matrix_multiply_cases, softmax_cases,
                 scale_cases, select_cases, fully_connected_cases, resize_cases):
        make()
    write()
