"""The commands of docs/guide/edit-models.md."""
import re
import shlex
import unittest

import numpy as np
import onnx
from onnx import helper, numpy_helper

from onnx_support import OnnxCase, integers, model_of, operators, tensor, value
from support import SOURCE


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
