"""Writes the cases of layers that compute each element alone: unary, activation, elementwise, cast,
select and scale, as ONNX Runtime or NumPy computes them.

Run: python src/ops/testdata/make_elementwise_cases.py   (needs numpy, onnx, onnxruntime)
"""
import numpy as np

from cases import case, constant, floats, integers, onnx_run, write


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


def select_cases():
    for sc, sa, sb in (((2, 3), (2, 3), (2, 3)), ((1, 3), (2, 1), (1, 1)),
                       ((0, 2), (1, 2), (1, 1))):
        for array in (floats, integers):
            c, a, b = integers(*sc, low=0, high=1) > 0, array(*sa), array(*sb)
            case("select", "Select", f"{sc} {sa} {sb}", {}, [c, a, b], np.where(c, a, b))
    c, a, b = np.array([True, False]), integers(2), integers(2)
    case("select", "Select", "shapes", {}, [c, a, b], np.where(c, a, b))


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


unary_cases()
activation_cases()
elementwise_cases()
cast_cases()
select_cases()
scale_cases()
write()
