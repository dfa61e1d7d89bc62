"""Makes exports with one planted fault each, from PyTorch where it makes such faults, else by onnx.helper.

    .cache/bench/venv/bin/python lint/testdata/make_exports.py FOLDER

Writes FOLDER/NAME.onnx, and FOLDER/expected.json: {name: {"rule": …, "node": operator or tensor, "fixed": whether
--fix takes it away, "source": whether the exporter left the line, "also": other rules that find something}}. The faults are those of PyTorch's users (views
with int(x.size(0)), slices written to, sizes in interpolate, export in training mode) and of models edited by hand.
"""
import json
import pathlib
import sys
import warnings

import numpy as np
import onnx
import onnx.helper as oh
import torch
import torch.nn.functional as F
from onnx import TensorProto
from onnx.numpy_helper import from_array

EXPECTED = {}


def expect(name, rule, node, fixed=False, source=False, also=()):
    EXPECTED[name] = {"rule": rule, "node": node, "fixed": fixed, "source": source, "also": list(also)}
    return name


class Model(torch.nn.Module):
    """A module whose forward is a function."""

    def __init__(self, function, *modules):
        super().__init__()
        self.function, self.inner = function, torch.nn.ModuleList(modules)

    def forward(self, x):
        return self.function(self.inner, x)


def export(folder, name, function, shape, dynamic, *modules, opset=13, **options):
    """Exports by tracing, as the models of TensorRT's users mostly are."""
    torch.manual_seed(0)
    model = Model(function, *modules).eval()
    torch.onnx.export(model, torch.randn(shape), str(folder / f"{name}.onnx"), input_names=["x"], output_names=["y"],
                      dynamic_axes={"x": dynamic, "y": {0: "batch"}} if dynamic else None, opset_version=opset, dynamo=False,
                      **options)


def save(folder, name, nodes, inputs, outputs, weights=(), opset=13, domains=(), declared=()):
    graph = oh.make_graph(nodes, "g", [oh.make_tensor_value_info(*row) for row in inputs],
                          [oh.make_tensor_value_info(*row) for row in outputs], [from_array(a, n) for n, a in weights],
                          value_info=[oh.make_tensor_value_info(*row) for row in declared])
    imports = [oh.make_opsetid("", opset), *(oh.make_opsetid(*row) for row in domains)]
    onnx.save(oh.make_model(graph, opset_imports=imports, ir_version=8, producer_name="lint"), folder / f"{name}.onnx")


