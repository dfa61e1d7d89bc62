"""`tenon onnx`: opset, against ONNX's own checker and evaluator."""
import importlib.util
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from onnx_support import INT64, RANDOM, OnnxCase, classifier, integers, model_of, operators, tensor, value
from opset_cases import CASES, model_of as lowered_model
from support import SOURCE

NOT_EVALUATED = {"batch_norm", "resize_up", "resize_sizes", "resize_linear", "scatter"}  # by ONNX's evaluator in the lower opset


class Opset(OnnxCase):
    def test_opset(self):
        nodes = [helper.make_node("Squeeze", ["x"], ["s"], axes=[0]), helper.make_node("Clip", ["s"], ["c"], min=-0.5, max=0.5),
                 helper.make_node("Pad", ["c"], ["p"], pads=[1, 1, 1, 1], value=2.0), helper.make_node("ReduceMean", ["p"], ["m"], axes=[0]),
                 helper.make_node("Split", ["m"], ["a", "b"], split=[2, 3]), helper.make_node("Softmax", ["b"], ["y"], axis=1),
                 helper.make_node("Slice", ["p"], ["z"], starts=[1], ends=[3], axes=[1])]
        model = model_of(nodes, [value("x", 1, 2, 3)], [value("y", 1, 3), value("z", 4, 2), value("a", 1, 2)], opset=9)
        nodes[4].attribute.append(helper.make_attribute("axis", 1))
        model = model_of(nodes, [value("x", 1, 2, 3)], [value("y", 1, 3), value("z", 4, 2), value("a", 1, 2)], opset=9)
        edited, _ = self.edit(model, "opset=21")
        self.assertEqual(edited.opset_import[0].version, 21)
        self.assert_same(model, edited, x=RANDOM.standard_normal((1, 2, 3)).astype(np.float32))
        onnx.save(edited, self.model)
        back, _ = self.edit(edited, "opset=9")
        self.assertEqual(operators(back), operators(model))
        self.assert_same(model, back, x=RANDOM.standard_normal((1, 2, 3)).astype(np.float32))

    def test_lower_opset(self):
        """Computes the same by ONNX's own evaluator, and, when opset_cases.py is run by hand, by ONNX Runtime."""
        for name, nodes, constants, shapes, before, after in CASES:
            with self.subTest(name):
                model = lowered_model(nodes, constants, shapes, before)
                edited, _ = self.edit(model, f"opset={after}", *["--verify"] * (name in NOT_EVALUATED))
                self.assertEqual(edited.opset_import[0].version, after)
                self.assertEqual({t.name for t in edited.graph.initializer} - {i for n in edited.graph.node for i in n.input}, set())
                if name not in NOT_EVALUATED:
                    self.assert_same(model, edited, **{k: RANDOM.standard_normal(shape).astype(np.float32) for k, shape in shapes.items()})

    def test_lower_clip_with_crossed_bounds(self):
        """All elements become the largest; of attributes that cross ONNX says nothing."""
        model = model_of([helper.make_node("Clip", ["x", "low", "high"], ["y"])], [value("x", 3)], [value("y", 3)],
                         [numpy_helper.from_array(np.float32(bound), name) for name, bound in (("low", 2), ("high", 1))], opset=13)
        edited, _ = self.edit(model, "opset=10")
        self.assertEqual({a.name: a.f for a in edited.graph.node[0].attribute}, {"min": 1, "max": 1})
        np.testing.assert_array_equal(self.outputs(model, x=np.float32([0, 1.5, 3]))[0], np.ones(3))

    def test_what_a_lower_opset_cannot_say(self):
        x = [value("x", 2, 4, 6)]
        for node, opset, lower, why in (
                (helper.make_node("Clip", ["x", "k"], ["y"]), 13, 9, "'k', which is no constant"),
                (helper.make_node("Einsum", ["x"], ["y"], equation="abc->cba"), 13, 11, "does not have"),
                (helper.make_node("Reshape", ["x", "s"], ["y"], allowzero=1), 14, 13, "attribute 'allowzero'"),
                (helper.make_node("Resize", ["x", "", "r"], ["y"], mode="linear"), 13, 10, "half_pixel"),
                (helper.make_node("Slice", ["x", "s", "e", "a", "t"], ["y"]), 13, 9, "takes steps"),
                (helper.make_node("Relu", ["i"], ["y"]), 14, 13, "reads 'i' of int32"),
                (helper.make_node("GreaterOrEqual", ["x", "x"], ["y"]), 12, 9, "reads 'x' of float32"),
                (helper.make_node("LayerNormalization", ["x", "w"], ["y", "mean"]), 17, 16, "mean"),
                (helper.make_node("Dropout", ["x", "", "train"], ["y"]), 12, 11, "at random"),
                (helper.make_node("Dropout", ["x"], ["other", "y"]), 12, 11, "the mask 'y'"),
                (helper.make_node("Cast", ["x"], ["y"], to=TensorProto.BFLOAT16), 13, 12, "gives bfloat16"),
                (helper.make_node("ConstantOfShape", ["s"], ["y"], value=helper.make_tensor("v", TensorProto.BFLOAT16, [1], [1.0])), 20, 19,
                 "gives bfloat16"),
                (helper.make_node("EyeLike", ["x"], ["y"], dtype=TensorProto.BFLOAT16), 22, 21, "gives bfloat16"),
                (helper.make_node("Constant", [], ["y"], value_string="text"), 12, 11, "attribute 'value_string'"),
                (helper.make_node("ScatterND", ["x", "d", "u"], ["y"], reduction="max"), 18, 17, "reduction 'max'")):
            node.name = "n"
            parts = [t for t in (integers("s", 0, 0), integers("e", 2, 2), integers("a", 0, 1), integers("t", 1, 2), tensor("w", 6), tensor("r", 3),
                                 numpy_helper.from_array(np.array([1, 2], np.int32), "i"), numpy_helper.from_array(np.array(True), "train"),
                                 tensor("u", 1, 4, 6)) if t.name in node.input]
            inputs = x + [value("k")] * ("k" in node.input) + [value("d", 1, 1, element=INT64)] * ("d" in node.input)
            onnx.save(model_of([node], inputs, [value("y")], parts, opset=opset), self.model)
            with self.subTest(operator=node.op_type):
                self.refuse("onnx", f"opset={lower}", self.model, "-o", self.folder / "no.onnx", names=[
                    "node 'y_Equal'" if node.op_type == "GreaterOrEqual" else "node 'n'", "cannot be brought to opset", why])
        onnx.save(classifier(), self.model)
        self.refuse("onnx", "opset=6", self.model, "-o", self.folder / "no.onnx", names=["before 7"])

    def test_opset_of_functions(self):
        """A body is upgraded from the opset that it imports itself."""
        for own in (12, 13):
            body = [helper.make_node("Clip", ["aaaaaaaaa", "low"], ["c"])] if own > 12 else [
                helper.make_node("Squeeze", ["aaaaaaaaa"], ["c"], axes=[0])]
            if own > 12:
                body.insert(0, helper.make_node("Constant", [], ["low"], value_float=0.0))
            function = helper.make_function("my", "S", ["aaaaaaaaa"], ["bbbbbbbbb"], [
                *body, helper.make_node("Softmax", ["c"], ["bbbbbbbbb"])], [helper.make_opsetid("", own)])
            model = model_of([helper.make_node("S", ["x"], ["y"], domain="my")], [value("x", 1, 2, 3)], [value("y", None, None)],
                             functions=[function], opset=12, opsets=[("my", 1)])
            onnx.save(model, self.model)
            if own == 12:  # along which axes is not known in a function
                self.refuse("onnx", "opset=13", self.model, "-o", self.out, names=["Softmax", "several axes"])
                continue
            self.succeed("onnx", "opset=13", self.model, "-o", self.out)
            self.assertEqual(onnx.load(self.out).functions[0], function)

    def test_opset_keeps_the_meaning(self):
        roi = model_of([helper.make_node("RoiAlign", ["x", "r", "b"], ["y"], output_height=2, output_width=2)], [value("x", 1, 1, 8, 8)],
                       [value("y", 1, 1, 2, 2)], [numpy_helper.from_array(np.array([[1, 1, 5, 5]], np.float32), "r"), integers("b", 0)], opset=13)
        edited, _ = self.edit(roi, "opset=16")
        self.assertEqual({a.name: helper.get_attribute_value(a) for a in edited.graph.node[0].attribute}["coordinate_transformation_mode"],
                         b"output_half_pixel")
        upsample = model_of([helper.make_node("Upsample", ["x"], ["y"], mode="nearest", scales=[1.0, 1.0, 2.0, 2.0])],
                            [value("x", 1, 1, 4, 4)], [value("y", 1, 1, 8, 8)], opset=8)
        edited, _ = self.edit(upsample, "opset=13")
        x = RANDOM.standard_normal((1, 1, 4, 4)).astype(np.float32)
        np.testing.assert_array_equal(self.outputs(edited, x=x)[0], x.repeat(2, 2).repeat(2, 3))
        parts = [numpy_helper.from_array(np.arange(1, 7, dtype=np.float32).reshape(2, 3), name) for name in "sbmv"]
        for node, place in (
                (helper.make_node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y"], spatial=0), "BatchNormalization"),
                (helper.make_node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y", "mean"]), "training"),
                (helper.make_node("Scan", ["", "i", "x"], ["f", "y"], num_scan_inputs=1, body=helper.make_graph(
                    [helper.make_node("Identity", ["q"], ["o"]), helper.make_node("Identity", ["p"], ["s"])], "b",
                    [value("p", 2), value("q", 2)], [value("s", 2), value("o", 2)])), "Scan")):
            onnx.save(model_of([node], [value("x", 1, 2, 3)], [value("y", 1, 2, 3)], [*parts, tensor("i", 1, 2)], opset=8), self.model)
            self.refuse("onnx", "opset=16", self.model, "-o", self.folder / "no.onnx", names=[place])

    def test_operator_schemas_are_onnxs(self):
        specification = importlib.util.spec_from_file_location("make_operator_schemas", SOURCE / "src/edit/testdata/make_operator_schemas.py")
        maker = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(maker)
        self.assertEqual((SOURCE / "src/edit/operator_schemas.txt").read_text().splitlines(), list(maker.lines()))

    def test_opset_knows_every_change(self):
        """What ONNX changed so that a node means something else: each was looked at, and is converted or refused by src/edit/opset.cc."""
        versions = {}
        for schema in onnx.defs.get_all_schemas_with_history():
            if schema.domain == "":
                versions.setdefault(schema.name, []).append(schema)
        changed = set()
        for name, schemas in versions.items():
            schemas.sort(key=lambda schema: schema.since_version)
            for old, new in zip(schemas, schemas[1:]):
                lost = any(key not in new.attributes or (was.default_value.name and new.attributes[key].default_value != was.default_value)
                           for key, was in old.attributes.items())
                texts = any(key not in old.attributes and is_now.default_value.s for key, is_now in new.attributes.items())
                fewer = len(new.outputs) < len(old.outputs) or len(new.inputs) < len(old.inputs)
                required = any(i >= len(old.inputs) and each.option == onnx.defs.OpSchema.FormalParameterOption.Single
                               for i, each in enumerate(new.inputs))
                if new.since_version > 7 and (lost or texts or fewer or required or new.deprecated):
                    changed.add((name, new.since_version))
        reductions = {(f"Reduce{each}", 18) for each in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "SumSquare")}
        same_by_default = {("DepthToSpace", 11), ("ScatterElements", 16), ("ScatterND", 16), ("Cast", 24), ("CastLike", 24), ("Resize", 18),
                           ("SpaceToDepth", 28)}
        self.assertEqual(changed - reductions - same_by_default, {
            ("BatchNormalization", 9), ("BatchNormalization", 14), ("Clip", 11), ("DFT", 20), ("Dropout", 12), ("GridSample", 20),
            ("Hardmax", 13), ("LogSoftmax", 13), ("Softmax", 13), ("Pad", 11), ("ReduceSum", 13), ("Resize", 11), ("RoiAlign", 16),
            ("Scan", 9), ("Scatter", 11), ("Slice", 10), ("Split", 13), ("Squeeze", 13), ("TopK", 10), ("Unsqueeze", 13),
            ("Upsample", 9), ("Upsample", 10)})


if __name__ == "__main__":
    unittest.main()
