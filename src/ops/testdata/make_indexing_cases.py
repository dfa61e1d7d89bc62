"""Writes the cases of selection, placing and filling, as ONNX Runtime or NumPy computes them.

Run: python src/ops/testdata/make_indexing_cases.py   (needs numpy, onnx, onnxruntime)
"""
import numpy as np

from cases import case, constant, floats, integers, onnx_run, shape_input, write

INT32, INT64 = 3, 8


def ordered(x, k, axis, largest, last=False):
    """Positions of the first k along an axis; of equal elements the first (or the last) wins."""
    if x.dtype.kind == "f":
        key = -x.astype(np.float64) if largest else x
    else:
        key = ~x.astype(np.int64) if largest else x
    if last:
        flipped = np.argsort(np.flip(key, axis), axis, kind="stable")
        positions = x.shape[axis] - 1 - flipped
    else:
        positions = np.argsort(key, axis, kind="stable")
    return np.take(positions, range(k), axis)


def top_k_cases():
    def add(name, x, k, axis, largest=True, index=np.int64, by_input=False, **attributes):
        positions = ordered(x, k, axis, largest, attributes.get("last_index", False))
        values = np.take_along_axis(x, positions, axis)
        given = {"operation": 0 if largest else 1, "axes": 1 << (axis % x.ndim),
                 "index_type": INT64 if index == np.int64 else INT32, **attributes}
        inputs = [x]
        if by_input:
            inputs.append(shape_input([k]))
        else:
            given["k"] = k
        case("top_k", "TopK", name, given, inputs, [values, positions.astype(index)])

    for largest in (True, False):
        for axis, k in ((0, 1), (0, 2), (1, 3), (2, 1), (-1, 4)):
            add(f"axis {axis} k {k} {largest}", floats(3, 4, 5), k, axis, largest)
        ties = integers(4, 9, low=-1, high=1).astype(np.float32)
        add(f"ties {largest}", ties, 5, 1, largest)
        add(f"one tie {largest}", ties, 1, 1, largest, last_index=True)
        add(f"last ties {largest}", ties, 4, 0, largest, last_index=True)
        for dtype in (np.int32, np.int64, np.int8, np.uint8, np.float16):
            low = 0 if dtype == np.uint8 else -9
            add(f"{np.dtype(dtype)} {largest}", integers(2, 30, low=low, dtype=dtype), 3, 1,
                largest, np.int32)
    add("few of many", floats(2, 300), 7, 1)
    add("all of many", floats(1, 300), 300, 1)
    add("one of many columns", floats(2, 3, 300), 1, 1)
    add("k as an input", floats(3, 6), 2, 0, by_input=True)
    add("k scalar", floats(7), 3, 0)
    add("none", floats(2, 3), 0, 1)
    add("of nothing", floats(0, 3), 2, 1)
    far = np.array([2**62, -2**63, 2**63 - 1, 2**62 + 1], np.int64)
    add("far", far, 4, 0)
    special = np.array([1, np.nan, np.inf, -np.inf, 0.0, -0.0, np.nan], np.float32)
    for operation, order in ((0, [1, 6, 2, 0, 4, 5, 3]), (1, [3, 4, 5, 0, 2, 1, 6])):
        case("top_k", "TopK", f"special {operation}",
             {"operation": operation, "k": 7, "axes": 1, "index_type": INT64}, [special],
             [special[order], np.array(order)])


def non_zero_cases():
    arrays = [integers(3, 4, low=-1, high=1), floats(2, 2, 3), integers(7, low=0, high=1) > 0,
              integers(2, 5, low=0, high=1, dtype=np.uint8), np.zeros((2, 3), np.float32),
              floats(0, 3), integers(2, 3, low=0, high=1, dtype=np.int8),
              np.array([0.0, -0.0, np.nan, 5], np.float32)]
    for number, x in enumerate(arrays):
        for dtype, code in ((np.int32, INT32), (np.int64, INT64)):
            case("non_zero", "NonZero", f"{number} {x.dtype} {x.shape} {code}",
                 {"index_type": code}, [x], np.array(np.nonzero(x)).astype(dtype))
    for value in (3.0, 0.0):
        case("non_zero", "NonZero", f"scalar {value}", {"index_type": INT64},
             [np.float32(value)], np.zeros((0, int(value != 0)), np.int64))


