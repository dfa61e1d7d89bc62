"""`tenon onnx fold clean`: nodes without effect, and what becomes part of convolutions, against ONNX's own evaluator."""
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from onnx_support import FLOAT, INT64, RANDOM, OnnxCase, integers, model_of, operators, tensor, value

IMAGE = (2, 3, 9, 8)


def node(op, inputs, outputs="y", **attributes):
    return helper.make_node(op, inputs.split(","), outputs.split(","), **attributes)


def scalar(name, number):
    return numpy_helper.from_array(np.float32(number), name)


# (name, nodes behind `Relu(x) = r`, constants, operators that are left); what is unknown at its end is y.
WITHOUT_EFFECT = [
    ("cast to the same type", [node("Cast", "r", to=FLOAT)], [], []),
    ("cast to another type", [node("Cast", "r", "d", to=TensorProto.INT32), node("Cast", "d", to=FLOAT)], [], ["Cast", "Cast"]),
    ("concat of one", [node("Concat", "r", "c", axis=1), node("Sum", "c")], [], []),
    ("the same shape", [node("Reshape", "r,s", "a"), node("Expand", "a,e", "b"), node("Tile", "b,t")],
     [integers("s", 2, 3, 9, 8), integers("e", 1, 1, 9, 1), integers("t", 1, 1, 1, 1)], []),
    ("another shape", [node("Tile", "r,t")], [integers("t", 1, 1, 2, 1)], ["Tile"]),
    ("whole slice", [node("Slice", "r,b,e,a,s")], [integers("b", 0), integers("e", 100), integers("a", 2), integers("s", 1)], []),
    ("slice backwards", [node("Slice", "r,b,e,a,s")], [integers("b", -1), integers("e", -100), integers("a", 2), integers("s", -1)], ["Slice"]),
    ("no pads", [node("Pad", "r,p")], [integers("p", *[0] * 8)], []),
    ("pads that shift", [node("Pad", "r,p")], [integers("p", 0, 0, 1, 0, 0, 0, -1, 0)], ["Pad"]),
    ("the same size", [node("Resize", "r,,s", mode="linear")], [numpy_helper.from_array(np.ones(4, np.float32), "s")], []),
    ("the same size by a factor", [node("Resize", "r,,s", mode="linear", coordinate_transformation_mode="asymmetric")],
     [numpy_helper.from_array(np.float32([1, 1, 1.1, 1.1]), "s")], ["Resize"]),
    ("factors of one", [node("Mul", "r,k", "a"), node("Div", "a,k")], [scalar("k", 1)], []),
    ("a factor that adds axes", [node("Mul", "r,k")], [numpy_helper.from_array(np.ones((1,) * 5, np.float32), "k")], ["Mul"]),
    ("there and back", [node("Unsqueeze", "r,a", "b"), node("Squeeze", "b,a")], [integers("a", 1)], []),
    ("two transposes", [node("Transpose", "r", "a", perm=[0, 2, 3, 1]), node("Transpose", "a", perm=[0, 3, 1, 2])], [], []),
    ("two transposes are one", [node("Transpose", "r", "a", perm=[0, 2, 3, 1]), node("Transpose", "a", perm=[1, 0, 2, 3])], [], ["Transpose"]),
    ("two reshapes are one", [node("Flatten", "r", "a"), node("Reshape", "a,s")], [integers("s", 3, -1)], ["Reshape"]),
    ("a reshape that keeps an extent", [node("Reshape", "r,f", "a"), node("Reshape", "a,s")],
     [integers("f", 6, 72), integers("s", 0, -1, 2)], ["Reshape", "Reshape"]),
    ("two unsqueezes are one", [node("Unsqueeze", "r,a", "b"), node("Unsqueeze", "b,c")], [integers("a", -1, 1), integers("c", 0, 3)], ["Unsqueeze"]),
    ("two slices are one", [node("Slice", "r,a,e,d", "b"), node("Slice", "b,c,e,f,g")],
     [integers("a", 1), integers("e", 8), integers("d", -2), integers("c", -2), integers("f", 3), integers("g", 2)], ["Slice"]),
    ("two slices of one axis", [node("Slice", "r,a,e,d", "b"), node("Slice", "b,a,e,d")], [integers("a", 1), integers("e", 8), integers("d", 2)],
     ["Slice", "Slice"]),
    ("a reduction that keeps its axes", [node("ReduceSum", "r,a", "b", keepdims=0), node("Unsqueeze", "b,c")],
     [integers("a", 1, -1), integers("c", 3, 1)], ["ReduceSum"]),
    ("axes of an attribute", [node("ReduceMax", "r", "b", keepdims=0, axes=[1]), node("Unsqueeze", "b,a")], [integers("a", 1)], ["ReduceMax"]),
    ("a reduction with an axis elsewhere", [node("ReduceMax", "r", "b", keepdims=0, axes=[1]), node("Unsqueeze", "b,a")], [integers("a", 2)],
     ["ReduceMax", "Unsqueeze"]),
]
NOT_EVALUATED = {"pads that shift"}  # by ONNX's evaluator, whose Pad takes nothing away


