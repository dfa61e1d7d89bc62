"""Writes cases.json: scattering as ONNX Runtime does it. Needs NumPy, onnx and ONNX Runtime."""
import pathlib
import sys

import numpy
import onnx
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402


def scattered(operator, data, indices, updates, reduction, **attributes):
    helper = onnx.helper
    graph = helper.make_graph(
        [helper.make_node(operator, ["d", "i", "u"], ["y"], reduction=reduction, **attributes)],
        "scatter",
        [helper.make_tensor_value_info("d", 1, data.shape),
         helper.make_tensor_value_info("i", 7, indices.shape),
         helper.make_tensor_value_info("u", 1, updates.shape)],
        [helper.make_tensor_value_info("y", 1, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(),
                                           providers=["CPUExecutionProvider"])
    return session.run(None, {"d": data, "i": indices.astype("int64"), "u": updates})[0]


def numbers(shape, state):
    # Integers, as the cases are of integer types, too; small, so that products are exact.
    return state.randint(-4, 5, shape).astype("float32")


def blocks(name, data_shape, index_shape, seed, reduction="none", index_type="int32", meet=True,
           plugin="ScatterND"):
    state = numpy.random.RandomState(seed)
    width = index_shape[-1]
    places = int(numpy.prod(data_shape[:width]))
    count = int(numpy.prod(index_shape[:-1]))
    chosen = state.randint(0, places, count) if meet else state.permutation(places)[:count]
    indices = numpy.stack(numpy.unravel_index(chosen, data_shape[:width]), -1)
    negative = state.randint(0, 2, indices.shape).astype(bool)
    indices = numpy.where(negative, indices - numpy.array(data_shape[:width]), indices)
    indices = indices.reshape(index_shape).astype(index_type)
    data = numbers(data_shape, state)
    updates = numbers((*index_shape[:-1], *data_shape[width:]), state)
    case(plugin, name, {} if reduction == "none" else {"reduction": reduction},
         {"data": data, "indices": indices, "updates": updates},
         {"output": scattered("ScatterND", data, indices, updates, reduction)})


def elements(name, data_shape, index_shape, axis, seed, reduction="none", index_type="int64",
             versions=("1", "2")):
    state = numpy.random.RandomState(seed)
    extent = data_shape[axis]
    if reduction == "none":  # ONNX Runtime does not say which of updates that meet counts
        order = numpy.argsort(state.rand(*index_shape[:axis % len(data_shape)], extent,
                                         *index_shape[axis % len(data_shape) + 1:]), axis)
        indices = numpy.take(order, range(index_shape[axis]), axis)
    else:
        indices = state.randint(0, extent, index_shape)
    negative = state.randint(0, 2, index_shape).astype(bool)
    indices = numpy.where(negative, indices - extent, indices).astype(index_type)
    data, updates = numbers(data_shape, state), numbers(index_shape, state)
    attributes = {} if (axis, reduction) == (0, "none") else {"axis": axis}
    if reduction != "none":
        attributes["reduction"] = reduction
    for version in versions:
        case("ScatterElements", name, attributes,
             {"data": data, "indices": indices, "updates": updates},
             {"output": scattered("ScatterElements", data, indices, updates, reduction, axis=axis)},
             version=version)


blocks("rows", (7, 5), (4, 1), 1, meet=False)
blocks("rows, wide indices", (7, 5), (4, 1), 2, index_type="int64", meet=False)
blocks("elements", (6, 5), (2, 4, 2), 3, meet=False)
blocks("blocks of three axes", (3, 4, 2, 3), (5, 2), 4, meet=False)
blocks("everything", (6,), (6, 1), 5, meet=False)
blocks("one", (1,), (1, 1), 6)
blocks("no updates", (3, 2), (0, 1), 7)
blocks("no elements in a block", (3, 0), (2, 1), 8)
blocks("rows", (5, 3), (2, 1), 9, meet=False, plugin="MyScatterND")
for which in ("add", "mul", "min", "max"):
    blocks(which, (4, 3), (6, 1), 9, reduction=which)
    blocks(which + " of elements", (3, 4), (5, 2), 10, reduction=which, index_type="int64")
# Where updates meet, the last one counts: as NumPy assigns.
meeting_data, meeting_updates = numpy.zeros((3, 2), "float32"), numpy.arange(10, dtype="float32")
case("ScatterND", "updates that meet", {},
     {"data": meeting_data, "indices": numpy.array([[1], [0], [1], [-2], [0]], "int32"),
      "updates": meeting_updates.reshape(5, 2)},
     {"output": numpy.array([[8, 9], [6, 7], [0, 0]], "float32")})

elements("the first axis", (5, 3), (4, 3), 0, 21)
elements("the last axis", (3, 7), (2, 5), -1, 22)
elements("an axis between", (2, 6, 3), (2, 4, 2), 1, 23)
elements("one axis", (6,), (3,), 0, 24)
elements("one element", (1, 1), (1, 1), 1, 25)
elements("narrow indices", (4, 5), (4, 2), 1, 26, index_type="int32")
elements("no updates", (4, 5), (0, 5), 0, 27)
elements("no rows", (4, 5), (4, 0), 0, 28)
elements("wide rows", (3, 150), (2, 140), 0, 29, versions=("2",))
for which in ("add", "mul", "min", "max"):
    elements(which, (3, 4), (5, 4), 0, 30, reduction=which)
    elements(which + " along the last axis", (2, 4), (2, 6), 1, 31, reduction=which)
write(__file__)