def scatter_cases():
    names = ["none", "add", "mul", "min", "max"]
    def elements(name, x, indices, updates, axis, reduction=0):
        y = onnx_run("ScatterElements", [x, indices, updates], opset=18, axis=axis,
                     reduction=names[reduction])
        case("scatter", "Scatter", name, {"mode": 0, "axis": axis, "reduction": reduction},
             [x, indices, updates], y)
    def nd(name, x, indices, updates, reduction=0):
        y = onnx_run("ScatterND", [x, indices, updates], opset=18, reduction=names[reduction])
        case("scatter", "Scatter", name, {"mode": 1, "reduction": reduction},
             [x, indices, updates], y)
    for axis, shape in ((0, (2, 3, 2)), (1, (3, 2, 2)), (-1, (3, 4, 2))):
        extent = (3, 4, 2)[axis]
        indices = np.argsort(floats(*[extent if i == axis % 3 else s for i, s in enumerate(shape)]),
                             axis)
        indices = np.take(indices, range(shape[axis]), axis).astype(np.int64)
        elements(f"elements {axis}", floats(3, 4, 2), indices, floats(*shape), axis)
        elements(f"elements {axis} from the end", floats(3, 4, 2), indices - extent,
                 floats(*shape), axis)
    for reduction in range(1, 5):
        indices = integers(4, 6, low=-5, high=4)
        for x, updates in ((floats(5, 6), floats(4, 6)), (integers(5, 6), integers(4, 6)),
                           (integers(5, 6, dtype=np.int32), integers(4, 6, dtype=np.int32))):
            elements(f"meeting {names[reduction]} {x.dtype}", x, indices, updates, 0, reduction)
        for dtype in (np.float32, np.int64):
            tuples = integers(7, 1, low=0, high=3)
            nd(f"blocks {names[reduction]} {np.dtype(dtype)}", integers(4, 5).astype(dtype), tuples,
               integers(7, 5).astype(dtype), reduction)
    for dtype in (np.int32, np.int8, np.uint8, np.float16, bool):
        x, updates = (integers(3, 4, low=0).astype(dtype) for _ in range(2))
        elements(f"elements {np.dtype(dtype)}", x, np.array([[0, 1, 2, 0]]), updates[:1], 0)
    x = floats(4, 3, 2)
    nd("tuples", x, np.array([[0, 1], [3, -1], [-4, 0]]), floats(3, 2))
    nd("single elements", x, np.array([[[0, 1, 1]], [[3, 2, 0]]]), floats(2, 1))
    nd("whole", x, np.zeros((1, 0), np.int64), floats(1, 4, 3, 2))
    nd("no updates", x, np.zeros((0, 2), np.int64), floats(0, 2))
    nd("bool", x > 0, np.array([[1]]), floats(1, 3, 2) > 0)
    elements("no updates", x, np.zeros((0, 3, 2), np.int64), floats(0, 3, 2), 0)
    case("scatter", "Scatter", "the last update counts", {"mode": 0, "axis": 0},
         [floats(2) * 0, np.array([1, 1, 1], np.int32), np.float32([1, 2, 3])],
         np.float32([0, 3]))
    case("scatter", "Scatter", "shapes", {"mode": 1},
         [np.array([2, 3, 4]), np.array([[1], [-1]]), np.array([7, 9])], np.array([2, 7, 9]))


def fill_cases():
    case("fill", "Fill", "attributes", {"dimensions": [5], "alpha": 1.5, "beta": 0.25}, [],
         (1.5 + 0.25 * np.arange(5)).astype(np.float32))
    for dtype, code in ((np.int32, 3), (np.int64, 8), (np.int8, 2), (np.uint8, 5)):
        case("fill", "Fill", f"integers {np.dtype(dtype)}",
             {"dimensions": [6], "integers": True, "alpha_integer": 7, "beta_integer": 2,
              "type": code}, [], np.arange(7, 19, 2).astype(dtype))
        case("fill", "Fill", f"inputs {np.dtype(dtype)}", {},
             [shape_input([2, 3]), np.array(4, dtype), np.array([10, 3], dtype)],
             (4 + 10 * np.arange(2)[:, None] + 3 * np.arange(3)).astype(dtype))
    case("fill", "Fill", "dimensions only", {}, [shape_input([4])],
         np.arange(4).astype(np.float32))
    case("fill", "Fill", "half", {"dimensions": [4], "type": 1, "alpha": 0.5}, [],
         (0.5 + np.arange(4)).astype(np.float16))
    case("fill", "Fill", "start and step", {"dimensions": [4]},
         [None, np.float32(2), np.float32([-0.5])], np.float32([2, 1.5, 1, 0.5]))
    case("fill", "Fill", "empty", {"dimensions": [0]}, [], np.zeros(0, np.float32))
    case("fill", "Fill", "scalar", {"dimensions": [], "alpha": 3, "beta": 2}, [], np.float32(3))
    case("fill", "Fill", "known integers", {"type": 8},
         [shape_input([3]), (np.array(5), "shape"), shape_input([-2])], np.array([5, 3, 1]))