def norm(channels):
    return [numpy_helper.from_array(RANDOM.uniform(0.5, 2, channels).astype(np.float32), name) for name in ("ns", "nb", "nm", "nv")]


CONV = [tensor("w", 4, 3, 3, 3), tensor("b", 4)]
# (name, nodes from x, constants, operators that are left)
INTO_WEIGHTS = [
    ("norm", [node("Conv", "x,w", "c"), node("BatchNormalization", "c,ns,nb,nm,nv", epsilon=0.01)], norm(4), ["Conv"]),
    ("factors and addends", [node("Conv", "x,w,b", "c"), node("Mul", "k,c", "m"), node("Add", "m,t", "a"), node("Sub", "a,u", "s"),
                             node("Div", "s,v")], [tensor("k", 4, 1, 1), tensor("t", 1, 4, 1, 1), scalar("u", 0.5), scalar("v", 3)], ["Conv"]),
    ("transposed", [node("ConvTranspose", "x,wt", "c", strides=[2, 1]), node("BatchNormalization", "c,ns,nb,nm,nv", "n"), node("Mul", "n,k")],
     [*norm(5), tensor("wt", 3, 5, 2, 3), tensor("k", 5, 1, 1)], ["ConvTranspose"]),
    ("transposed in groups", [node("ConvTranspose", "x,wt", "c", group=3), node("Mul", "c,k")], [tensor("wt", 3, 1, 2, 3), scalar("k", 2)],
     ["ConvTranspose", "Mul"]),
    ("factors of pixels", [node("Conv", "x,w,b", "c"), node("Mul", "c,k")], [tensor("k", 6)], ["Conv", "Mul"]),
    ("other readers", [node("Conv", "x,w,b", "c"), node("Mul", "c,k", "m"), node("Add", "c,m")], [scalar("k", 2)], ["Conv", "Mul", "Add"]),
    ("no finite weights", [node("Conv", "x,w", "c"), node("Div", "c,k")], [scalar("k", 0)], ["Conv", "Div"]),
    ("zeros around", [node("Pad", "x,p", "q"), node("Conv", "q,w", strides=[2, 2], pads=[1, 0, 0, 1])],
     [integers("p", 0, 0, 1, 2, 0, 0, 0, 1)], ["Conv"]),
    ("ones around", [node("Pad", "x,p,k", "q"), node("Conv", "q,w")], [integers("p", 0, 0, 1, 1, 0, 0, 1, 1), scalar("k", 1)], ["Pad", "Conv"]),
    ("more channels", [node("Pad", "z,p", "q"), node("Conv", "q,w")], [integers("p", 0, 1, 0, 0, 0, 0, 0, 0)], ["Pad", "Conv"]),
]


