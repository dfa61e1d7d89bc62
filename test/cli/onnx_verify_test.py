"""`tenon onnx --verify`: what differs is found."""
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from onnx_support import INT64, OnnxCase, classifier, model_of, value


class Verify(OnnxCase):
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


if __name__ == "__main__":
    unittest.main()
