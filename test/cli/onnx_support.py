"""What the tests of `tenon onnx` share: small models, and running a command over one."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from support import CliTest

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
