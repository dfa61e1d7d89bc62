"""`tenon onnx`: float16 and quantization, against ONNX's own checker and evaluator."""
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from onnx_support import FLOAT, INT64, RANDOM, OnnxCase, classifier, model_of, operators, tensor, value



class Precision(OnnxCase):
    def test_float16(self):
        model = classifier()
        edited, said = self.edit(model, "float16")
        self.assertEqual({t.data_type for t in edited.graph.initializer}, {TensorProto.FLOAT16, INT64})
        self.assertEqual(operators(edited), ["Cast", "Conv", "Relu", "Reshape", "MatMul", "Cast"], said)
        x = RANDOM.standard_normal((1, 3, 8, 8)).astype(np.float32)
        self.assert_same(model, edited, tolerance=2e-2, x=x)
        narrow, _ = self.edit(model, "float16=io")
        self.assertEqual(narrow.graph.input[0].type.tensor_type.elem_type, TensorProto.FLOAT16)
        model.graph.initializer[3].CopyFrom(numpy_helper.from_array(np.full((144, 5), 1e5, np.float32), "m"))
        kept, said = self.edit(model, "float16")
        self.assertRegex(said, r"stays float32: node 'head' \(MatMul\): 'm' has values beyond 65504")
        self.assertEqual({t.name: t.data_type for t in kept.graph.initializer}["m"], FLOAT)
        self.assert_same(model, kept, tolerance=2e-2, x=x)

    def test_float16_leaves_what_has_no_form_in_it(self):
        """Each is a model that ONNX's checker takes, and computes the same."""
        x = RANDOM.standard_normal((2, 3)).astype(np.float32)
        scales = [numpy_helper.from_array(np.float32(0.1), "s"), numpy_helper.from_array(np.uint8(0), "z")]
        for nodes, parts in (
                ([helper.make_node("Constant", [], ["k"], value_floats=[1.0, 2.0, 3.0]), helper.make_node("Mul", ["x", "k"], ["y"])], []),
                ([helper.make_node("Constant", [], ["k"], value_floats=[1.0, 1e5, 3.0]), helper.make_node("Mul", ["x", "k"], ["y"])], []),
                ([helper.make_node("HannWindow", ["n"], ["k"]), helper.make_node("Mul", ["x", "k"], ["y"])],
                 [numpy_helper.from_array(np.array(3), "n")]),
                ([helper.make_node("LayerNormalization", ["x", "w"], ["l", "mean"]), helper.make_node("Add", ["l", "mean"], ["y"])],
                 [tensor("w", 3)]),
                ([helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
                  helper.make_node("QLinearMatMul", ["q", "s", "z", "w", "s", "z", "s", "z"], ["p"]),
                  helper.make_node("DequantizeLinear", ["p", "s", "z"], ["y"])],
                 [*scales, numpy_helper.from_array(np.ones((3, 3), np.uint8), "w")]),
                ([helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Celu", ["r"], ["y"])], [])):
            model = model_of(nodes, [value("x", 2, 3)], [value("y", 2, 3)], parts, opset=21)
            with self.subTest(operator=nodes[-2].op_type):
                edited, _ = self.edit(model, "float16")
                found, expected = self.outputs(edited, x=x)[0], self.outputs(model, x=x)[0]
                np.testing.assert_allclose(found, expected, rtol=5e-3, atol=5e-3)
                self.assertEqual(found.dtype, np.float32)
        own = helper.make_function("", "Softplus", ["a"], ["b"], [helper.make_node("Constant", [], ["k"], value_float=2.0), helper.make_node("Mul", ["a", "k"], ["b"])],
                                   [helper.make_opsetid("", 17)])
        bits = helper.make_node("BitCast", ["x"], ["y"], to=TensorProto.INT32)
        for nodes, element, opset, functions in (([helper.make_node("Softplus", ["x"], ["y"])], FLOAT, 17, [own]), ([bits], TensorProto.INT32, 26, [])):
            model = model_of(nodes, [value("x", 2, 3)], [value("y", 2, 3, element=element)], opset=opset, functions=functions)
            edited, _ = self.edit(model, "float16", check=False)
            self.assertEqual(operators(edited), operators(model))
        self.refuse("onnx", "float16=Cleu", self.model, "-o", self.out, names=["'Cleu'"])

    def test_float16_keeps_what_it_cannot_hold(self):
        """Squares and small sums up to their logarithm or root, positions up to their sine, masks up to their Softmax."""
        small = np.geomspace(1e-6, 1e-2, 12, dtype=np.float32).reshape(3, 4)
        scalars = {"eps": 1e-10, "least": -3e38, "step": 0.1, "two": 2.0}
        parts = [numpy_helper.from_array(np.float32(v), k) for k, v in scalars.items()]
        logarithm = [helper.make_node("Mul", ["x", "x"], ["q"]), helper.make_node("Add", ["q", "eps"], ["e"]), helper.make_node("Log", ["e"], ["l"]),
                     helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Add", ["l", "r"], ["y"])]
        norm = [helper.make_node("Pow", ["x", "two"], ["q"]), helper.make_node("ReduceMean", ["q"], ["m"], axes=[1]),
                helper.make_node("Sqrt", ["m"], ["r"]), helper.make_node("Div", ["x", "r"], ["y"])]
        mask = [helper.make_node("Less", ["x", "two"], ["c"]), helper.make_node("Where", ["c", "least", "x"], ["m"]),
                helper.make_node("Softmax", ["m"], ["y"], axis=1)]
        added = [helper.make_node("Add", ["x", "least"], ["m"]), helper.make_node("Softmax", ["m"], ["y"], axis=1)]
        for name, nodes in {"logarithm": logarithm, "norm": norm, "mask": mask, "added": added}.items():
            with self.subTest(name):
                model = model_of(nodes, [value("x", 3, 4)], [value("y", 3, 4)], [p for p in parts if any(p.name in n.input for n in nodes)])
                edited, _ = self.edit(model, "float16")
                self.assertIn(TensorProto.FLOAT16, {a.i for n in edited.graph.node for a in n.attribute if a.name == "to"} | {
                    t.data_type for t in edited.graph.initializer} | ({TensorProto.FLOAT16} if name in ("norm", "added") else set()))
                self.assert_same(model, edited, tolerance=2e-3, x=small)
        waves = [helper.make_node("Range", ["zero", "n", "one"], ["i"]), helper.make_node("Cast", ["i"], ["p"], to=FLOAT),
                 helper.make_node("Mul", ["p", "step"], ["a"]), helper.make_node("Sin", ["a"], ["s"]), helper.make_node("Mul", ["s", "x"], ["y"])]
        model = model_of(waves, [value("x", 5000)], [value("y", 5000)],
                         [parts[2], *(numpy_helper.from_array(np.array(v), k) for k, v in {"zero": 0, "n": 5000, "one": 1}.items())])
        edited, _ = self.edit(model, "float16")
        self.assert_same(model, edited, tolerance=2e-3, x=np.ones(5000, np.float32))

    def test_float16_in_bodies(self):
        """Outer weights and values, states, and an If within a Loop."""
        branches = [helper.make_graph(
            [helper.make_node("Constant", [], [f"k{i}"], value=tensor(f"k{i}", 4)), helper.make_node(op, ["h", f"k{i}"], [f"b{i}"])],
            f"branch{i}", [], [value(f"b{i}", 3, 4)]) for i, op in enumerate(("Add", "Mul"))]
        body = helper.make_graph(
            [helper.make_node("MatMul", ["s", "w"], ["p"]), helper.make_node("Tanh", ["p"], ["h"]),
             helper.make_node("If", ["flag"], ["o"], then_branch=branches[0], else_branch=branches[1]),
             helper.make_node("Add", ["o", "r"], ["s2"]), helper.make_node("Identity", ["c"], ["c2"])],
            "body", [value("i", element=INT64), value("c", element=TensorProto.BOOL), value("s", 3, 4)],
            [value("c2", element=TensorProto.BOOL), value("s2", 3, 4)])
        nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Loop", ["trips", "go", "x"], ["last"], body=body),
                 helper.make_node("MatMul", ["last", "w"], ["y"])]
        model = model_of(nodes, [value("x", 3, 4), value("flag", element=TensorProto.BOOL)], [value("y", 3, 4)],
                         [tensor("w", 4, 4), *(numpy_helper.from_array(np.array(v), k) for k, v in {"trips": 3, "go": True}.items())])
        edited, _ = self.edit(model, "float16")
        inner, = [a.g for n in edited.graph.node if n.op_type == "Loop" for a in n.attribute]
        self.assertEqual({t.name: t.data_type for t in edited.graph.initializer}["w"], TensorProto.FLOAT16)
        self.assertIn("Cast", [n.op_type for n in inner.node])
        constants = [a.t.data_type for n in inner.node if n.op_type == "If" for b in n.attribute for m in b.g.node if m.op_type == "Constant"
                     for a in m.attribute]
        self.assertEqual(constants, [TensorProto.FLOAT16] * 2)
        x = RANDOM.standard_normal((3, 4)).astype(np.float32)
        for flag in (True, False):
            self.assert_same(model, edited, tolerance=1e-2, x=x, flag=np.array(flag))
        kept, _ = self.edit(model, "float16=Loop")
        inner, = [a.g for n in kept.graph.node if n.op_type == "Loop" for a in n.attribute]
        self.assertNotIn("Cast", [n.op_type for n in inner.node])

    def test_float16_of_resize_scales(self):
        nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Constant", [], ["scales"], value=numpy_helper.from_array(
                     np.array([1, 1, 4 / 3, 4 / 3], np.float32))),
                 helper.make_node("Resize", ["r", "", "scales"], ["y"], mode="linear")]
        model = model_of(nodes, [value("x", 1, 1, 6, 6)], [value("y", 1, 1, 8, 8)])
        edited, _ = self.edit(model, "float16")
        self.assertEqual(operators(edited).count("Resize"), 1)
        self.assert_same(model, edited, tolerance=2e-2, x=RANDOM.standard_normal((1, 1, 6, 6)).astype(np.float32))

    def test_quantization_goes(self):
        nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]), helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
                 helper.make_node("DequantizeLinear", ["wq", "s", "z"], ["w"]), helper.make_node("MatMul", ["d", "w"], ["y"])]
        wq = RANDOM.integers(-100, 100, (4, 5)).astype(np.int8)
        model = model_of(nodes, [value("x", 2, 4)], [value("y", 2, 5)], [
            numpy_helper.from_array(np.float32(0.02), "s"), numpy_helper.from_array(np.int8(0), "z"), numpy_helper.from_array(wq, "wq")])
        edited, _ = self.edit(model, "remove-quantization")
        self.assertEqual(operators(edited), ["MatMul"])
        x = RANDOM.standard_normal((2, 4)).astype(np.float32)
        np.testing.assert_allclose(self.outputs(edited, x=x)[0], x @ (wq * np.float32(0.02)), rtol=1e-5, atol=1e-6)

    def test_quantization_is_put_in(self):
        """One scale, one for each channel, of a value that a body reads, too; and out again."""
        body = helper.make_graph([helper.make_node("Mul", ["r", "r"], ["b"])], "b", [], [value("b", 2, 4)])
        other = helper.make_graph([helper.make_node("Neg", ["r"], ["o"])], "o", [], [value("o", 2, 4)])
        nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("If", ["c"], ["t"], then_branch=body, else_branch=other),
                 helper.make_node("MatMul", ["t", "w"], ["y"])]
        w = tensor("w", 4, 5)
        model = model_of(nodes, [value("x", 2, 4), value("c", element=TensorProto.BOOL)], [value("y", 2, 5), value("r", 2, 4)], [w], opset=21)
        scales = [0.01, 0.02, 0.03, 0.04, 0.05]
        edited, _ = self.edit(model, "insert-qdq=r,scale=0.05,zero_point=7,type=uint8", "insert-qdq=w,axis=1,scale=[" + ";".join(map(str, scales)) + "]")
        self.assertEqual(operators(edited).count("QuantizeLinear"), 2)

        def quantized(array, scale, zero, least):
            return (np.clip(np.rint(array / scale) + zero, least, least + 255) - zero) * scale
        x = RANDOM.standard_normal((2, 4)).astype(np.float32)
        r = np.maximum(x, 0)
        rq = quantized(r, np.float32(0.05), 7, 0)
        wq = quantized(numpy_helper.to_array(w), np.array(scales, np.float32), 0, -128)
        for flag, t in ((True, rq * rq), (False, -rq)):
            y, out = self.outputs(edited, x=x, c=np.array(flag))
            np.testing.assert_allclose(y, t @ wq, rtol=1e-4, atol=1e-5)
            np.testing.assert_array_equal(out, r)  # an output stays as it is
        self.refuse("onnx", "insert-qdq=r,scale=1", self.out, "-o", self.folder / "no.onnx", names=["'r' is quantized already"])
        back, said = self.edit(edited, "remove-qdq=r,w")
        self.assertIn("2 pairs removed", said)
        self.assertEqual(back.graph, model.graph)
        onnx.save(model, self.model)
        for verb, name in (("insert-qdq=no,scale=1", "no tensor 'no'"), ("insert-qdq=y,scale=1", "no node reads 'y'"),
                           ("insert-qdq=r,scale=-1", "no scale"), ("insert-qdq=r", "needs a scale"), ("insert-qdq=r,scale=1,zero_point=200", "int8"),
                           ("insert-qdq=r,scale=[1;2]", "along which axis"), ("insert-qdq=w,axis=2,scale=1", "no axis 2"),
                           ("insert-qdq=w,axis=-1,scale=[1;2;3;4]", "5 elements, and 4 scales"), ("insert-qdq=r,axis=1,scale=[1;2]", "4 elements, and 2 scales"),
                           ("insert-qdq=c,scale=1", "'c' is of bool: only float32"), ("insert-qdq=r,size=1", "size=1"), ("remove-qdq=r", "no QuantizeLinear")):
            self.refuse("onnx", verb, self.model, "-o", self.folder / "no.onnx", names=[name])

    def test_outputs_that_leave_their_type_open(self):
        model = model_of([helper.make_node("Relu", ["x"], ["y"])], [value("x", 3)], [helper.make_empty_tensor_value_info("y")])
        edited, _ = self.edit(model, "float16=io", check=False)
        self.assertEqual(edited.graph.input[0].type.tensor_type.elem_type, TensorProto.FLOAT16)
        self.assertFalse(edited.graph.output[0].HasField("type"))


if __name__ == "__main__":
    unittest.main()