def one_hot_cases():
    for axis in (0, 1, -1):
        indices = integers(2, 3, low=-7, high=7)
        for values in (floats(2), integers(2), integers(2, dtype=np.int8),
                       np.array([True, False])):
            hot = indices[..., None] % 5 == np.arange(5)
            hot &= ((indices >= -5) & (indices < 5))[..., None]
            y = np.moveaxis(np.where(hot, values[1], values[0]), -1, axis)
            if values.dtype == np.float32:
                assert np.array_equal(
                    y, onnx_run("OneHot", [indices, np.int64(5), values], opset=11, axis=axis))
            case("one_hot", "OneHot", f"{axis} {values.dtype}", {"axis": axis},
                 [indices, values, shape_input([5])], y)
    case("one_hot", "OneHot", "scalar", {}, [np.array(1, np.int32), np.float32([2, 3]),
         (np.array(3, np.int32), "shape")], np.float32([2, 3, 2]))
    case("one_hot", "OneHot", "no depth", {}, [np.array([1]), np.float32([2, 3]), shape_input([0])],
         np.zeros((1, 0), np.float32))


def cumulative_cases():
    for axis in (0, 1, -1):
        for exclusive in (False, True):
            for reverse in (False, True):
                for x in (floats(2, 3, 4), integers(2, 3, 4), integers(3, 300, dtype=np.int32)):
                    if x.ndim == 2 and axis == -1:
                        continue
                    y = onnx_run("CumSum", [x, np.int64(axis)], opset=14, exclusive=int(exclusive),
                                 reverse=int(reverse))
                    case("cumulative", "Cumulative",
                         f"sum {axis} {exclusive} {reverse} {x.dtype} {x.shape}",
                         {"exclusive": exclusive, "reverse": reverse}, [x, np.int64(axis)], y)
    x = integers(2, 5, low=1, high=3)
    case("cumulative", "Cumulative", "product", {"operation": 1}, [x, np.int32(1)],
         np.cumprod(x, 1))
    case("cumulative", "Cumulative", "product, exclusive and reverse",
         {"operation": 1, "exclusive": True, "reverse": True}, [x, np.array([1])],
         np.stack([[np.prod(row[i + 1:]) for i in range(5)] for row in x]))
    for dtype in (np.int8, np.uint8):
        x = integers(20, low=0, high=100, dtype=dtype)
        case("cumulative", "Cumulative", f"{np.dtype(dtype)} wraps", {}, [x, np.int64(0)],
             np.cumsum(x, dtype=dtype))
    x = floats(3, 4).astype(np.float16)
    case("cumulative", "Cumulative", "half", {}, [x, np.int64(1)],
         np.cumsum(x.astype(np.float32), 1).astype(np.float16))
    case("cumulative", "Cumulative", "empty", {}, [floats(0, 4), np.int64(1)],
         np.zeros((0, 4), np.float32))


def reverse_sequence_cases():
    for batch, time in ((0, 1), (1, 0)):
        for array in (floats(4, 3, 2), floats(3, 4), integers(3, 3, 2, 2, dtype=np.int8)):
            lengths = integers(array.shape[batch], low=1, high=array.shape[time])
            y = onnx_run("ReverseSequence", [array.astype(np.float32), lengths], opset=10,
                         batch_axis=batch, time_axis=time).astype(array.dtype)
            case("reverse_sequence", "ReverseSequence", f"{batch} {time} {array.shape}",
                 {"batch_axis": batch, "sequence_axis": time}, [array, lengths], y)
    x = integers(2, 3, 4)
    y = x.copy()
    for b, length in enumerate((0, 4, 2)):
        y[:, b, :length] = x[:, b, :length][:, ::-1]
    case("reverse_sequence", "ReverseSequence", "later axes",
         {"batch_axis": 1, "sequence_axis": -1}, [x, np.array([0, 4, 2], np.int32)], y)


def squeeze_cases():
    x = floats(1, 3, 1, 2)
    for axes in ([0], [2], [0, -2], []):
        case("squeeze", "Squeeze", f"{axes}", {}, [x, constant(np.array(axes, np.int64))],
             np.squeeze(x, tuple(axes)))
    for axes in ([0], [-1], [1, 3], []):
        y = integers(2, 3)
        case("squeeze", "Unsqueeze", f"un {axes}", {}, [y, constant(np.array(axes, np.int32))],
             np.expand_dims(y, tuple(axes)))
    case("squeeze", "Unsqueeze", "shapes", {}, [np.array(5), constant(np.array([0]))],
         np.array([5]))