class Simplify(OnnxCase):
    def check(self, words, nodes, constants, left, evaluates=True, **shapes):
        inputs = [value(name, *shape) for name, shape in shapes.items()]
        model = model_of(nodes, inputs, [helper.make_tensor_value_info("y", FLOAT, None)], constants)
        edited, _ = self.edit(model, *words, check=False)
        self.assertEqual(operators(edited), left)
        if not evaluates:
            return
        with np.errstate(divide="ignore"):
            self.assert_same(model, edited, **{name: RANDOM.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()})

    def test_nodes_without_effect(self):
        for name, nodes, constants, left in WITHOUT_EFFECT:
            with self.subTest(name):
                self.check(["clean"], [node("Relu", "x", "r"), *nodes], constants, ["Relu", *left], name not in NOT_EVALUATED, x=IMAGE)

    def test_what_becomes_part_of_convolutions(self):
        for name, nodes, constants, left in INTO_WEIGHTS:
            with self.subTest(name):
                used = {each for n in nodes for each in n.input}
                shapes = {"x": IMAGE} if "x" in used else {"z": (2, 2, 9, 8)}
                self.check(["fold"], nodes, [*constants, *(t for t in CONV if t.name in used)], left, **shapes)

    def test_names_of_extents_that_are_the_same(self):
        """Open extents are the same where they have one name."""
        nodes = [node("Relu", "x", "r"), node("Shape", "r", "s"), node("Reshape", "r,s", "a"), node("Expand", "a,o", "b"), node("Reshape", "b,f")]
        model = model_of(nodes, [value("x", "N", 4)], [value("y", None, None)], [integers("o", 1, 4), integers("f", -1, 2)])
        edited, _ = self.edit(model, "clean")
        self.assertEqual(operators(edited), ["Relu", "Reshape"])
        self.assert_same(model, edited, x=RANDOM.standard_normal((3, 4)).astype(np.float32))

    def test_shapes_of_open_extents(self):
        """One that is computed of them is a constant where all but one element follow from the data or are numbers."""
        for shape, left in ((["n", "minus"], ["Relu", "Reshape"]), (["n", "four", "c"], ["Relu", "Reshape"]),
                            (["n", "c", "four"], ["Relu", "Reshape"]), (["minus", "n"], None), (["c", "n", "four"], None)):
            nodes = [node("Relu", "x", "r"), node("Shape", "r", "s"), node("Gather", "s,zero", "n"), node("Gather", "s,one", "c"),
                     helper.make_node("Concat", shape, ["t"], axis=0), node("Reshape", "r,t")]
            model = model_of(nodes, [value("x", "N", "C", 4)], [value("y", *[None] * len(shape))],
                             [integers("zero", 0), integers("one", 1), integers("minus", -1), integers("four", 4)])
            with self.subTest(shape):
                edited, _ = self.edit(model, "fold", check=False)
                if left is not None:
                    self.assertEqual(operators(edited), left)
                self.assertEqual("Shape" in operators(edited), left is None)
                for batch in (1, 3):
                    self.assert_same(model, edited, x=RANDOM.standard_normal((batch, 2, 4)).astype(np.float32))

    def test_constants_are_initializers(self):
        """Of graphs, bodies included; functions have none, and an output of the graph needs a node."""
        constant = lambda name: helper.make_node("Constant", [], [name], value=tensor("of_the_attribute", 3))
        branch = helper.make_graph([constant("t"), node("Add", "t,r", "z")], "b", [], [value("z", 3)])
        function = helper.make_function("my", "F", ["a"], ["z"], [constant("c"), node("Add", "a,c", "z")], [helper.make_opsetid("", 17)])
        nodes = [helper.make_node("Constant", [], ["two"], value_float=2.0), constant("k"), node("Mul", "x,two", "m"), node("Add", "m,k", "r"),
                 helper.make_node("F", ["r"], ["f"], domain="my"), helper.make_node("If", ["q"], ["i"], then_branch=branch, else_branch=branch),
                 node("Add", "f,i"), helper.make_node("Constant", [], ["seven"], value_int=7)]
        model = model_of(nodes, [value("x", 3), value("q", element=TensorProto.BOOL)], [value("y", 3), value("seven", element=INT64)],
                         functions=[function], opsets=[("my", 1)])
        edited, _ = self.edit(model, "fold")
        self.assertEqual(operators(edited), ["Mul", "Add", "F", "If", "Add", "Constant"])
        self.assertEqual({t.name for t in edited.graph.initializer}, {"two", "k"})
        self.assertEqual(operators(edited.functions and helper.make_model(helper.make_graph(edited.functions[0].node, "f", [], []))), ["Constant", "Add"])
        self.assertEqual([n.op_type for n in edited.graph.node[3].attribute[0].g.node], ["Add"])
        self.assert_same(model, edited, x=np.float32([1, 2, 3]), q=np.array(True))

    def test_attributes_that_calls_of_a_function_give(self):
        """They have no value in the function, and no default holds."""
        def given(each, name, kind):
            each.attribute.append(onnx.AttributeProto(name=name, ref_attr_name=name, type=kind))
            return each

        norm_node = given(node("BatchNormalization", "c,s,s,s,s", "z"), "epsilon", onnx.AttributeProto.FLOAT)
        branch = helper.make_graph([node("Conv", "a,w", "c"), norm_node], "b", [], [value("z", 1, 4, 7, 6)])
        nodes = [helper.make_node("Constant", [], ["w"], value=tensor("w", 4, 3, 3, 3)), helper.make_node("Constant", [], ["s"], value=norm(4)[0]),
                 helper.make_node("If", ["q"], ["i"], then_branch=branch, else_branch=branch),
                 given(node("Transpose", "i", "t"), "perm", onnx.AttributeProto.INTS), node("Transpose", "t", "o", perm=[0, 1, 3, 2])]
        function = helper.make_function("my", "F", ["a", "q"], ["o"], nodes, [helper.make_opsetid("", 17)], attributes=["epsilon", "perm"])
        model = model_of([node("F", "x,q", domain="my", epsilon=3.0, perm=[0, 1, 3, 2])], [value("x", 1, *IMAGE[1:]), value("q", element=TensorProto.BOOL)],
                         [value("y", 1, 4, 7, 6)], functions=[function], opsets=[("my", 1)])
        edited, _ = self.edit(model, "fold", "clean")
        self.assertEqual([n.op_type for n in edited.functions[0].node], ["Constant", "Constant", "If", "Transpose", "Transpose"])
        self.assert_same(model, edited, x=RANDOM.standard_normal((1, *IMAGE[1:])).astype(np.float32), q=np.array(True))


if __name__ == "__main__":
    unittest.main()
