"""`tenon onnx`: each verb, against ONNX's own checker and evaluator."""
import json
import os
import re
import shlex
import subprocess
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from opset_cases import CASES, model_of as lowered_model
from support import MLP, RESNET, SOURCE, SRCNN, TENON, TIME_LIMIT, CliTest, run

NOT_EVALUATED = {"batch_norm", "resize_up", "resize_sizes", "resize_linear", "scatter"}  # by ONNX's evaluator in the lower opset
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
RANDOM = np.random.default_rng(1)


def tensor(name, *shape, scale=0.3):
    return numpy_helper.from_array((scale * RANDOM.standard_normal(shape)).astype(np.float32), name)


def integers(name, *values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def value(name, *shape, element=FLOAT):
    return helper.make_tensor_value_info(name, element, shape)


def model_of(nodes, inputs, outputs, initializers=(), opset=17, functions=(), opsets=(), ir_version=8):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(*each) for each in opsets)]
    return helper.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=ir_version)


def classifier(batch=1):
    """A static batch, which the shape of the Reshape holds, too."""
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], "conv", kernel_shape=[3, 3]),
             helper.make_node("Relu", ["c"], ["r"], "relu"),
             helper.make_node("Reshape", ["r", "shape"], ["flat"], "reshape"),
             helper.make_node("MatMul", ["flat", "m"], ["y"], "head")]
    return model_of(nodes, [value("x", batch, 3, 8, 8)], [value("y", batch, 5)],
                    [tensor("w", 4, 3, 3, 3), tensor("b", 4), integers("shape", batch, -1), tensor("m", 144, 5)])


class OnnxCase(CliTest):
    def setUp(self):
        super().setUp()
        self.model, self.out = self.folder / "m.onnx", self.folder / "out.onnx"

    def edit(self, model, *words, check=True):
        """The model after the verbs, and what they printed."""
        if isinstance(model, onnx.ModelProto):
            onnx.save(model, self.model)
            model = self.model
        said = self.succeed("onnx", *words, model, "-o", self.out)
        edited = onnx.load(self.out)
        if check:
            onnx.checker.check_model(edited, full_check=True)
        return edited, said

    def outputs(self, model, **inputs):
        return ReferenceEvaluator(model).run(None, inputs)

    def assert_same(self, before, after, tolerance=1e-5, **inputs):
        for expected, found in zip(self.outputs(before, **inputs), self.outputs(after, **inputs), strict=True):
            np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def operators(model):
    return [node.op_type for node in model.graph.node]


