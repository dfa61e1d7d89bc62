"""Writes models whose sizes or layers are decided while they run: write_models.py FOLDER.

Each has one input, "input", 8x40 numbers; memory for them is taken in ways that others do not need.
"""
import pathlib
import sys

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
node = helper.make_node


def constant(name, data, kind=np.int64):
    return numpy_helper.from_array(np.array(data, kind), name)


def value(name, shape, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def body(nodes, inputs, outputs, weights=()):
    return helper.make_graph(nodes, "body", inputs, outputs, list(weights))


def positive(x="input"):
    """Where x is positive, (2, n), and how many they are, (1)."""
    return [node("Greater", [x, "zero"], ["is_positive"]), node("NonZero", ["is_positive"], ["places"]),
            node("Shape", ["places"], ["places_shape"]), node("Slice", ["places_shape", "one", "two"], ["count"])]


COMMON = [constant("zero", 0, np.float32), constant("one", [1]), constant("two", [2]), constant("five", [5])]


def non_zero():
    """The elements that are positive."""
    nodes = positive() + [node("Transpose", ["places"], ["rows"]), node("GatherND", ["input", "rows"], ["found"]),
                          node("Relu", ["found"], ["y"])]
    return nodes, [value("y", ["n"])]


def top_k():
    """The largest half of the positive elements, whose number is a late extent; and as many columns
    of each row as there are positive elements in the first, a number that is read back."""
    nodes = positive() + [
        node("Transpose", ["places"], ["rows"]), node("GatherND", ["input", "rows"], ["found"]),
        node("Div", ["count", "two"], ["half"]), node("TopK", ["found", "half"], ["best", "best_at"]),
        node("Gather", ["is_positive", "first"], ["row"]), node("Cast", ["row"], ["ones"], to=INT64),
        node("ReduceSum", ["ones"], ["k"], keepdims=0), node("Reshape", ["k", "one"], ["k1"]),
        node("TopK", ["input", "k1"], ["columns", "columns_at"])]
    return nodes, [value("best", ["n"]), value("columns", [8, "k"])], [constant("first", 0)]


def nms():
    """Boxes that are left, and their scores."""
    nodes = [
        node("Reshape", ["input", "as_boxes"], ["boxes"]), node("Reshape", ["input", "as_scores"], ["all_scores"]),
        node("Slice", ["all_scores", "zero_index", "boxes_count", "axis"], ["scores"]),
        node("NonMaxSuppression", ["boxes", "scores", "most", "overlap", "least"], ["kept"]),
        node("Gather", ["kept", "two_index"], ["box"], axis=1), node("Gather", ["boxes", "box"], ["y"], axis=1)]
    weights = [constant("as_boxes", [1, 80, 4]), constant("as_scores", [1, 2, 160]), constant("zero_index", [0]),
               constant("boxes_count", [80]), constant("axis", [2]), constant("most", [20]),
               constant("overlap", [0.5], np.float32), constant("least", [0.1], np.float32), constant("two_index", 2)]
    return nodes, [value("y", [1, "n", 4])], weights


def loop():
    """Sums of the first rows until their first element is large; the sums on the way."""
    inside = body(
        [node("Gather", ["input", "i"], ["row"]), node("Add", ["sum", "row"], ["next"]),
         node("Gather", ["next", "none"], ["first"]), node("Less", ["first", "limit"], ["again"]),
         node("Identity", ["next"], ["piece"])],
        [value("i", (), INT64), value("go", (), BOOL), value("sum", (40,))],
        [value("again", (), BOOL), value("next", (40,)), value("piece", (40,))],
        [constant("none", 0), constant("limit", 1e9, np.float32)])
    nodes = [node("Loop", ["trips", "", "start"], ["last", "all"], body=inside)]
    return nodes, [value("last", (40,)), value("all", ("n", 40))], [
        constant("trips", 6), constant("start", np.zeros(40), np.float32)]


def loop_late():
    """A loop that finds the positive elements in each iteration, as the data has them."""
    inside = body(
        positive("x") + [node("Cast", ["count"], ["count_float"], to=FLOAT), node("Add", ["sum", "count_float"], ["next"]),
                         node("Identity", ["go"], ["again"])],
        [value("i", (), INT64), value("go", (), BOOL), value("sum", (1,))],
        [value("again", (), BOOL), value("next", (1,))])
    nodes = [node("Relu", ["input"], ["x"]), node("Loop", ["trips", "", "start"], ["last"], body=inside)]
    return nodes, [value("last", (1,))], [constant("trips", 4), constant("start", [0], np.float32)]


def scan():
    """Cumulative sums over the rows, and backwards."""
    inside = body([node("Add", ["sum", "row"], ["next"]), node("Identity", ["next"], ["piece"])],
                  [value("sum", (40,)), value("row", (40,))], [value("next", (40,)), value("piece", (40,))])
    nodes = [node("Scan", ["start", "input"], ["last", "all"], body=inside, num_scan_inputs=1,
                  scan_input_directions=[1])]
    return nodes, [value("last", (40,)), value("all", (8, 40))], [constant("start", np.zeros(40), np.float32)]


def conditional():
    """One of two branches, as the sum of the input decides; their results have shapes of their own."""
    branch = lambda op, axis: body(
        [node(op, ["input"], [f"{op}_a"]), node("ReduceMax", [f"{op}_a"], [f"{op}_y"], axes=[axis], keepdims=0)], [],
        [value(f"{op}_y", ("n",))])
    nodes = [node("ReduceSum", ["input"], ["sum"], keepdims=0), node("Greater", ["sum", "zero"], ["which"]),
             node("If", ["which"], ["y"], then_branch=branch("Relu", 0), else_branch=branch("Abs", 1))]
    return nodes, [value("y", ("n",))]


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for make in (non_zero, top_k, nms, loop, loop_late, scan, conditional):
        nodes, outputs, *weights = make()
        graph = helper.make_graph(nodes, make.__name__, [value("input", (8, 40))], outputs, COMMON + sum(weights, []))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        checker.check_model(model, full_check=True)
        (folder / f"{make.__name__}.onnx").write_bytes(model.SerializeToString())
    (folder / "done").touch()


main()
