"""Writes models that are damaged or hostile: write_bad_models.py FOLDER.

NAME.onnx is a model, and NAME.txt a part of the error that it must give. Names begin with the number of the class of
bad input. They are what the importer's test reads, and seeds of the fuzz target.
"""
import pathlib
import sys

import numpy as np
from onnx import AttributeProto, TensorProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
HUGE = 1 << 32


def value(name, shape=(3,), kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def node(op, inputs, outputs=("y",), **attributes):
    return helper.make_node(op, list(inputs), list(outputs), name=f"the_{op}", **attributes)


def constant(name, data, kind=np.int64):
    return numpy_helper.from_array(np.array(data, kind), name)


def model(nodes, shape=(3,), kind=FLOAT, weights=(), opset=17, **changes):
    graph = helper.make_graph(
        [nodes] if not isinstance(nodes, list) else nodes, "g", [value("x", shape, kind)],
        [helper.make_empty_tensor_value_info("y")], list(weights))
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9, **changes)
    return made


def changed(made, change):
    change(made)
    return made


def files():
    yield "01_empty", b"", "empty"
    yield "02_text", b"dummy text, not a model", "not an ONNX model"
    yield "02_zeros", bytes(1000), "not an ONNX model"
    yield "04_plan", b"TENONPLN" + bytes(range(200)), "not an ONNX model"
    yield "04_engine", b"ftrt" + bytes(range(200)), "not an ONNX model"
    yield "05_ultralytics", (37).to_bytes(4, "little") + b'{"description": "Ultralytics YOLO11"}' + b"ftrt", "not an ONNX model"
    relu = model(node("Relu", "x"))
    whole = relu.SerializeToString()
    yield "03_truncated", whole[: len(whole) // 2], "not an ONNX model"
    yield "08_name", whole.replace(b"the_Relu", b"\xff\xfee_Relu").replace(b"\x0a\x01x", b"\x0a\x01\xff"), "UTF-8"


def graphs():
    relu = lambda: model(node("Relu", "x"))
    for version in (0, 999, -5):
        yield f"09_ir_{version}", changed(relu(), lambda m: setattr(m, "ir_version", version)), f"IR version is {version}"
    for opset in (0, -1, 999):
        yield f"09_opset_{opset}", changed(relu(), lambda m: setattr(m.opset_import[0], "version", opset)), f"opset {opset}"
    yield "09_domain", model(helper.make_node("Relu", ["x"], ["y"], domain="un.known")), "un.known::Relu"
    yield "10_cycle", model([node("Add", ["x", "b"], ["a"]), node("Relu", ["a"], ["b"]), node("Relu", ["b"])]), "cycle"
    yield "10_self", model(node("Relu", ["y"])), "cycle"
    yield "11_duplicate", model([node("Relu", "x"), node("Neg", "x")]), "two tensors are called 'y'"
    yield "12_missing", model(node("Add", ["x", "nowhere"])), "'nowhere' does not exist"
    yield "13_no_inputs", model(node("Relu", [])), "input"
    yield "13_no_outputs", model([node("Relu", "x"), node("Relu", "x", [])]), "no outputs"
    yield "13_empty_names", model(node("Relu", "x", [""])), "y"
    for op, inputs in (("Add", ["x"]), ("Add", ["x"] * 3), ("Relu", ["x", "x"]), ("Conv", ["x"]), ("Where", ["x", "x"]),
                       ("Gather", ["x"]), ("Concat", []), ("MatMul", ["x"]), ("Clip", ["x"] * 4), ("Reshape", ["x"])):
        yield f"14_{op}_{len(inputs)}", model(node(op, inputs)), f"the_{op}"
    yield "20_unknown", model(node("Frobnicate", "x")), "'Frobnicate' is not supported"


def bodies():
    """Bodies that do not fit the node that they belong to, and nests of them."""
    condition = constant("c", True, bool)
    branch = lambda outputs: helper.make_graph([helper.make_node("Relu", ["x"], [o]) for o in outputs], "b", [],
                                               [helper.make_empty_tensor_value_info(o) for o in outputs])
    yield "15_if_outputs", model(node("If", ["c"], then_branch=branch(["p"]), else_branch=branch(["q", "r"])),
                                 weights=[condition]), "the_If"
    if_of = lambda **more: model(node("If", ["c"], then_branch=branch(["p"]), else_branch=branch(["q"])), **more)
    yield "15_if_condition", changed(if_of(), lambda m: m.graph.input.append(value("c", (24,), TensorProto.BOOL))), \
        "expected 1 elements in the condition"
    yield "15_if_constant_condition", if_of(weights=[constant("c", [True] * 24, bool)]), "the condition has 24 elements"
    yield "15_if_missing", model(node("If", ["c"], then_branch=branch(["p"])), weights=[condition]), "the_If"
    yield "15_if_inputs", model(node("If", ["c"], then_branch=helper.make_graph(
        [helper.make_node("Relu", ["z"], ["p"])], "b", [value("z")], [helper.make_empty_tensor_value_info("p")]),
        else_branch=branch(["q"])), weights=[condition]), "the_If"
    body = helper.make_graph([helper.make_node("Identity", ["cond"], ["again"])], "b",
                             [value("i", (), INT64), value("cond", (), TensorProto.BOOL)],
                             [value("again", (), TensorProto.BOOL)])
    trips = constant("n", 3)
    yield "15_loop_states", model(node("Loop", ["n", "c", "x"], body=body), weights=[condition, trips]), "the_Loop"
    yield "15_loop_no_body", model(node("Loop", ["n", "c", "x"]), weights=[condition, trips]), "the_Loop"
    nothing = helper.make_graph([helper.make_node("Identity", ["e"], ["again"])], "b", body.input, body.output,
                                initializer=[constant("e", [], bool)])
    yield "15_loop_condition", model(node("Loop", ["n", "c"], body=nothing), weights=[condition, trips]), "run"
    yield "15_scan", model(node("Scan", ["x"], body=body, num_scan_inputs=5)), "the_Scan"


def nested(depth):
    """A model whose one node has a graph with one node, and so on; no library would write so deep."""

    def field(tag, text):
        size, count = b"", len(text)
        while count > 0x7F:
            size, count = size + bytes([count & 0x7F | 0x80]), count >> 7
        return tag + size + bytes([count]) + text

    inner = b""
    for _ in range(depth):
        inner = field(b"\x0a", field(b"\x2a", field(b"\x32", inner)))  # node, attribute, graph
    return field(b"\x3a", inner)


def nested_ifs(depth):
    """As deep as a file may be: each branch is an If."""
    inner = [helper.make_node("Relu", ["x"], ["t0"])]
    for i in range(depth):
        branch = helper.make_graph(inner, f"g{i}", [], [helper.make_empty_tensor_value_info(f"t{i}")])
        inner = [helper.make_node("If", ["c"], [f"t{i + 1}" if i + 1 < depth else "y"], then_branch=branch, else_branch=branch)
                 if i == 0 else
                 helper.make_node("If", ["c"], [f"t{i + 1}" if i + 1 < depth else "y"], then_branch=branch,
                                  else_branch=helper.make_graph([helper.make_node("Neg", ["x"], ["e"])], "e", [],
                                                                [helper.make_empty_tensor_value_info("e")]))]
    made = model(inner)
    made.graph.input.append(value("c", (), TensorProto.BOOL))
    return made


def depths():
    yield "16_deep", nested(10000), "deeper than"
    yield "16_deeper_than_a_seed_may_be_long", nested(400), "deeper than"
    yield "16_ifs", nested_ifs(25), ""
    yield "16_flat", nested(5), "IR version"


def functions():
    def calls(pairs):
        made = model(helper.make_node(pairs[0][0], ["x"], ["y"], domain="f"))
        made.opset_import.append(helper.make_opsetid("f", 1))
        for name, called in pairs:
            made.functions.append(helper.make_function(
                "f", name, ["a"], ["b"], [helper.make_node(c, ["a"], ["b" if i == 0 else f"t{i}"], domain="f" if c != "Relu" else "")
                                          for i, c in enumerate(called)],
                [helper.make_opsetid("", 17), helper.make_opsetid("f", 1)]))
        return made

    yield "17_self", calls([("A", ["A"])]), "recurse"
    yield "17_mutual", calls([("A", ["B"]), ("B", ["A"])]), "recurse"
    for depth in (60, 3000):
        yield f"17_deep_{depth}", calls([(f"F{i}", [f"F{i + 1}"]) for i in range(depth)] + [(f"F{depth}", ["Relu"])]), "deep"
    # Each calls the next ten times: a hundred million nodes from a few kilobytes.
    yield "17_bomb", calls([(f"F{i}", [f"F{i + 1}"] * 10) for i in range(8)] + [("F8", ["Relu"])]), "more nodes than are allowed"


def attributes():
    yield "19_kind", model(node("Flatten", "x", axis="1")), "attribute 'axis' is of kind STRING"
    yield "19_missing", model(node("Cast", "x")), "'to'"
    twice = model(node("Flatten", "x", axis=1))
    twice.graph.node[0].attribute.append(helper.make_attribute("axis", 0))
    yield "19_twice", twice, "'axis'"
    yield "19_huge", model(node("Transpose", "x", perm=list(range(100000)))), "the_Transpose"
    empty = model(node("Flatten", "x"))
    empty.graph.node[0].attribute.append(AttributeProto(name="axis"))
    yield "19_no_kind", empty, "'axis'"


def tensor(kind, dims, raw=None, **fields):
    made = TensorProto(name="w", data_type=kind, dims=dims, **fields)
    if raw is not None:
        made.raw_data = raw
    return made


def tensors():
    with_weight = lambda t: model(node("Add", ["x", "w"]), weights=[t])
    yield "21_negative", with_weight(tensor(FLOAT, [-3], bytes(12))), "a dimension is -3"
    yield "21_overflow", with_weight(tensor(FLOAT, [1 << 40, 1 << 40], bytes(4))), "64 bits"
    yield "21_large", with_weight(tensor(FLOAT, [1 << 33], bytes(4))), "raw_data has 4 bytes"
    yield "21_zero_large", with_weight(tensor(FLOAT, [0, 1 << 62, 1 << 62], b"")), "the_Add"
    yield "21_input", model(node("Relu", "x"), shape=(-7,)), "extent 0 is -7"
    yield "22_input", model(node("Relu", "x"), shape=(1,) * 9), "9 dimensions"
    yield "22_weight", with_weight(tensor(FLOAT, [1] * 9, bytes(4))), "9 dimensions"
    yield "22_unsqueeze", model(node("Unsqueeze", ["x", "a"]), shape=(1,) * 6, weights=[constant("a", [0, 1, 2])]), "the_Unsqueeze"
    for kind in TensorProto.DataType.values():
        if kind in (TensorProto.UNDEFINED, TensorProto.STRING):
            continue
        name = TensorProto.DataType.Name(kind)
        # 21 bytes are 42 elements of 4 bits: no type has 3 elements of it.
        yield f"23_{name}_raw", with_weight(tensor(kind, [3], bytes(21))), "tensor 'w'"
        yield f"23_{name}_fields", with_weight(tensor(kind, [3])), "tensor 'w'"
    yield "24_type", with_weight(tensor(77, [3], bytes(12))), "77"
    yield "24_string", with_weight(tensor(TensorProto.STRING, [1], string_data=[b"a"])), "string"
    yield "24_input", model(node("Relu", "x"), kind=77), "77"
    scale = lambda v: constant("s", v, np.float32)
    yield "25_shape", model(node("QuantizeLinear", ["x", "s"]), weights=[scale([1, 2])]), "the_QuantizeLinear"
    sparse = model(node("Add", ["x", "w"]))
    sparse.graph.sparse_initializer.append(helper.make_sparse_tensor(
        helper.make_tensor("w", FLOAT, [1], [1.0]), helper.make_tensor("i", INT64, [1], [99]), [3]))
    yield "26_sparse", sparse, "parse"
    yield "25_zero_point", model(node("DequantizeLinear", ["q", "s", "z"]), weights=[
        constant("q", [1, 2], np.uint8), scale(1), constant("z", 300, np.int32)]), "zero point"
    for name, number in (("nan", np.nan), ("inf", np.inf), ("-inf", -np.inf), ("zero", 0)):
        yield f"25_quantize_{name}", model(node("QuantizeLinear", ["x", "s"]), weights=[scale(number)]), "scales (input 1)"
        yield f"25_dequantize_{name}", model(node("DequantizeLinear", ["q", "s"]), weights=[
            constant("q", [1, 2], np.uint8), scale(number)]), "finite scales" if name != "zero" else ""


def external_data():
    """Tensors in other files; write_files() writes those that are there."""
    def stored(**entries):
        weight = tensor(FLOAT, [3], data_location=TensorProto.EXTERNAL)
        for key, text in entries.items():
            entry = weight.external_data.add()
            entry.key, entry.value = key, str(text)
        return model(node("Add", ["x", "w"]), weights=[weight])

    for name, location, expected in (
            ("above", "../w.bin", "leaves the model's folder"), ("through", "inside/../../w.bin", "leaves the model's folder"),
            ("absolute", "/etc/passwd", "not a relative path"), ("drive", "C:\\w.bin", "not a relative path"),
            ("nul", "w\0.bin", "external data location 'w"), ("link", "link.bin", "link that leaves"),
            ("linked_folder", "up/etc/passwd", "link that leaves"), ("hard_link", "hard.bin", "2 names"),
            ("absent", "absent.bin", "missing"), ("folder", "inside", "directory"), ("nowhere", "", "without a location")):
        yield f"27_{name}", stored(location=location), expected
    for key, text, expected in (
            ("offset", -1, "offset is '-1'"), ("offset", 53, "at offset 53 needs 12 bytes"), ("offset", 1 << 62, "needs 12 bytes"),
            ("offset", (1 << 64) - 1, "needs 12 bytes"), ("offset", 1 << 64, "expected a number"), ("offset", "", "expected a number"),
            ("length", -12, "length is '-12'"), ("length", 13, "has length 13"), ("length", 1 << 62, "has length"),
            ("length", "12x", "expected a number"), ("__class__", "x", ""), ("checksum", "x", "")):
        yield f"28_{key}_{text}", stored(**{"location": "w.bin", key: text}), expected


def write_files(folder):
    """What the models of external_data() name."""
    (folder / "w.bin").write_bytes(bytes(64))
    (folder / "inside").mkdir(exist_ok=True)
    for name, target in (("link.bin", "/etc/passwd"), ("up", "/")):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(target)
    for name in ("hard.bin", "second_name"):
        (folder / name).unlink(missing_ok=True)
    (folder / "second_name").write_bytes(bytes(64))
    (folder / "hard.bin").hardlink_to(folder / "second_name")


def operators():
    two = (2, 3)
    for axis in (2, -3, HUGE, -HUGE):
        for op in ("Softmax", "Concat", "Gather", "Flatten", "Split", "ArgMax", "LayerNormalization", "GatherElements",
                   "CumSum", "OneHot", "TopK"):
            if op == "Flatten" and axis == 2:
                continue
            weights = [constant("i", [0]), constant("j", [[0]]), constant("a", axis), constant("k", [1]),
                       constant("f", [1, 1, 1], np.float32), constant("d", 3), constant("v", [0, 1], np.float32)]
            inputs = {"Gather": ["x", "i"], "GatherElements": ["x", "j"], "CumSum": ["x", "a"], "TopK": ["x", "k"],
                      "LayerNormalization": ["x", "f"], "Concat": ["x", "x"], "OneHot": ["i", "d", "v"]}.get(op, ["x"])
            extra = {} if op == "CumSum" else {"axis": axis}
            outputs = ("y", "z") if op in ("Split", "TopK") else ("y",)
            yield f"30_{op}_{axis}", model(node(op, inputs, outputs, **extra), two, weights=weights, opset=13 if op != "LayerNormalization" else 17), f"the_{op}"
        yield f"30_Squeeze_{axis}", model(node("Squeeze", ["x", "a"]), two, weights=[constant("a", [axis])]), "the_Squeeze"
        yield f"30_ReduceSum_{axis}", model(node("ReduceSum", ["x", "a"]), two, weights=[constant("a", [axis])]), "the_ReduceSum"
    image = (1, 2, 5, 5)
    kernel = constant("w", np.ones((2, 2, 3, 3)), np.float32)
    for bad in (0, -1, HUGE):
        for key in ("strides", "dilations"):
            yield f"31_Conv_{key}_{bad}", model(node("Conv", ["x", "w"], **{key: [bad, 1]}), image, weights=[kernel]), "the_Conv"
        yield f"31_Conv_group_{bad}", model(node("Conv", ["x", "w"], group=bad), image, weights=[kernel]), "the_Conv"
        yield f"31_ConvTranspose_strides_{bad}", model(node("ConvTranspose", ["x", "w"], strides=[1, bad]), image, weights=[kernel]), "the_ConvTranspose"
        yield f"31_MaxPool_kernel_{bad}", model(node("MaxPool", "x", kernel_shape=[bad, 2]), image), "the_MaxPool"
        yield f"31_AveragePool_strides_{bad}", model(node("AveragePool", "x", kernel_shape=[2, 2], strides=[2, bad]), image), "the_AveragePool"
        yield f"31_DepthToSpace_{bad}", model(node("DepthToSpace", "x", blocksize=bad), image), "the_DepthToSpace"
        yield f"31_SpaceToDepth_{bad}", model(node("SpaceToDepth", "x", blocksize=bad), image), "the_SpaceToDepth"
    yield "31_LRN", model(node("LRN", "x", size=0), image), "the_LRN"
    yield "32_Conv", model(node("Conv", ["x", "w"], pads=[-9, -9, -9, -9]), image, weights=[kernel]), "the_Conv"
    yield "32_Conv_large", model(node("Conv", ["x", "w"]), (1, 2, 1, 1), weights=[kernel]), "the_Conv"
    yield "32_MaxPool", model(node("MaxPool", "x", kernel_shape=[9, 9]), image), "the_MaxPool"
    yield "32_Pad", model(node("Pad", ["x", "p"]), weights=[constant("p", [-2, -2])]), "the_Pad"
    for size in ([1 << 40], [1 << 20, 1 << 20, 1 << 20], [-5], [1 << 62, 4]):
        weights = [constant("s", size)]
        tag = "_".join(map(str, size))
        yield f"33_ConstantOfShape_{tag}", model([node("ConstantOfShape", "s", ["t"]), node("Relu", "t")], weights=weights), ""
        yield f"33_Expand_{tag}", model(node("Expand", ["x", "s"]), (1,), weights=weights), ""
        yield f"33_Tile_{tag}", model(node("Tile", ["x", "s"]), (1,) * len(size), weights=weights), ""
    yield "33_Range", model([node("Range", ["a", "b", "d"], ["r"]), node("Relu", "r")],
                            weights=[constant("a", 0), constant("b", 1 << 60), constant("d", 1)]), "the_Range"
    yield "33_Range_0", model([node("Range", ["a", "b", "d"], ["r"]), node("Relu", "r")],
                              weights=[constant("a", 0), constant("b", 9), constant("d", 0)]), "the_Range"
    yield "33_Resize", model(node("Resize", ["x", "", "s"], mode="nearest"), image,
                             weights=[constant("s", [1, 1, 1e9, 1e9], np.float32)]), ""
    yield "33_Resize_nan", model(node("Resize", ["x", "", "s"], mode="nearest"), image,
                                 weights=[constant("s", [1, 1, np.nan, -1], np.float32)]), "the_Resize"
    yield "33_EyeLike", model([node("ConstantOfShape", "s", ["t"]), node("EyeLike", "t")],
                              weights=[constant("s", [1 << 20, 1 << 20])]), ""
    yield "33_Pad", model(node("Pad", ["x", "p"]), weights=[constant("p", [1 << 61, 1 << 61])]), ""
    yield "33_OneHot", model(node("OneHot", ["i", "d", "v"]), weights=[
        constant("i", [0]), constant("d", 1 << 60), constant("v", [0, 1], np.float32)]), ""
    yield "33_AffineGrid", model(node("AffineGrid", ["x", "s"]), (1, 2, 3), opset=20,
                                 weights=[constant("s", [1, 1, 1 << 30, 1 << 30])]), ""
    for op in ("BlackmanWindow", "HannWindow", "HammingWindow"):
        yield f"33_{op}", model([node(op, ["s"], ["t"]), node("Relu", ["t"])], weights=[constant("s", 1 << 40)]), ""
    yield "33_MelWeightMatrix", model([node("MelWeightMatrix", ["m", "d", "r", "l", "u"], ["t"]), node("Relu", ["t"])],
                                      weights=[constant("m", 1 << 40), constant("d", 1 << 40), constant("r", 8000),
                                               constant("l", 0.0, np.float32), constant("u", 4000.0, np.float32)]), ""
    yield "33_RandomNormal", model([node("RandomNormal", [], ["t"], shape=[1 << 40]), node("Relu", ["t"])]), ""
    yield "33_Bernoulli", model([node("Expand", ["x", "s"], ["t"]), node("Bernoulli", ["t"])], (1,),
                                weights=[constant("s", [1 << 40])]), ""
    yield "34_Reshape", model(node("Reshape", ["x", "s"]), weights=[constant("s", [-1, -1])]), "the_Reshape"
    yield "34_Reshape_3", model(node("Reshape", ["x", "s"]), weights=[constant("s", [-3, 1])]), "the_Reshape"
    yield "34_Reshape_0", model(node("Reshape", ["x", "s"]), weights=[constant("s", [3, 0])]), "the_Reshape"
    yield "34_Reshape_count", model(node("Reshape", ["x", "s"]), weights=[constant("s", [2, 2])]), "the_Reshape"
    for bad in (3, -4, 1 << 40):
        yield f"35_Gather_{bad}", model(node("Gather", ["x", "i"]), weights=[constant("i", [bad])]), "run"
        yield f"35_GatherND_{bad}", model(node("GatherND", ["x", "i"]), weights=[constant("i", [[bad]])]), "run"
        yield f"35_GatherElements_{bad}", model(node("GatherElements", ["x", "i"]), weights=[constant("i", [bad])]), "run"
        update = constant("u", [1], np.float32)
        yield f"35_ScatterND_{bad}", model(node("ScatterND", ["x", "i", "u"]), weights=[constant("i", [[bad]]), update]), "run"
        yield f"35_ScatterElements_{bad}", model(node("ScatterElements", ["x", "i", "u"]), weights=[constant("i", [bad]), update]), "run"
    boxes, scores = constant("b", np.full((1, 3, 4), np.nan), np.float32), constant("q", np.full((1, 1, 3), np.nan), np.float32)
    yield "36_nms", model([node("NonMaxSuppression", ["b", "q", "n"]), ], weights=[boxes, scores, constant("n", [1 << 40])]), ""
    yield "36_topk", model(node("TopK", ["x", "k"], ["y", "z"]), weights=[constant("k", [4])]), "the_TopK"
    yield "36_topk_negative", model(node("TopK", ["x", "k"], ["y", "z"]), weights=[constant("k", [-1])]), "the_TopK"
    yield "37_div", model([node("Shape", "x", ["s"]), node("Div", ["s", "z"], ["d"]), node("Reshape", ["x", "d"])],
                          weights=[constant("z", [0])]), ""
    yield "37_mod", model([node("Shape", "x", ["s"]), node("Mod", ["s", "z"], ["d"]), node("Reshape", ["x", "d"])],
                          weights=[constant("z", [0])]), ""


def many_nodes():
    nodes = [helper.make_node("Relu", ["x" if i == 0 else f"t{i - 1}"], [f"t{i}"]) for i in range(20000)]
    nodes.append(helper.make_node("Relu", ["nothing"], ["y"]))
    yield "18_nodes", model(nodes), "'nothing' does not exist"
    yield "18_nodes_of_a_seed", model(nodes[:400]), "output"


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    write_files(folder)
    for family in (files, graphs, bodies, depths, functions, attributes, tensors, external_data, operators, many_nodes):
        for name, made, expected in family():
            data = made if isinstance(made, bytes) else made.SerializeToString()
            (folder / f"{name}.onnx").write_bytes(data)
            (folder / f"{name}.txt").write_text(expected)
    (folder / "done").touch()


main()
