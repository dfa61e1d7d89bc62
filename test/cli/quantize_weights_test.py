"""`tenon quantize --weightOnly`: int4 and int8 weights of products. Expected values by NumPy and ONNX's own evaluator."""
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from support import CliTest

RNG = np.random.default_rng(31)
DEPTH, WIDTH, CLASSES = 300, 64, 48
WEIGHTS = {"w": RNG.standard_normal((DEPTH, WIDTH)).astype(np.float32), "v": RNG.standard_normal((CLASSES, WIDTH)).astype(np.float32),
           "b": RNG.standard_normal(CLASSES).astype(np.float32)}
WEIGHTS["w"][:, 3] = 0  # a channel without weights


def network(opset=17, weights=WEIGHTS):
    """MatMul, and a Gemm by a transposed matrix that two nodes share."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"], name="first"),
             helper.make_node("Relu", ["h"], ["r"], name="relu"),
             helper.make_node("Gemm", ["r", "v", "b"], ["y"], name="second", transB=1),
             helper.make_node("Gemm", ["r", "v"], ["z"], name="third", transB=1, alpha=0.5)]
    element = helper.np_dtype_to_tensor_dtype(weights["w"].dtype)
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", element, ["n", DEPTH])],
                              [helper.make_tensor_value_info(n, element, ["n", CLASSES]) for n in "yz"],
                              [numpy_helper.from_array(v, n) for n, v in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def groups(weights, axis, size):
    """(group, channel, element) of the weights."""
    rows = weights if axis == 1 else weights.T
    return [[row[i:i + size] for row in rows] for i in range(0, rows.shape[1], size)]


def unpacked(tensor):
    """The integers of an int4 or int8 initializer."""
    return numpy_helper.to_array(tensor).astype(np.int32)


class QuantizeWeights(CliTest):
    def setUp(self):
        super().setUp()
        self.model, self.quantized = self.folder / "m.onnx", self.folder / "q.onnx"
        onnx.save(network(), self.model)

    def quantize(self, *options):
        self.succeed("quantize", self.model, "-o", self.quantized, *options)
        model = onnx.load(self.quantized)
        onnx.checker.check_model(model, full_check=True)
        return model, {t.name: t for t in model.graph.initializer}

    def outputs(self, model, x):
        """Of ONNX's evaluator, and of Tenon."""
        np.savez(self.folder / "in.npz", x=x)
        self.succeed("run", model, "--inputs", self.folder / "in.npz", "--outputs", self.folder / "out.npz")
        found = np.load(self.folder / "out.npz")
        return dict(zip("yz", ReferenceEvaluator(onnx.load(model)).run(["y", "z"], {"x": x}))), found

    def check_outputs(self, rows=(1, 33)):
        for count in rows:
            expected, found = self.outputs(self.quantized, RNG.standard_normal((count, DEPTH)).astype(np.float32))
            for name, values in expected.items():
                np.testing.assert_allclose(found[name], values, rtol=0, atol=2e-6 * abs(values).max())

    def test_int4_in_groups(self):
        model, tensors = self.quantize("--weightOnly=int4", "--groupSize=32")
        self.assertEqual((model.opset_import[0].version, model.ir_version), (21, 10))
        for name, axis in (("w", 0), ("v", 1)):
            self.assertEqual(tensors[f"{name}_quantized"].data_type, TensorProto.INT4)
            self.assertNotIn(name, tensors, "the floats are not needed any more")
            integers, scales = unpacked(tensors[f"{name}_quantized"]), numpy_helper.to_array(tensors[f"{name}_scale"])
            scales = scales if axis == 0 else scales.T
            for g, channels in enumerate(groups(WEIGHTS[name], axis, 32)):
                for c, numbers in enumerate(channels):
                    scale = scales[g, c]
                    found = groups(integers, axis, 32)[g][c]
                    self.assertGreater(scale, 0)
                    np.testing.assert_array_equal(found, np.clip(np.rint(numbers / scale), -8, 7).astype(np.int32))
                    # No worse than the scale that cuts off nothing.
                    whole = max(abs(numbers).max(), 1e-9) / np.float32(7)
                    plain = np.clip(np.rint(numbers / whole), -8, 7) * whole
                    self.assertLessEqual(((found * scale - numbers) ** 2).sum(), ((plain - numbers) ** 2).sum() * (1 + 1e-5) + 1e-12)
        self.assertEqual(sum(n.op_type == "DequantizeLinear" for n in model.graph.node), 2, "one for all that read the weights so")
        self.check_outputs()

    def test_int8_of_channels(self):
        onnx.save(network(opset=19), self.model)
        model, tensors = self.quantize("--weightOnly=int8", "--groupSize=0")
        self.assertEqual(model.opset_import[0].version, 19, "what the model was is enough")
        largest = abs(WEIGHTS["w"]).max(0)
        np.testing.assert_allclose(numpy_helper.to_array(tensors["w_scale"]), np.where(largest > 0, largest / np.float32(127), 1), rtol=1e-6)
        self.check_outputs()
        expected, found = self.outputs(self.quantized, x := RNG.standard_normal((20, DEPTH)).astype(np.float32))
        floats, _ = self.outputs(self.model, x)
        self.assertLess(np.sqrt(((found["y"] - floats["y"]) ** 2).mean() / (floats["y"] ** 2).mean()), 0.02)

    def test_float16(self):
        half = {n: v.astype(np.float16) for n, v in WEIGHTS.items()}
        onnx.save(network(weights=half), self.model)
        _, tensors = self.quantize("--weightOnly=int4", "--groupSize=64")
        self.assertEqual(tensors["w_scale"].data_type, TensorProto.FLOAT16)
        x = RNG.standard_normal((5, DEPTH)).astype(np.float16)
        expected, found = self.outputs(self.quantized, x)
        np.testing.assert_allclose(found["y"], expected["y"], rtol=0, atol=4e-3 * float(abs(expected["y"]).max()))

    def test_float16_of_channels(self):
        """Its scales need opset 19, and small ones are those that float16 holds."""
        half = {n: (v * 1e-3).astype(np.float16) for n, v in WEIGHTS.items()}
        onnx.save(network(opset=13, weights=half), self.model)
        model, tensors = self.quantize("--weightOnly=int8", "--groupSize=0")
        self.assertEqual(model.opset_import[0].version, 19)
        scales = numpy_helper.to_array(tensors["w_scale"]).astype(np.float32)
        found = unpacked(tensors["w_quantized"]) * scales
        np.testing.assert_array_less(abs(found - half["w"].astype(np.float32)), np.broadcast_to(0.51 * scales, found.shape))

    def test_plan_keeps_the_bits(self):
        """The plan of the quantized model is smaller by what the weights are, and its kernel says so."""
        sizes = {}
        big = {n: np.tile(v, (4, 4)) if v.ndim == 2 else v for n, v in WEIGHTS.items()}
        graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"], name="first")], "g",
                                  [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4 * DEPTH])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4 * WIDTH])],
                                  [numpy_helper.from_array(big["w"], "w")])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), self.model)
        self.quantize("--weightOnly=int4")
        for path in (self.model, self.quantized):
            plan = path.with_suffix(".plan")
            self.succeed("build", path, "-o", plan, "--shapes=x:4x1200", environment={"TENON_TARGET": "cpu"})
            sizes[path.name] = plan.stat().st_size
        self.assertIn("quantized_matrix_multiply", self.succeed("inspect", self.folder / "q.plan"))
        self.assertIn("weights are integers in memory", self.succeed("inspect", self.folder / "q.plan", "--precision"))
        saved = sizes["m.onnx"] - sizes["q.onnx"]
        self.assertGreater(saved, big["w"].nbytes * 6 / 7)

    def test_what_stays(self):
        _, tensors = self.quantize("--weightOnly=int4", "--keepFloat=second,third")
        self.assertIn("v", tensors)
        self.assertNotIn("w", tensors)

    def test_one_reader_stays(self):
        _, tensors = self.quantize("--weightOnly=int4", "--keepFloat=third")
        self.assertIn("v", tensors)
        self.assertIn("v_quantized", tensors)
        self.check_outputs()

    def test_errors(self):
        for options, words in ((("--weightOnly=int3",), ["int3"]), (("--groupSize=32",), ["--weightOnly"]),
                               (("--weightOnly=int4", "--groupSize=31"), ["31", "even"]),
                               (("--weightOnly=int4", "--keepFloat=relu"), ["relu"]),
                               (("--weightOnly=int4", "--calibData=x.npz"), ["--calibData"])):
            self.refuse("quantize", self.model, "-o", self.quantized, *options, names=words)
        bad = dict(WEIGHTS, w=WEIGHTS["w"].copy())
        bad["w"][5, 5] = np.nan
        onnx.save(network(weights=bad), self.model)
        self.refuse("quantize", self.model, "-o", self.quantized, "--weightOnly=int4", names=["'w'", "nan"])
        onnx.save(helper.make_model(helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g",
                                                      [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
                                                      [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])])), self.model)
        self.refuse("quantize", self.model, "-o", self.quantized, "--weightOnly=int4", names=["no MatMul or Gemm"])


if __name__ == "__main__":
    unittest.main()