def padding_cases():
    x = floats(2, 3, 4)
    for pre, post in (([1, 0], [0, 2]), ([0, -1], [0, -2]), ([-1, 2], [1, -3]), ([0, 0], [0, 0])):
        y = np.pad(x, [(0, 0), *[(max(a, 0), max(b, 0)) for a, b in zip(pre, post)]])
        crop = tuple(slice(max(-a, 0), n - max(-b, 0)) for a, b, n in zip(pre, post, y.shape[1:]))
        case("padding", "Padding", f"{pre} {post}", {"pre": pre, "post": post}, [x],
             y[(slice(None), *crop)])
    for dtype in (np.int8, np.int64, np.float16, bool):
        x = integers(2, 2).astype(dtype)
        case("padding", "Padding", f"{np.dtype(dtype)}", {"pre": [1, 1], "post": [0, 1]}, [x],
             np.pad(x, ((1, 0), (1, 1))))


def unique_cases():
    def add(name, x, axis=None, in_order=True):
        y, first, inverse, counts = np.unique(x, True, True, True, axis=axis)
        inverse = inverse.ravel()
        if not in_order:
            order = np.argsort(first)
            y = np.take(y, order, 0 if axis is None else axis)
            first, counts = first[order], counts[order]
            inverse = np.argsort(order)[inverse]
        attributes = {"sorted": in_order}
        if axis is not None:
            attributes |= {"has_axis": True, "axis": axis}
        case("unique", "Unique", name, attributes, [x],
             [y, *(a.astype(np.int64) for a in (first, inverse, counts))])
    for in_order in (True, False):
        add(f"flat {in_order}", integers(4, 5, low=-3, high=3).astype(np.float32),
            in_order=in_order)
        for axis in (0, 1, -1):
            add(f"axis {axis} {in_order}", integers(4, 5, 2, low=0, high=1), axis, in_order)
        for dtype in (np.int8, np.uint8, np.int32, np.float16):
            add(f"{np.dtype(dtype)} {in_order}", integers(12, low=0, high=5, dtype=dtype),
                in_order=in_order)
    add("scalar", np.array(3))
    add("one", floats(1))
    add("slices", integers(6, 2, low=0, high=1, dtype=np.int8), 0)
    special = np.array([np.nan, 1, np.inf, np.nan, -np.inf, 1], np.float32)
    add("special", special)


def bitwise_cases():
    shapes = (((2, 3), (2, 3)), ((2, 3), (1, 3)), ((1, 1), (2, 3)))
    functions = (np.bitwise_and, np.bitwise_or, np.bitwise_xor)
    for number, function in enumerate(functions):
        for sa, sb in shapes:
            for dtype in (np.int8, np.uint8, np.int32, np.int64):
                low, high = (0, 255) if dtype == np.uint8 else (-100, 100)
                a, b = (integers(*s, low=low, high=high, dtype=dtype) for s in (sa, sb))
                case("bitwise", "Bitwise", f"{function.__name__} {sa} {sb} {np.dtype(dtype)}",
                     {"operation": number}, [a, b], function(a, b))
    for number, name in ((3, "LEFT"), (4, "RIGHT")):
        a, b = integers(9, low=0, high=255, dtype=np.uint8), np.arange(9, dtype=np.uint8) % 8
        case("bitwise", "Bitwise", f"shift {name}", {"operation": number}, [a, b],
             onnx_run("BitShift", [a, b], opset=11, direction=name))
    shifts = np.array([0, 1, 31, 32, 63, 64, 1000, -1])
    case("bitwise", "Bitwise", "far left", {"operation": 3}, [np.full(8, 3), shifts],
         np.array([3, 6, 3 << 31, 3 << 32, -2**63, 0, 0, 0]))
    case("bitwise", "Bitwise", "far right", {"operation": 4}, [np.full(8, -2**62), shifts],
         np.array([-2**62, -2**61, -2**31, -2**30, -1, -1, -1, -1]))


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


for make in (top_k_cases, non_zero_cases, scatter_cases, fill_cases, one_hot_cases,
             cumulative_cases, reverse_sequence_cases, squeeze_cases, padding_cases, unique_cases,
             bitwise_cases, gather_cases):
    make()
write()
