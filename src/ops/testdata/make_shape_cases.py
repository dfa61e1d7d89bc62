"""Writes shuffle.json, concatenation.json and slice.json: what NumPy makes of the same data.

Run: python src/ops/testdata/make_shape_cases.py   (needs numpy, onnx, onnxruntime)
"""
import numpy as np

from cases import case, constant, floats, integers, shape_input, write


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


shuffle_cases()
concatenation_cases()
slice_cases()
write()
