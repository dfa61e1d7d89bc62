"""`tenon onnx` with files: pipes, external data, patches, refusals."""
import os
import subprocess
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from onnx_support import FLOAT, RANDOM, OnnxCase, classifier, model_of, operators, tensor, value
from support import MLP, RESNET, SRCNN, TENON, TIME_LIMIT


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


if __name__ == "__main__":
    unittest.main()