class Files(OnnxCase):
    def test_an_untouched_model_is_the_same_file(self):
        for path in (MLP / "model.onnx", RESNET / "model.onnx", SRCNN):
            self.edit(path, "show", check=False)
            self.assertEqual(self.out.read_bytes(), path.read_bytes())

    def test_pipes(self):
        onnx.save(classifier(), self.model)
        first = subprocess.run([TENON, "onnx", "rename=r:activations", "-", "-o", "-"], input=self.model.read_bytes(),
                               capture_output=True, timeout=TIME_LIMIT, check=True)
        second = subprocess.run([TENON, "onnx", "show", "-"], input=first.stdout, capture_output=True, timeout=TIME_LIMIT, check=True)
        self.assertIn(b"activations", second.stdout)

    @unittest.skipIf(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") < 4 << 30, "needs 3 GiB of memory")
    def test_a_pipe_without_end(self):
        with open("/dev/zero", "rb") as zeros:
            done = subprocess.run([TENON, "onnx", "show", "-"], stdin=zeros, capture_output=True, timeout=TIME_LIMIT)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"2 GiB", done.stderr + done.stdout)

    def test_show(self):
        onnx.save(classifier(), self.model)
        text = self.succeed("onnx", "show=shapes", self.model)
        self.assertRegex(text, r"Conv 'conv' \(x, w, b\) -> c  kernel_shape=\[3,3\]  float32\[1,4,6,6\]")
        tree = json.loads(self.succeed("onnx", "show=shapes,json", self.model))
        self.assertEqual([n["operator"] for n in tree["graph"]["nodes"]], ["Conv", "Relu", "Reshape", "MatMul"])
        self.assertEqual(tree["graph"]["nodes"][2]["outputs"][0]["shape"], [1, 144])

    def test_external_data(self):
        model = classifier()
        x = RANDOM.standard_normal((1, 3, 8, 8)).astype(np.float32)
        onnx.save(model, self.model)
        self.succeed("onnx", "show", self.model, "-o", self.out, "--external=beside", "--externalSize=16")
        self.assertTrue((self.folder / "out.onnx.data").exists())
        self.assertLess(self.out.stat().st_size, 1500)
        self.assert_same(model, onnx.load(self.out), x=x)
        other = self.folder / "elsewhere" / "again.onnx"
        other.parent.mkdir()
        self.succeed("onnx", "rename=r:s", self.out, "-o", other)  # another folder: the data goes along
        self.assert_same(model, onnx.load(other), x=x)
        inside = self.folder / "inside.onnx"
        self.succeed("onnx", "show", other, "-o", inside, "--external=inside")
        self.assertFalse(any(t.external_data for t in onnx.load(inside, load_external_data=False).graph.initializer))
        self.assert_same(model, onnx.load(inside), x=x)

    def test_data_of_another_model_stays(self):
        onnx.save(classifier(), self.model)
        first = self.folder / "first.onnx"
        beside = ("--external=beside", "--externalSize=16", "--externalName=w.data")
        self.succeed("onnx", "show", self.model, "-o", first, *beside)
        data = (self.folder / "w.data").read_bytes()
        self.refuse("onnx", "show", self.model, "-o", self.out, *beside, names=["w.data", "is there already"])
        self.assertFalse(self.out.exists())
        self.assertEqual((self.folder / "w.data").read_bytes(), data)
        other = classifier()
        onnx.save(other, self.model)
        self.succeed("onnx", "show", self.model, "-o", first, *beside)  # its own data goes
        self.assert_same(other, onnx.load(first), x=RANDOM.standard_normal((1, 3, 8, 8)).astype(np.float32))
        self.assertEqual(sorted(f.name for f in self.folder.iterdir()), ["first.onnx", "m.onnx", "w.data"])

    def test_data_of_constants_goes_along(self):
        w = tensor("v", 3)
        (self.folder / "w.bin").write_bytes(w.raw_data)
        far = TensorProto(name="v", data_type=FLOAT, dims=[3], data_location=TensorProto.EXTERNAL)
        far.external_data.add(key="location", value="w.bin")
        branch = helper.make_graph([helper.make_node("Constant", [], ["t"], value=far)], "b", [], [value("t", 3)])
        nodes = [helper.make_node("Constant", [], ["k"], value=far), helper.make_node("Mul", ["x", "k"], ["m"]),
                 helper.make_node("If", ["c"], ["z"], then_branch=branch, else_branch=branch), helper.make_node("Add", ["m", "z"], ["y"])]
        model = model_of(nodes, [value("x", 3), value("c", element=TensorProto.BOOL)], [value("y", 3)])
        self.model.write_bytes(model.SerializeToString())
        moved = self.folder / "elsewhere" / "m.onnx"
        moved.parent.mkdir()
        self.succeed("onnx", "show", self.model, "-o", moved)
        inside = self.folder / "inside.onnx"
        self.succeed("onnx", "show", moved, "-o", inside, "--external=inside")
        x = RANDOM.standard_normal(3).astype(np.float32)
        expected = numpy_helper.to_array(w)
        np.testing.assert_allclose(self.outputs(onnx.load(inside), x=x, c=np.array(True))[0], x * expected + expected, rtol=1e-6)

    def test_patch_of_the_next_export(self):
        patch = self.folder / "patch.json"
        onnx.save(classifier(), self.model)
        said = self.succeed("onnx", "rename=r:activations", "set-attribute=conv:auto_pad=SAME_UPPER", "delete=reshape", self.model,
                            f"--patch={patch}", "--printPatch")
        self.assertIn("~ Conv 'conv'", said)
        self.assertIn("- node 'flat' (Reshape)", said)
        following = classifier()  # other weights, and a node that does not matter
        following.graph.node[0].attribute.append(helper.make_attribute("group", 1))
        edited, _ = self.edit(following, f"patch={patch}", check=False)
        self.assertEqual(operators(edited), ["Conv", "Relu", "MatMul"])
        self.assertEqual(edited.graph.node[1].output[0], "activations")
        self.assertEqual({a.name for a in edited.graph.node[0].attribute}, {"kernel_shape", "group", "auto_pad"})
        self.assertEqual(edited.graph.initializer[0], following.graph.initializer[0])
        self.refuse("onnx", f"patch={patch}", self.out, "-o", self.folder / "no.onnx", names=["not there"])
        following.graph.node[2].op_type = "Expand"  # the patch would remove a Reshape
        onnx.save(following, self.model)
        self.refuse("onnx", f"patch={patch}", self.model, "-o", self.folder / "no.onnx", names=["is a Expand now and was a Reshape"])

    def test_refusals(self):
        onnx.save(classifier(), self.model)
        out = ("-o", self.out)
        self.refuse("onnx", self.model, *out, names=["what to do"])
        self.refuse("onnx", "fold", *out, names=["name a model"])
        self.refuse("onnx", "flod", "x", self.model, *out, names=["'x' is no verb"])
        self.refuse("onnx", "rename", self.model, *out, names=["rename=FROM:TO"])
        self.refuse("onnx", "fold", self.folder / "none.onnx", *out, names=["none.onnx"])
        self.refuse("onnx", "unused=1", self.model, *out, names=["takes nothing"])
        self.refuse("onnx", "rename=nowhere:there", self.model, *out, names=["no tensor 'nowhere'"])
        self.refuse("onnx", "rename=r:c", self.model, *out, names=["there already"])
        self.refuse("onnx", "extract=nowhere", self.model, *out, names=["no tensor 'nowhere'"])
        self.refuse("onnx", "rename=r:s", self.model, names=["-o"])
        bad = self.folder / "bad.onnx"
        bad.write_bytes(self.model.read_bytes()[:-30])
        self.refuse("onnx", "fold", bad, *out, names=["bad.onnx", "damaged"])
        bad.write_bytes(b"dummy")
        self.refuse("onnx", "fold", bad, *out, names=["bad.onnx"])
        self.refuse("onnx", "rename=r:s", self.model, "-o", self.folder / "no" / "m.onnx", names=["cannot"])

    def test_a_full_disk_leaves_the_old_file(self):
        onnx.save(classifier(), self.model)
        self.out.write_bytes(b"old")
        self.refuse("onnx", "rename=r:s", self.model, "-o", self.out, file_limit=100, names=["cannot write"])
        self.assertEqual(self.out.read_bytes(), b"old")


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

    def test_looking_at_functions(self):
        # As types, such names are damaged.
        function = helper.make_function("my", "F", ["aaaaaaaaa"], ["aaaaaaaab"], [helper.make_node("Elu", ["aaaaaaaaa"], ["aaaaaaaab"])],
                                        [helper.make_opsetid("", 17)])
        onnx.save(model_of([helper.make_node("F", ["x"], ["y"], domain="my")], [value("x", 2, 3)], [value("y", 2, 3)],
                           functions=[function], opsets=[("my", 1)]), self.model)
        for words in (["show"], ["show=json"], ["show=shapes"], ["lint"], ["opset=21", "-o", self.out]):
            self.succeed("onnx", *words, self.model)
        self.assertEqual(onnx.load(self.out).functions[0].opset_import[0].version, 21)
        onnx.checker.check_model(onnx.load(self.out), full_check=True)

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
                           ("insert-qdq=r,scale=[1;2]", "along which axis"), ("insert-qdq=r,size=1", "size=1"), ("remove-qdq=r", "no QuantizeLinear")):
            self.refuse("onnx", verb, self.model, "-o", self.folder / "no.onnx", names=[name])

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

    def test_verify_behind_extract(self):
        """An input that is no longer needed, and one that was a tensor within."""
        nodes = [helper.make_node("Relu", ["a"], ["r"]), helper.make_node("Add", ["r", "b"], ["y"]), helper.make_node("Neg", ["b"], ["z"])]
        onnx.save(model_of(nodes, [value("a", 2, 3), value("b", 2, 3)], [value("y", 2, 3), value("z", 2, 3)]), self.model)
        self.assertIn("'z' differs by 0", self.succeed("onnx", "extract=z", self.model, "-o", self.out, "--verify"))
        said = self.succeed("onnx", "extract=r,b:y", self.model, "-o", self.out, "--verify")
        self.assertIn("'y' differs by 0", said)
        self.assertNotIn("not compared: r", said)
        first = self.folder / "first.onnx"
        onnx.save(model_of([helper.make_node("Neg", ["x"], ["n"])], [value("x", 2, 3)], [value("n", 2, 3)]), first)
        self.refuse("onnx", f"prepend={first}:n=a", self.model, "-o", self.out, "--verify", names=["no tensor 'x'"])

    def test_lint_looks_into_functions(self):
        inner = helper.make_function("local", "F", ["a"], ["z"], [helper.make_node("Mine", ["a"], ["z"], "mine", domain="my")],
                                     [helper.make_opsetid("", 17)])
        model = model_of([helper.make_node("F", ["x"], ["f"], domain="local"), helper.make_node("Mine", ["f"], ["y"], "outer", domain="my")],
                         [value("x", 3)], [value("y", 3)], functions=[inner], opsets=[("local", 1), ("my", 1)])
        onnx.save(model, self.model)
        done = run("onnx", "lint", self.model)
        self.assertIn("'mine' is of the domain 'my', whose version the function 'F' does not import", done.stdout + done.stderr)
        self.assertNotIn("'outer' is of the domain", done.stdout + done.stderr)
        model.functions[0].opset_import.append(helper.make_opsetid("my", 1))
        onnx.save(model, self.model)
        done = run("onnx", "lint", self.model)
        self.assertNotIn("does not import", done.stdout + done.stderr)

    def test_verify(self):
        onnx.save(classifier(), self.model)
        said = self.succeed("onnx", "set-batch=N", "clean", self.model, "-o", self.out, "--verify")
        self.assertIn("verify: 1 runs", said)
        for batch in (2, 3):  # which the model before cannot run
            self.assertIn(f"verify: x {batch}x3x8x8: only the model after runs, and gives 'y' {batch}x5", said)
        dynamic = self.folder / "dynamic.onnx"
        self.out.rename(dynamic)
        self.assertIn("verify: 3 runs", self.succeed("onnx", "fold", dynamic, "-o", self.out, "--verify"))
        self.assertIn("7x3x8x8", self.succeed("onnx", "fold", dynamic, "-o", self.out, "--verify", "--verifyShapes=x:7x3x8x8"))
        self.out.unlink()
        self.refuse("onnx", "delete=relu", self.model, "-o", self.out, "--verify", names=["differs by"])

    def test_verify_shows_what_integers_choose(self):
        """A table that is another in all rows but the first, and an output that is no longer there."""
        w = np.arange(30, dtype=np.float32).reshape(10, 3)
        nodes = [helper.make_node("Gather", ["w", "i"], ["y"]), helper.make_node("Not", ["c"], ["z"])]
        boolean = TensorProto.BOOL
        onnx.save(model_of(nodes, [value("i", "N", 4, element=INT64), value("c", 50, element=boolean)],
                           [value("y", "N", 4, 3), value("z", 50, element=boolean)], [numpy_helper.from_array(w, "w")]), self.model)
        np.savez(self.folder / "w.npz", w=w * (w < 3))
        self.refuse("onnx", f"set-constant=w:{self.folder}/w.npz", self.model, "-o", self.out, "--verify", names=["'y' differs by"])
        self.refuse("onnx", "swap=z:Identity", self.model, "-o", self.out, "--verify", names=["'z' differs by"])
        onnx.save(model_of([nodes[0], helper.make_node("Neg", ["y"], ["z"])], [value("i", 50, element=INT64)],
                           [value("y", 50, 3), value("z", 50, 3)], [numpy_helper.from_array(w, "w")]), self.model)
        said = self.succeed("onnx", "extract=y", self.model, "-o", self.out, "--verify")
        self.assertIn("verify: not compared: z: the model after has no such output", said)
        np.savez(self.folder / "two.npz", w=w[:2])
        two = self.folder / "two.onnx"  # other rows would be out of range
        onnx.save(model_of(nodes[:1], [value("i", 50, element=INT64)], [value("y", 50, 3)], [numpy_helper.from_array(w[:2], "w")]), two)
        self.succeed("onnx", "clean", two, "-o", self.out, "--verify")