def traced(folder):
    """What tracing makes of shapes and slices."""
    batch = {0: "batch"}

    def head(inner, x):  # of YOLO, with the batch of the example
        x = inner[0](x)
        return x.view(int(x.size(0)), -1)
    export(folder, expect("batch_in_view", "lost-batch-in-reshape", "Reshape"), head, (2, 3, 8, 8), batch,
           torch.nn.Conv2d(3, 4, 3))

    def sizes(inner, x):
        x = inner[0](x)
        return x.view(1, int(x.size(1)), int(x.size(2)) * int(x.size(3)))
    torch.manual_seed(0)
    torch.onnx.export(Model(sizes, torch.nn.Conv2d(3, 4, 3)).eval(), torch.randn(1, 3, 8, 8),
                      str(folder / f"{expect('sizes_in_view', 'traced-shape', 'Reshape')}.onnx"), input_names=["x"],
                      output_names=["y"], dynamic_axes={"x": {2: "height", 3: "width"}}, opset_version=13, dynamo=False)

    def resize(inner, x):
        return F.interpolate(inner[0](x), size=(int(x.size(2)) * 2, int(x.size(3)) * 2), mode="nearest")
    export(folder, expect("size_in_interpolate", "traced-resize", "Resize"), resize, (1, 3, 8, 8),
           {2: "height", 3: "width"}, torch.nn.Conv2d(3, 4, 3, padding=1))

    def yolo(inner, x):
        x = inner[0](x)
        return x.view(-1, 3, 5, 8, 8).permute(0, 1, 3, 4, 2).reshape(-1, 3 * 8 * 8, 5)
    export(folder, expect("five_dimensions", "five-dimensions", "Reshape"), yolo, (1, 3, 8, 8), batch,
           torch.nn.Conv2d(3, 15, 3, padding=1))

    def in_place(inner, x):
        y = inner[0](x).sigmoid()
        y[:, 0:2] = y[:, 0:2] * 2 - 0.5
        return y
    export(folder, expect("slice_assignment", "slice-assignment", "ScatterND", also=["static-shape"]), in_place, (1, 3, 8, 8), None,
           torch.nn.Conv2d(3, 4, 3))

    name = expect("source_line", "slice-assignment", "ScatterND", source=True)
    program = torch.onnx.export(Model(in_place, torch.nn.Conv2d(3, 4, 3)).eval(), (torch.randn(1, 3, 8, 8),), dynamo=True,
                                verbose=False)
    program.save(str(folder / f"{name}.onnx"), external_data=False)

    def double(inner, x):
        return inner[0](x) * torch.tensor(0.5, dtype=torch.float64).expand(4, 1, 1)
    export(folder, expect("float64", "float64", "Mul"), double, (1, 3, 8, 8), batch, torch.nn.Conv2d(3, 4, 3))

    def fixed_output(inner, x):
        return torch.cat([inner[0](x).mean(0, keepdim=True), torch.zeros(1, 4, 6, 6)])
    torch.onnx.export(Model(fixed_output, torch.nn.Conv2d(3, 4, 3)).eval(), torch.randn(2, 3, 8, 8),
                      str(folder / f"{expect('batch_of_output', 'lost-batch', 'y')}.onnx"), input_names=["x"], output_names=["y"],
                      dynamic_axes={"x": batch}, opset_version=13, dynamo=False)


def training(folder):
    """Models that were exported without eval()."""
    for name, rule, node, layer in (("batch_norm", "training-batch-norm", "BatchNormalization", torch.nn.BatchNorm2d(4)),
                                    ("dropout", "training-dropout", "Dropout", torch.nn.Dropout(0.3))):
        model = Model(lambda inner, x: inner[1](inner[0](x)), torch.nn.Conv2d(3, 4, 3), layer).train()
        torch.onnx.export(model, torch.randn(2, 3, 8, 8), str(folder / f"{expect(name, rule, node)}.onnx"), input_names=["x"],
                          output_names=["y"], opset_version=14, dynamo=False, training=torch.onnx.TrainingMode.TRAINING,
                          do_constant_folding=False)


