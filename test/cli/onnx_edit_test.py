"""`tenon onnx`: each verb that edits, against ONNX's own checker and evaluator."""
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from onnx_support import FLOAT, INT64, RANDOM, OnnxCase, classifier, integers, model_of, operators, tensor, value


class Graphs(OnnxCase):
    def test_extract(self):
        edited, _ = self.edit(classifier(), "extract=c:flat")
        self.assertEqual(operators(edited), ["Relu", "Reshape"])
        self.assertEqual([i.name for i in edited.graph.input], ["c"])
        self.assertEqual([t.name for t in edited.graph.initializer], ["shape"])
        onnx.save(classifier(), self.model)
        self.refuse("onnx", "extract=x,x:y", self.model, "-o", self.out, names=["'x' is named twice among the inputs"])
        self.refuse("onnx", "extract=w:y", self.model, "-o", self.out, names=["also need the input 'x'"])

    def test_fold(self):
        nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Gather", ["s", "zero"], ["n"]),
                 helper.make_node("Concat", ["n", "minus"], ["target"], axis=0),
                 helper.make_node("Reshape", ["x", "target"], ["flat"]),
                 helper.make_node("Transpose", ["w"], ["wt"], perm=[1, 0]), helper.make_node("Exp", ["wt"], ["e"]),
                 helper.make_node("MatMul", ["flat", "e"], ["y"])]
        model = model_of(nodes, [value("x", 2, 3, 4)], [value("y", 2, 5)],
                         [integers("zero", 0), integers("minus", -1), tensor("w", 5, 12)])
        edited, said = self.edit(model, "fold")
        self.assertEqual(operators(edited), ["Reshape", "MatMul"])
        self.assertEqual({t.name for t in edited.graph.initializer}, {"target", "e"})
        self.assertIn("5 nodes folded", said)
        self.assert_same(model, edited, x=RANDOM.standard_normal((2, 3, 4)).astype(np.float32))

    def test_fold_in_bodies(self):
        """What depends on constants of the graphs around, on extents, and in functions; not on what an iteration gives."""
        branch = helper.make_graph([helper.make_node("Shape", ["h"], ["extents"]), helper.make_node("Mul", ["extents", "twice"], ["e"]),
                                    helper.make_node("Cast", ["e"], ["f"], to=FLOAT), helper.make_node("Exp", ["w"], ["ew"]),
                                    helper.make_node("ReduceSum", ["f"], ["total"], keepdims=0), helper.make_node("Mul", ["h", "ew"], ["m"]),
                                    helper.make_node("Add", ["m", "total"], ["b"])], "then", [], [value("b", 3, 4)])
        other = helper.make_graph([helper.make_node("Constant", [], ["k"], value=tensor("k", 3, 4)), helper.make_node("Neg", ["k"], ["o"])],
                                  "else", [], [value("o", 3, 4)])
        call = helper.make_function("local", "Scaled", ["a"], ["z"],
                                    [helper.make_node("Constant", [], ["c"], value_float=2.0), helper.make_node("Sqrt", ["c"], ["d"]),
                                     helper.make_node("Constant", [], ["q"]), helper.make_node("Mul", ["a", "d"], ["g"]), helper.make_node("Mul", ["g", "q"], ["z"])],
                                    [helper.make_opsetid("", 17)], ["alpha"])
        given = onnx.AttributeProto(name="value_float", type=onnx.AttributeProto.FLOAT, ref_attr_name="alpha")
        call.node[2].attribute.append(given)
        nodes = [helper.make_node("Relu", ["x"], ["h"]), helper.make_node("If", ["flag"], ["t"], then_branch=branch, else_branch=other),
                 helper.make_node("Scaled", ["t"], ["y"], domain="local", alpha=3.0)]
        model = model_of(nodes, [value("x", 3, 4), value("flag", element=TensorProto.BOOL)], [value("y", 3, 4)],
                         [tensor("w", 4), integers("twice", 2)], functions=[call], opsets=[("local", 1)])
        edited, _ = self.edit(model, "fold")
        otherwise, then = (a.g for a in edited.graph.node[1].attribute)
        self.assertEqual([n.op_type for n in then.node], ["Mul", "Add"])
        self.assertEqual([n.op_type for n in otherwise.node], ["Identity"])
        self.assertEqual([n.op_type for n in edited.functions[0].node], ["Constant", "Constant", "Mul", "Mul"])
        x = RANDOM.standard_normal((3, 4)).astype(np.float32)
        for flag in (True, False):
            self.assert_same(model, edited, x=x, flag=np.array(flag))

    def test_shapes_in_bodies(self):
        """Types of what a body makes, also of values around it; a state whose extent grows has none."""
        body = helper.make_graph(
            [helper.make_node("Concat", ["s", "h"], ["s2"], axis=0), helper.make_node("MatMul", ["h", "w"], ["p"]),
             helper.make_node("Identity", ["c"], ["c2"]), helper.make_node("Tanh", ["p"], ["scan"]), helper.make_node("Neg", ["s2"], ["n"]),
             helper.make_node("Add", ["n", "n"], ["s3"])],
            "body", [value("i", element=INT64), value("c", element=TensorProto.BOOL), value("s", None, 4)],
            [value("c2", element=TensorProto.BOOL), value("s3", None, 4), value("scan", 3, 5)])
        nodes = [helper.make_node("Relu", ["x"], ["h"]), helper.make_node("Loop", ["trips", "", "x"], ["last", "y"], body=body)]
        model = model_of(nodes, [value("x", 3, 4)], [value("y", 2, 3, 5), value("last", None, 4)],
                         [tensor("w", 4, 5), numpy_helper.from_array(np.array(2), "trips")])
        edited, _ = self.edit(model, "infer-shapes")
        inner, = [a.g for n in edited.graph.node if n.op_type == "Loop" for a in n.attribute]
        types = {v.name: (v.type.tensor_type.elem_type, [d.dim_value if d.HasField("dim_value") else None for d in v.type.tensor_type.shape.dim])
                 for v in inner.value_info}
        self.assertEqual(types["p"], (FLOAT, [3, 5]))
        self.assertEqual(types["n"], (FLOAT, [None, 4]))

    def test_initializers_of_old_models_need_be_no_inputs(self):
        nodes = [helper.make_node("Exp", ["w"], ["e"]), helper.make_node("Add", ["x", "e"], ["y"])]
        w = numpy_helper.from_array(np.array([-0.5, 0.25, 1], np.float32), "w")
        model = model_of(nodes, [value("x", 2, 3), value("w", 3)], [value("y", 2, 3)], [w], opset=9, ir_version=3)
        edited, _ = self.edit(model, "fold")
        self.assertEqual(operators(edited), ["Add"])
        self.assertEqual(edited.ir_version, 4)
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        np.testing.assert_allclose(self.outputs(edited, x=x, w=numpy_helper.to_array(w))[0], x + np.exp(numpy_helper.to_array(w)), rtol=1e-6)

    def test_what_grows_stays(self):
        nodes = [helper.make_node("Expand", ["w", "shape"], ["big"]), helper.make_node("Add", ["x", "big"], ["y"])]
        model = model_of(nodes, [value("x", 1024, 4096)], [value("y", 1024, 4096)],
                         [tensor("w", 1, 1), integers("shape", 1024, 4096)])
        self.assertEqual(operators(self.edit(model, "fold=1")[0]), ["Expand", "Add"])
        self.assertEqual(operators(self.edit(model, "fold=16")[0]), ["Add"])

    def test_clean(self):
        nodes = [helper.make_node("Identity", ["x"], ["i"]), helper.make_node("Relu", ["i"], ["a"]),
                 helper.make_node("Relu", ["x"], ["b"]), helper.make_node("Sigmoid", ["x"], ["unused"]),
                 helper.make_node("Dropout", ["b"], ["d"]), helper.make_node("Mul", ["a", "w"], ["m"]),
                 helper.make_node("Mul", ["d", "v"], ["o"]), helper.make_node("Add", ["m", "o"], ["s"]),
                 helper.make_node("Identity", ["s"], ["y"])]
        w = tensor("w", 4)
        v = TensorProto()
        v.CopyFrom(w)
        v.name = "v"
        model = model_of(nodes, [value("x", 2, 4)], [value("y", 2, 4)], [w, v, tensor("nobody", 3)])
        edited, _ = self.edit(model, "clean")
        self.assertEqual(operators(edited), ["Relu", "Mul", "Add"])
        self.assertEqual(len(edited.graph.initializer), 1)
        self.assert_same(model, edited, x=RANDOM.standard_normal((2, 4)).astype(np.float32))

    def test_dynamic_batch_follows_into_reshape(self):
        edited, said = self.edit(classifier(), "set-batch=N")
        self.assertIn("1 constants", said)
        self.assertEqual(edited.graph.input[0].type.tensor_type.shape.dim[0].dim_param, "N")
        self.assertEqual(edited.graph.output[0].type.tensor_type.shape.dim[0].dim_param, "N")
        x = RANDOM.standard_normal((3, 3, 8, 8)).astype(np.float32)
        batch, = self.outputs(edited, x=x)
        for i in range(3):
            expected, = self.outputs(onnx.load(self.model), x=x[i:i + 1])
            np.testing.assert_allclose(batch[i:i + 1], expected, rtol=1e-5, atol=1e-5)

    def test_dynamic_batch_follows_through_many(self):
        """Each Reshape can only follow once those before it have."""
        nodes = [helper.make_node("Reshape", [f"x{i}" if i else "x", f"s{i % 2}"], [f"x{i + 1}"]) for i in range(20)]
        nodes.append(helper.make_node("Relu", ["x20"], ["y"]))
        model = model_of(nodes, [value("x", 2, 12)], [value("y", 2, 12)], [integers("s0", 2, 3, 4), integers("s1", 2, 12)])
        edited, said = self.edit(model, "set-batch=N")
        self.assertIn("20 constants", said)
        x = RANDOM.standard_normal((5, 12)).astype(np.float32)
        np.testing.assert_array_equal(self.outputs(edited, x=x)[0], np.maximum(x, 0))

    def test_static_again(self):
        dynamic, _ = self.edit(classifier(), "set-dims=x:N,3,8,8")
        static, _ = self.edit(dynamic, "set-dim=N:4")
        self.assertEqual([d.dim_value for d in static.graph.input[0].type.tensor_type.shape.dim], [4, 3, 8, 8])
        self.assertEqual([d.dim_value for d in static.graph.output[0].type.tensor_type.shape.dim], [4, 5])
        onnx.save(classifier(), self.model)
        self.refuse("onnx", "set-dims=x:1,3,9,8", self.model, "-o", self.folder / "no.onnx", names=["does not work with these shapes"])
        self.refuse("onnx", "set-dims=z:1", self.model, "-o", self.folder / "no.onnx", names=["no input 'z'"])
        self.refuse("onnx", "set-dims=x:1,3", self.model, "-o", self.folder / "no.onnx", names=["4 dimensions; 2"])

    def test_a_batch_that_the_model_needs(self):
        """What does not follow shows at other batches."""
        ones = numpy_helper.from_array(np.ones((1, 3), np.float32), "w")
        for nodes, batch, rest, parts, names in (
                ([helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]), helper.make_node("Reshape", ["t", "s"], ["y"])], 4, [4],
                 [integers("s", 2, 8)], ["Reshape"]),
                ([helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]), helper.make_node("Reshape", ["t", "s"], ["y"])], 1, [4],
                 [integers("s", 1, -1)], ["'y'"]),
                ([helper.make_node("Tile", ["w", "r"], ["t"]), helper.make_node("Add", ["x", "t"], ["y"])], 2, [3],
                 [ones, integers("r", 2, 1)], ["Add"]),
                ([helper.make_node("ConstantOfShape", ["s"], ["z"]), helper.make_node("Concat", ["x", "z"], ["y"], axis=1)], 1, [3],
                 [integers("s", 1, 3)], ["Concat"])):
            onnx.save(model_of(nodes, [value("x", batch, *rest)], [value("y", None, None)], parts), self.model)
            with self.subTest(operator=nodes[0].op_type, batch=batch):
                for extent in ("N", "?"):
                    self.refuse("onnx", f"set-batch={extent}", self.model, "-o", self.out, names=["does not work with", *names])
        onnx.save(classifier(), self.model)
        self.refuse("onnx", "set-batch=-2", self.model, "-o", self.out, names=["'-2' is no extent"])

    def test_shapes_inside(self):
        """What lies in branches does not follow, and is refused; what they declare follows. What lies in functions follows in the main graph."""
        steps = lambda p: [helper.make_node("Constant", [], [p + "s"], value_ints=[2, -1]), helper.make_node("Reshape", ["x", p + "s"], [p + "r"], p + "fixed"),
                           helper.make_node("Flatten", [p + "r"], [p + "o"])]
        free = lambda p: [helper.make_node("Relu", ["x"], [p + "m"]), helper.make_node("Reshape", ["w", "two"], [p + "w"]),
                          helper.make_node("MatMul", [p + "m", p + "w"], [p + "o"])]
        condition = value("c", element=TensorProto.BOOL)

        def branching(nodes):
            branches = [helper.make_graph(nodes(p), p, [], [value(p + "o", 2, 4)], value_info=[value(p + "m", 2, 4)]) for p in "ab"]
            return model_of([helper.make_node("If", ["c"], ["y"], then_branch=branches[0], else_branch=branches[1])], [value("x", 2, 4), condition],
                            [value("y", 2, 4)], [tensor("w", 2, 8), integers("two", 4, 4)])
        onnx.save(branching(steps), self.model)
        for verb in "set-batch=N", "set-dims=x:6,4":
            self.refuse("onnx", verb, self.model, "-o", self.out, names=["fixed", "[2,-1]", "inline"])
        opset, x = [helper.make_opsetid("", 17)], RANDOM.standard_normal((6, 4)).astype(np.float32)
        reshape = helper.make_node("Reshape", ["x", "s"], ["o"])
        target = [helper.make_node("Constant", [], ["two"], value_ints=[2]), helper.make_node("Constant", [], ["four"], value_ints=[4]),
                  helper.make_node("Concat", ["two", "four"], ["s"], axis=0)]
        call = lambda *inputs: helper.make_node("F", inputs, ["y"], domain="local")
        for nodes, function in (
                ([call("x")], helper.make_function("local", "F", ["x"], ["o"], steps(""), opset)),
                ([call("x", "two_four")], helper.make_function("local", "F", ["x", "s"], ["o"], [reshape], opset)),
                ([call("x")], helper.make_function("local", "F", ["x"], ["o"], [*target, reshape], opset)),
                ([helper.make_node("F", [], ["s"], domain="local"), helper.make_node("Reshape", ["x", "s"], ["y"])],
                 helper.make_function("local", "F", [], ["s"], target, opset))):
            calling = model_of(nodes, [value("x", 2, 4)], [value("y", 2, 4)], [integers("two_four", 2, 4)], functions=[function],
                               opsets=[("local", 1)])
            for verb in "set-batch=N", "set-dims=x:6,4":
                with self.subTest(verb, nodes=operators(calling), inside=[node.op_type for node in function.node]):
                    edited, said = self.edit(calling, verb)
                    self.assertIn("1 constants", said)
                    np.testing.assert_array_equal(self.outputs(edited, x=x)[0], x)
            half, _ = self.edit(calling, "float16")
            np.testing.assert_allclose(self.outputs(half, x=x[:2])[0], x[:2], rtol=1e-3)
        for verb in "set-batch=N", "set-dims=x:6,4":
            edited, _ = self.edit(branching(free), verb)
            for branch in edited.graph.node[0].attribute:
                self.assertNotEqual(branch.g.output[0].type.tensor_type.shape.dim[0].dim_value, 2)
                self.assertEqual(branch.g.output[0].type.tensor_type.shape.dim[1].dim_value, 4)
            x = RANDOM.standard_normal((6, 4)).astype(np.float32)
            self.assertEqual(self.outputs(edited, x=x, c=np.array(True))[0].shape, (6, 4))

    def test_delete_and_swap(self):
        edited, _ = self.edit(classifier(), "delete=relu", "swap=head:my::Head,size=3,scales=[0.5;1.5],name=abc", check=False)
        self.assertEqual(operators(edited), ["Conv", "Reshape", "Head"])
        self.assertEqual(edited.graph.node[1].input[0], "c")
        head = edited.graph.node[2]
        self.assertEqual({a.name: helper.get_attribute_value(a) for a in head.attribute}, {"size": 3, "scales": [0.5, 1.5], "name": b"abc"})
        self.assertIn("my", {o.domain for o in edited.opset_import})

    def test_one_node_for_several(self):
        edited, _ = self.edit(classifier(), "replace=x:flat:my::Features,depth=4", check=False)
        self.assertEqual(operators(edited), ["Features", "MatMul"])
        self.assertEqual([t.name for t in edited.graph.initializer], ["m"])
        onnx.save(classifier(), self.model)
        self.refuse("onnx", "replace=c:y:Foo", self.model, "extract=r", "-o", self.folder / "no.onnx", names=["no tensor 'r'"])

    def test_shapes_behind_a_custom_operator(self):
        nodes = [helper.make_node("Mystery", ["x"], ["a"], domain="my"), helper.make_node("Relu", ["a"], ["r"]),
                 helper.make_node("Transpose", ["r"], ["y"], perm=[0, 2, 1])]
        model = model_of(nodes, [value("x", 2, 3)], [value("y", None, None, None)], opsets=[("my", 1)])
        model.graph.value_info.append(value("a", 2, 7, 5))
        edited, _ = self.edit(model, "infer-shapes", check=False)
        found = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in [*edited.graph.value_info, *edited.graph.output]}
        self.assertEqual(found["r"], [2, 7, 5])
        self.assertEqual(found["y"], [2, 5, 7])

    def test_constants(self):
        model = classifier()
        b = np.arange(4, dtype=np.float32)
        np.savez(self.folder / "b.npz", b=b)
        edited, _ = self.edit(model, f"set-constant=b:{self.folder}/b.npz")
        np.testing.assert_array_equal(numpy_helper.to_array({t.name: t for t in edited.graph.initializer}["b"]), b)

    def test_conditions(self):
        then = helper.make_graph([helper.make_node("Relu", ["a"], ["t"])], "then", [], [value("t", 2, 3)])
        other = helper.make_graph([helper.make_node("Mul", ["a", "k"], ["t"])], "else", [], [value("t", 2, 3)], [tensor("k", 3)])
        nodes = [helper.make_node("Abs", ["x"], ["a"]), helper.make_node("Shape", ["x"], ["s"]),
                 helper.make_node("Gather", ["s", "one"], ["n"]), helper.make_node("Equal", ["n", "three"], ["same"]),
                 helper.make_node("Not", ["same"], ["c"]),
                 helper.make_node("If", ["c"], ["z"], then_branch=then, else_branch=other), helper.make_node("Neg", ["z"], ["y"])]
        model = model_of(nodes, [value("x", 2, 3)], [value("y", 2, 3)], [numpy_helper.from_array(np.array(1), "one"),
                                                                         numpy_helper.from_array(np.array(3), "three")])
        edited, said = self.edit(model, "resolve-if")
        self.assertEqual(operators(edited), ["Abs", "Mul", "Neg"], said)
        self.assert_same(model, edited, x=RANDOM.standard_normal((2, 3)).astype(np.float32))

    def test_functions(self):
        inner = helper.make_function("my", "Inner", ["a"], ["b"], [helper.make_node("Elu", ["a"], ["b"])], [helper.make_opsetid("", 17)])
        elu = helper.make_node("LeakyRelu", ["t"], ["u"])
        elu.attribute.append(onnx.AttributeProto(name="alpha", type=onnx.AttributeProto.FLOAT, ref_attr_name="slope"))
        outer = helper.make_function("my", "Outer", ["a", "w"], ["o"], [
            helper.make_node("Inner", ["a"], ["t"], domain="my"), elu, helper.make_node("Mul", ["u", "w"], ["o"])],
            [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)], ["slope"])
        nodes = [helper.make_node("Outer", ["x", "w"], ["p"], "first", domain="my", slope=0.3),
                 helper.make_node("Outer", ["p", "w"], ["y"], "second", domain="my", slope=0.1)]
        model = model_of(nodes, [value("x", 2, 3)], [value("y", 2, 3)], [tensor("w", 3)], functions=[inner, outer], opsets=[("my", 1)])
        edited, _ = self.edit(model, "inline")
        self.assertEqual(operators(edited), ["Elu", "LeakyRelu", "Mul"] * 2)
        self.assertEqual(len(edited.functions), 0)
        x = RANDOM.standard_normal((2, 3)).astype(np.float32)
        w, expected = numpy_helper.to_array(model.graph.initializer[0]), x
        for slope in (0.3, 0.1):
            expected = np.where(expected > 0, expected, slope * np.expm1(expected)) * w
        np.testing.assert_allclose(self.outputs(edited, x=x)[0], expected, rtol=1e-5, atol=1e-6)
        inner.node[0].op_type, inner.node[0].domain = "Outer", "my"
        onnx.save(model_of(nodes, [value("x", 2, 3)], [value("y", 2, 3)], [tensor("w", 3)], functions=[inner, outer],
                           opsets=[("my", 1)]), self.model)
        self.refuse("onnx", "inline", self.model, "-o", self.folder / "no.onnx", names=["calls itself"])

    def test_conditions_in_functions(self):
        """Nodes of functions are another field than those of graphs, and they have no initializers."""
        then = helper.make_graph([helper.make_node("Mul", ["a", "k"], ["t"])], "then", [], [value("t", 2, 3)], [tensor("k", 3)])
        other = helper.make_graph([helper.make_node("Neg", ["a"], ["e"])], "else", [], [value("e", 2, 3)])
        function = helper.make_function("my", "F", ["a"], ["b"], [
            helper.make_node("Constant", [], ["c"], value=helper.make_tensor("v", TensorProto.BOOL, [], [True])),
            helper.make_node("If", ["c"], ["b"], then_branch=then, else_branch=other)], [helper.make_opsetid("", 17)])
        model = model_of([helper.make_node("F", ["x"], ["y"], domain="my")], [value("x", 2, 3)], [value("y", 2, 3)],
                         functions=[function], opsets=[("my", 1)])
        edited, _ = self.edit(model, "resolve-if")
        self.assertEqual(edited.functions[0].name, "F")
        self.assertNotIn("If", [node.op_type for node in edited.functions[0].node])
        self.assert_same(model, edited, x=RANDOM.standard_normal((2, 3)).astype(np.float32))

    def test_append_and_prepend(self):
        before = model_of([helper.make_node("Mul", ["raw", "w"], ["scaled"], "scale")], [value("raw", 1, 3, 8, 8)],
                          [value("scaled", 1, 3, 8, 8)], [tensor("w", 1)])
        behind = model_of([helper.make_node("Softmax", ["y"], ["p"], "soft", axis=-1)], [value("y", 1, 5)], [value("p", 1, 5)])
        onnx.save(before, self.folder / "before.onnx")
        onnx.save(behind, self.folder / "behind.onnx")
        model = classifier()
        edited, _ = self.edit(model, f"prepend={self.folder}/before.onnx:scaled=x:pre_", f"append={self.folder}/behind.onnx:y=y:post/")
        self.assertEqual(operators(edited), ["Mul", "Conv", "Relu", "Reshape", "MatMul", "Softmax"])
        self.assertEqual([i.name for i in edited.graph.input], ["pre_raw"])
        self.assertEqual([o.name for o in edited.graph.output], ["post/p"])
        raw = RANDOM.standard_normal((1, 3, 8, 8)).astype(np.float32)
        x, = self.outputs(before, raw=raw)
        y, = self.outputs(model, x=x)
        expected, = self.outputs(behind, y=y)
        found, = self.outputs(edited, pre_raw=raw)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
        self.refuse("onnx", f"append={self.folder}/before.onnx:y=raw:a_", self.model, "-o", self.folder / "no.onnx", names=[r"float32\[1,5\]"])

    def test_sparse_initializers_go_along(self):
        sparse = onnx.SparseTensorProto(values=numpy_helper.from_array(np.array([5], np.float32), "w"),
                                        indices=integers("", 1), dims=[3])
        behind = model_of([helper.make_node("Add", ["p", "w"], ["q"], "add")], [value("p", 1, 5)], [value("q", 1, 5)])
        sparse.dims[0] = 5
        behind.graph.sparse_initializer.append(sparse)
        onnx.save(behind, self.folder / "behind.onnx")
        edited, _ = self.edit(classifier(), f"append={self.folder}/behind.onnx:y=p:post/", check=False)
        self.assertEqual(edited.graph.sparse_initializer[0].values.name, "post/w")
        self.assertEqual(edited.graph.node[-1].input[1], "post/w")

    def test_names_in_quotes(self):
        nodes = [helper.make_node("Relu", ["in:0"], ["a,b"], "scope:relu"), helper.make_node("Neg", ["a,b"], ["out:0"], "neg")]
        model = model_of(nodes, [value("in:0", 2, 3)], [value("out:0", 2, 3)])
        edited, _ = self.edit(model, "extract='in:0':'a,b'", "rename='a,b':'c:1'", check=False)
        self.assertEqual([o.name for o in edited.graph.output], ["c:1"])
        edited, _ = self.edit(model, "swap='scope:relu':my::Head,text='a,b',info={\"alpha\": 0.5}", "set-attribute='scope:relu':size=3", check=False)
        self.assertEqual({a.name: helper.get_attribute_value(a) for a in edited.graph.node[0].attribute},
                         {"text": b"a,b", "info": b'{"alpha": 0.5}', "size": 3})
        edited, _ = self.edit(model, "replace='in:0':'out:0':my::All", check=False)
        self.assertEqual(operators(edited), ["All"])
        behind = model_of([helper.make_node("Abs", ["p:0"], ["q"])], [value("p:0", 2, 3)], [value("q", 2, 3)])
        onnx.save(behind, self.folder / "behind.onnx")
        edited, _ = self.edit(model, f"append={self.folder}/behind.onnx:'out:0'='p:0'")
        self.assertEqual(operators(edited), ["Relu", "Neg", "Abs"])
        self.refuse("onnx", "extract=in:0:out:0", self.model, "-o", self.folder / "no.onnx", names=["quotes"])

    def test_data_of_another_model_comes_along(self):
        """Of a Constant, of a body's initializer and Constant; what no tensor of the model is, is refused."""
        folder = self.folder / "other"
        folder.mkdir()
        values = RANDOM.standard_normal(3).astype(np.float32)
        (folder / "w.bin").write_bytes(values.tobytes())

        def far(name):
            made = TensorProto(name=name, data_type=FLOAT, dims=[3], data_location=TensorProto.EXTERNAL)
            made.external_data.add(key="location", value="w.bin")
            return made
        branch = helper.make_graph([helper.make_node("Constant", [], ["t"], value=far("v")), helper.make_node("Add", ["t", "i"], ["s"])], "b", [],
                                   [value("s", 3)], [far("i")])
        nodes = [helper.make_node("Constant", [], ["k"], value=far("v")), helper.make_node("Mul", ["r", "k"], ["m"]),
                 helper.make_node("If", ["c"], ["z"], then_branch=branch, else_branch=branch), helper.make_node("Add", ["m", "z"], ["y"])]
        second = model_of(nodes, [value("r", 3), value("c", element=TensorProto.BOOL)], [value("y", 3)])
        (folder / "second.onnx").write_bytes(second.SerializeToString())
        first = model_of([helper.make_node("Relu", ["x"], ["r"])], [value("x", 3)], [value("r", 3)])
        edited, _ = self.edit(first, f"append={folder / 'second.onnx'}:r=r")
        x = np.array([-1, 2, 3], np.float32)
        np.testing.assert_allclose(self.outputs(edited, x=x, c=np.array(True))[0], np.maximum(x, 0) * values + 2 * values, rtol=1e-6)
        plugin = model_of([helper.make_node("Mine", ["r"], ["y"], "mine", domain="my", table=far("v"))], [value("r", 3)], [value("y", 3)], opsets=[("my", 1)])
        (folder / "second.onnx").write_bytes(plugin.SerializeToString())
        self.refuse("onnx", f"append={folder / 'second.onnx'}:r=r", self.model, "-o", self.folder / "no.onnx",
                    names=["node 'mine'", "attribute 'table' lies in a file"])


if __name__ == "__main__":
    unittest.main()