def detector():
    """The model of the guide."""
    nodes = [helper.make_node("Conv", ["images", "w1", "bias"], ["c1"], "conv1", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]),
             helper.make_node("HardSwish", ["c1"], ["h"], "hswish"), helper.make_node("Dropout", ["h"], ["a"], "dropout"),
             helper.make_node("Conv", ["a", "w2"], ["b"], "conv2", kernel_shape=[1, 1]), helper.make_node("Add", ["a", "b"], ["s"], "sum"),
             helper.make_node("Sigmoid", ["s"], ["c"], "gate"), helper.make_node("GlobalAveragePool", ["c"], ["g"], "pool"),
             helper.make_node("Reshape", ["g", "shape"], ["f"], "flatten"), helper.make_node("MatMul", ["f", "m"], ["heads"], "classify")]
    return model_of(nodes, [value("images", 1, 3, 32, 32)], [value("heads", 1, 10)],
                    [tensor("w1", 8, 3, 3, 3), tensor("bias", 8), tensor("w2", 8, 8, 1, 1), integers("shape", 1, -1), tensor("m", 8, 10)])


class Guide(OnnxCase):
    def test_its_commands(self):
        for name in ("detector", "next_export"):
            onnx.save(detector(), self.folder / f"{name}.onnx")
        np.savez(self.folder / "bias.npz", bias=np.zeros(8, np.float32))
        onnx.save(model_of([helper.make_node("Mul", ["raw", "k"], ["scaled"])], [value("raw", 1, 3, 32, 32)],
                           [value("scaled", 1, 3, 32, 32)], [tensor("k", 1)]), self.folder / "scale.onnx")
        onnx.save(model_of([helper.make_node("Softmax", ["x"], ["p"])], [value("x", 1, 10)], [value("p", 1, 10)]), self.folder / "softmax.onnx")
        onnx.save(model_of([helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]), helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"])],
                           [value("x", 1, 10)], [value("y", 1, 10)], [numpy_helper.from_array(np.float32(0.1), "s"),
                                                                      numpy_helper.from_array(np.int8(0), "z")]), self.folder / "quantized.onnx")
        blocks = re.findall(r"```sh\n(.*?)```", (SOURCE / "docs/guide/edit-models.md").read_text(), re.S)
        commands = [shlex.split(line) for block in blocks for line in block.splitlines()]
        self.assertGreater(len(commands), 20)
        for program, *arguments in commands:
            self.assertEqual(program, "tenon")
            self.succeed(*arguments, folder=self.folder)
        edited = onnx.load(self.folder / "edited.onnx")  # by the patch
        self.assertEqual([o.name for o in edited.graph.output], ["raw"])
        self.assertNotIn("Dropout", operators(edited))


if __name__ == "__main__":
    unittest.main()