def by_hand(folder):
    """What other exporters and edits by hand leave."""
    image, out = (("x", TensorProto.FLOAT, ["N", 4, 8, 8]), ("y", TensorProto.FLOAT, ["N", 4, 8, 8]))
    large = ("y", TensorProto.FLOAT, ["N", 4, 16, 16])
    scales = np.array([1, 1, 2.0000002, 2.0000005], np.float32)
    save(folder, expect("rounded_scales", "resize-scales", "Resize"),
         [oh.make_node("Resize", ["x", "", "s"], ["y"], "Resize", mode="nearest", nearest_mode="floor",
                       coordinate_transformation_mode="asymmetric")], [image], [large], [("s", scales)])
    save(folder, expect("upsample", "upsample", "Upsample"),
         [oh.make_node("Upsample", ["x", "s"], ["y"], "Upsample", mode="nearest")], [image], [large],
         [("s", np.array([1, 1, 2, 2], np.float32))], opset=9)
    save(folder, expect("int64_detour", "int64-detour", "Cast", True),
         [oh.make_node("Cast", ["x"], ["wide"], "widen", to=TensorProto.INT64),
          oh.make_node("Cast", ["wide"], ["y"], "narrow", to=TensorProto.FLOAT)],
         [("x", TensorProto.INT32, ["N", 4])], [("y", TensorProto.FLOAT, ["N", 4])])
    weights = np.random.default_rng(0).random((16, 16), np.float32)
    save(folder, expect("equal_weights", "equal-initializers", "w2", True),
         [oh.make_node("MatMul", ["x", "w1"], ["h"]), oh.make_node("MatMul", ["h", "w2"], ["y"])],
         [("x", TensorProto.FLOAT, ["N", 16])], [("y", TensorProto.FLOAT, ["N", 16])], [("w1", weights), ("w2", weights.copy())])
    save(folder, expect("unused_weights", "unused-initializer", "old", True), [oh.make_node("Relu", ["x"], ["y"])],
         [image], [out], [("old", weights)])
    save(folder, expect("unused_input", "unused-input", "mask"), [oh.make_node("Relu", ["x"], ["y"])],
         [image, ("mask", TensorProto.FLOAT, ["N", 4])], [out])
    box, score = ("boxes", TensorProto.FLOAT, [1, 16, 4]), ("scores", TensorProto.FLOAT, [1, 16, 2])
    found = [("count", TensorProto.INT32, [1, 1]), ("kept", TensorProto.FLOAT, [1, 10, 4]),
             ("kept_scores", TensorProto.FLOAT, [1, 10]), ("classes", TensorProto.INT32, [1, 10])]
    for name, rule, score_threshold, domains in (("plugin_attribute", "attribute-kind", 0, [("trt.plugins", 1)]),
                                                 ("no_opset_of_domain", "missing-opset", 0.25, [])):
        save(folder, expect(name, rule, "EfficientNMS_TRT", True),
             [oh.make_node("EfficientNMS_TRT", ["boxes", "scores"], [row[0] for row in found], "nms", domain="trt.plugins",
                           score_threshold=score_threshold, iou_threshold=0.5, max_output_boxes=10, background_class=-1,
                           score_activation=0, class_agnostic=0, box_coding=0)], [box, score], found, domains=domains)
    branches = {name: oh.make_graph([oh.make_node(op, ["x"], [f"{name}_y"])], name, [],
                                    [oh.make_tensor_value_info(f"{name}_y", TensorProto.FLOAT, ["N", 4, 8, 8])])
                for name, op in (("then_branch", "Relu"), ("else_branch", "Neg"))}
    save(folder, expect("constant_condition", "constant-condition", "If", True),
         [oh.make_node("If", ["c"], ["y"], "If", **branches)], [image], [out], [("c", np.array(True))])
    save(folder, expect("static_shape", "static-shape", "Shape", True),
         [oh.make_node("Shape", ["x"], ["s"], "Shape"), oh.make_node("Gather", ["s", "i"], ["b"], axis=0),
          oh.make_node("Concat", ["b", "r"], ["t"], axis=0), oh.make_node("Reshape", ["x", "t"], ["y"])],
         [("x", TensorProto.FLOAT, [2, 4, 8, 8])], [("y", TensorProto.FLOAT, [2, 256])],
         [("i", np.array([0])), ("r", np.array([-1]))])
    save(folder, expect("expand_to_ones", "expand-to-ones", "Expand", True),
         [oh.make_node("Expand", ["x", "s"], ["e"], "Expand"), oh.make_node("Relu", ["e"], ["y"])], [image], [out],
         [("s", np.ones(4, np.int64))])
    save(folder, expect("batch_in_numbers", "lost-batch-in-reshape", "Reshape", True),
         [oh.make_node("Reshape", ["x", "s"], ["y"], "Reshape")], [image], [("y", TensorProto.FLOAT, ["N", 256])],
         [("s", np.array([2, 256]))])
    save(folder, expect("equal_names", "equal-node-names", "act", True),
         [oh.make_node("Relu", ["x"], ["h"], "act"), oh.make_node("Sigmoid", ["h"], ["y"], "act")], [image], [out])


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    traced(folder)
    training(folder)
    by_hand(folder)
    (folder / "expected.json").write_text(json.dumps(EXPECTED, indent=1))
    print(len(EXPECTED), "exports")


if __name__ == "__main__":
    main()
