"""`tenon quantize`: models in int8 that every reader of ONNX takes. Expected values by NumPy and ONNX's own evaluator."""
import struct
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from support import CliTest

RNG = np.random.default_rng(8)


def tensor(*shape, scale=1.0):
    return (RNG.standard_normal(shape) * scale).astype(np.float32)


CONSTANTS = {"w0": tensor(8, 3, 3, 3, scale=.3), "b0": tensor(8), "w1": tensor(8, 8, 3, 3, scale=.1), "b1": tensor(8), "w3": tensor(8, 8, 1, 1, scale=.3),
             "w2": tensor(10, 8 * 8 * 8, scale=.05), "b2": tensor(10)}
CONSTANTS["w1"][3] = 0  # a channel without weights
SAMPLES = RNG.uniform(-1, 1, (24, 3, 16, 16)).astype(np.float32)


def small_network(opset=19, constants=CONSTANTS):
    """A convolution, pooling, a convolution with a residual sum, another one, and a product."""
    nodes = [helper.make_node("Conv", ["x", "w0", "b0"], ["c0"], name="conv0", pads=[1] * 4),
             helper.make_node("Relu", ["c0"], ["r0"], name="relu0"),
             helper.make_node("MaxPool", ["r0"], ["p0"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("Conv", ["p0", "w1", "b1"], ["c1"], name="conv1", pads=[1] * 4),
             helper.make_node("Add", ["c1", "p0"], ["s"], name="sum"),
             helper.make_node("Relu", ["s"], ["r1"], name="relu1"),
             helper.make_node("Conv", ["r1", "w3"], ["c3"], name="conv3"),
             helper.make_node("Flatten", ["c3"], ["f"], name="flatten"),
             helper.make_node("Gemm", ["f", "w2", "b2"], ["y"], name="product", transB=1)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 16, 16])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 10])],
                              [numpy_helper.from_array(v, n) for n, v in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


class Quantize(CliTest):
    def setUp(self):
        super().setUp()
        self.model, self.quantized, self.data = (self.folder / n for n in ("m.onnx", "q.onnx", "samples.npz"))
        onnx.save(small_network(), self.model)
        np.savez(self.data, x=SAMPLES)

    def quantize(self, *options):
        self.succeed("quantize", self.model, "-o", self.quantized, f"--calibData={self.data}", "--calibAlgorithm=minmax",
                     "--shapes=x:4x3x16x16", *options)
        model = onnx.load(self.quantized)
        onnx.checker.check_model(model, full_check=True)
        return model, {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}

    def test_scales_and_integers(self):
        model, constants = self.quantize()
        np.testing.assert_allclose(constants["x_scale"], abs(SAMPLES).max() / 127, rtol=1e-6)
        for name, axes in (("w0", (1, 2, 3)), ("w1", (1, 2, 3)), ("w3", (1, 2, 3)), ("w2", 1)):
            w, largest = CONSTANTS[name], abs(CONSTANTS[name]).max(axes)
            scale = np.where(largest > 0, largest / np.float32(127), 1)
            np.testing.assert_allclose(constants[f"{name}_scale"], scale, rtol=1e-6)
            shape = [-1] + [1] * (w.ndim - 1)
            np.testing.assert_array_equal(constants[f"{name}_quantized"],
                                          np.rint(w / constants[f"{name}_scale"].reshape(shape)).astype(np.int8))
            self.assertNotIn(name, constants, "the floats are not needed any more")
        zeros = [v for n, v in constants.items() if n.endswith("_zero_point")]
        self.assertTrue(zeros and all(v.dtype == np.int8 and not v.any() for v in zeros))
        self.assertEqual({n.op_type for n in model.graph.node if any("_Dequantize" in i for i in n.input)},
                         {"Conv", "MaxPool", "Add", "Gemm"})

    def test_float8(self):
        """Data and weights of products alone, with scales of amax / 448; the opset rises to the first that has fp8."""
        onnx.save(small_network(opset=13), self.model)
        model, constants = self.quantize("--fp8")
        self.assertEqual([o.version for o in model.opset_import], [19])
        float8 = helper.tensor_dtype_to_np_dtype(TensorProto.FLOAT8E4M3FN)
        np.testing.assert_allclose(constants["x_scale"], abs(SAMPLES).max() / 448, rtol=1e-6)
        for name, axes in (("w0", (1, 2, 3)), ("w1", (1, 2, 3)), ("w3", (1, 2, 3)), ("w2", 1)):
            w, largest = CONSTANTS[name], abs(CONSTANTS[name]).max(axes)
            scale = constants[f"{name}_scale"].reshape([-1] + [1] * (w.ndim - 1))
            np.testing.assert_allclose(scale.ravel()[largest > 0], largest[largest > 0] / np.float32(448), rtol=1e-6)
            np.testing.assert_array_equal(constants[f"{name}_quantized"].astype(np.float32), (w / scale).astype(float8).astype(np.float32))
        self.assertEqual({n.op_type for n in model.graph.node if any("_Dequantize" in i for i in n.input)}, {"Conv", "Gemm"})
        x, out = SAMPLES[:4], self.folder / "out.npz"
        np.savez(self.folder / "in.npz", x=x)
        self.succeed("run", self.quantized, "--inputs", self.folder / "in.npz", "--outputs", out)
        expected, = ReferenceEvaluator(model).run(None, {"x": x})
        floats, = ReferenceEvaluator(small_network()).run(None, {"x": x})
        np.testing.assert_allclose(np.load(out)["y"], expected, atol=2e-3 * abs(expected).max())
        self.assertLess(abs(expected - floats).max(), 0.1 * abs(floats).max())

    def test_what_it_computes(self):
        """Tenon's integers are those of ONNX's evaluator, and near the float model's results."""
        model, _ = self.quantize()
        x, out = SAMPLES[:4], self.folder / "out.npz"
        np.savez(self.folder / "in.npz", x=x)
        self.succeed("run", self.quantized, "--inputs", self.folder / "in.npz", "--outputs", out)
        found = np.load(out)["y"]
        expected, = ReferenceEvaluator(model).run(None, {"x": x})
        floats, = ReferenceEvaluator(small_network()).run(None, {"x": x})
        self.assertLess(abs(found - expected).max(), 0.02 * np.ptp(floats))  # a byte that rounds the other way
        self.assertLess(abs(found - floats).max(), 0.05 * np.ptp(floats))

    def test_what_is_only_moved_keeps_one_scale(self):
        """As in YOLO's C2f: a half goes through a convolution, and is concatenated with both halves."""
        weights = {"w0": tensor(8, 3, 3, 3, scale=.3), "w1": tensor(4, 4, 3, 3, scale=2), "w2": tensor(8, 12, 1, 1, scale=.1)}
        nodes = [helper.make_node("Conv", ["x", "w0"], ["c0"], name="conv0", pads=[1] * 4),
                 helper.make_node("Split", ["c0"], ["a", "b"], name="split", axis=1, num_outputs=2),
                 helper.make_node("Conv", ["b", "w1"], ["c1"], name="conv1", pads=[1] * 4),
                 helper.make_node("Concat", ["a", "b", "c1"], ["c"], name="concat", axis=1),
                 helper.make_node("Conv", ["c", "w2"], ["y"], name="conv2")]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 16, 16])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 8, 16, 16])],
                                  [numpy_helper.from_array(v, n) for n, v in weights.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
        onnx.save(model, self.model)
        quantized, constants = self.quantize()
        model.graph.output.extend([helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("b", "c")])
        _, b, c = ReferenceEvaluator(model).run(None, {"x": SAMPLES})
        self.assertLess(abs(b).max() * 2, abs(c).max(), "so that it shows which range was taken")
        for name in ("b", "c"):
            np.testing.assert_allclose(constants[f"{name}_scale"], abs(c).max() / 127, rtol=1e-5)
        x, out = SAMPLES[:4], self.folder / "out.npz"
        np.savez(self.folder / "in.npz", x=x)
        self.succeed("run", self.quantized, "--inputs", self.folder / "in.npz", "--outputs", out)
        expected, = ReferenceEvaluator(quantized).run(None, {"x": x})
        self.assertLess(abs(np.load(out)["y"] - expected).max(), 0.02 * np.ptp(expected))

    def test_a_cache_is_made_and_taken(self):
        cache = self.folder / "cache"
        self.quantize(f"--calib={cache}")
        first = self.quantized.read_bytes()
        lines = cache.read_text().splitlines()
        self.assertRegex(lines[0], r"^TRT-\d+-MinMaxCalibration$")
        bits = dict(line.rsplit(": ", 1) for line in lines[1:])["x"]
        self.assertAlmostEqual(struct.unpack(">f", bytes.fromhex(bits))[0], abs(SAMPLES).max() / 127, places=7)
        self.succeed("quantize", self.model, "-o", self.quantized, f"--calib={cache}")
        self.assertEqual(self.quantized.read_bytes(), first)

    def test_nodes_that_stay_in_float(self):
        model, constants = self.quantize("--keepFloat=conv1")
        conv1, = [n for n in model.graph.node if n.name == "conv1"]
        self.assertEqual(list(conv1.input)[1:], ["w1", "b1"])
        self.assertIn("w1", constants)
        self.assertIn("w0_quantized", constants)
        pool, = [n for n in model.graph.node if n.name == "pool"]
        self.assertEqual(list(pool.input), ["r0"], "what only float nodes read is not rounded")

    def test_old_opsets(self):
        onnx.save(small_network(11), self.model)
        model, constants = self.quantize()
        self.assertEqual(model.opset_import[0].version, 13, "which has scales for each channel")
        self.assertEqual(constants["w0_scale"].shape, (8,))
        onnx.save(small_network(10), self.model)
        _, constants = self.quantize()
        self.assertEqual(constants["w0_scale"].shape, ())
        np.testing.assert_allclose(constants["w0_scale"], abs(CONSTANTS["w0"]).max() / 127, rtol=1e-6)
        self.quantized.unlink()
        onnx.save(small_network(9), self.model)
        self.refuse("quantize", self.model, "-o", self.quantized, f"--calibData={self.data}", "--shapes=x:4x3x16x16",
                    names=["opset 9", "opset 13 or later"])

    def test_weights_in_files_come_in(self):
        onnx.save(small_network(), self.model, save_as_external_data=True, location="weights", size_threshold=0)
        model, constants = self.quantize()
        np.testing.assert_array_equal(constants["b1"], CONSTANTS["b1"])
        self.assertFalse(any(t.external_data for t in model.graph.initializer))

    def test_pooling_of_an_input_keeps_its_scale(self):
        nodes = [helper.make_node("MaxPool", ["x"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
                 helper.make_node("Conv", ["p", "w0"], ["y"])]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 3, 16, 16])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 8, 6, 6])],
                                  [numpy_helper.from_array(CONSTANTS["w0"], "w0")])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9), self.model)
        self.succeed("quantize", self.model, "-o", self.quantized, f"--calibData={self.data}", "--calibAlgorithm=minmax")
        constants = {t.name: numpy_helper.to_array(t) for t in onnx.load(self.quantized).graph.initializer}
        self.assertEqual(constants["p_scale"], constants["x_scale"])

    def test_weights_come_in_from_everywhere(self):
        """Of Constant nodes and of branches, too; and the model moves to another folder."""
        def branch(name, value):
            return helper.make_graph([helper.make_node("Add", ["c", f"bias_{name}"], [f"y_{name}"])], name, [],
                                     [helper.make_tensor_value_info(f"y_{name}", TensorProto.FLOAT, None)],
                                     [numpy_helper.from_array(np.full((1, 8, 1, 1), value, np.float32), f"bias_{name}")])
        nodes = [helper.make_node("Constant", [], ["w0"], value=numpy_helper.from_array(CONSTANTS["w0"], "w0")),
                 helper.make_node("Conv", ["x", "w0"], ["c"]),
                 helper.make_node("If", ["flag"], ["y"], then_branch=branch("then", 1), else_branch=branch("else", 2))]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 3, 16, 16]),
                                               helper.make_tensor_value_info("flag", TensorProto.BOOL, [])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 8, 14, 14])])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9), self.model,
                  save_as_external_data=True, location="weights", size_threshold=0, convert_attribute=True)
        cache, moved = self.folder / "cache", self.folder / "elsewhere/q.onnx"
        cache.write_text("TRT-101600-MinMaxCalibration\nx: 3c010204\n")
        moved.parent.mkdir()
        self.succeed("quantize", self.model, "-o", moved, f"--calib={cache}")
        x, flag = SAMPLES[:4], np.array(False)
        expected, = ReferenceEvaluator(onnx.load(moved)).run(None, {"x": x, "flag": flag})
        np.savez(self.folder / "in.npz", x=x, flag=flag)
        self.succeed("run", moved, "--inputs", self.folder / "in.npz", "--outputs", self.folder / "out.npz")
        self.assertLess(abs(np.load(self.folder / "out.npz")["y"] - expected).max(), 1e-3)

    def test_refusals(self):
        out = ("-o", self.quantized)
        self.refuse("quantize", self.model, *out, names=["--calibData", "--calib"])
        self.refuse("quantize", self.model, *out, f"--calibData={self.folder}/none.npz", names=["none.npz"])
        self.refuse("quantize", self.model, *out, f"--calib={self.data}", names=["cache|line 1"])
        cache = self.folder / "cache"
        cache.write_text("TRT-101600-EntropyCalibration2\nx: 3c010204\n")
        self.refuse("quantize", self.model, *out, f"--calib={cache}", "--keepFloat=nowhere", names=["no node 'nowhere'"])
        self.refuse("quantize", self.folder / "none.onnx", *out, f"--calib={cache}", names=["none.onnx"])
        cache.write_text("TRT-101600-EntropyCalibration2\nother: 3c010204\n")
        self.refuse("quantize", self.model, *out, f"--calib={cache}", names=["nothing in the model can be int8", "has no range"])
        self.quantize()
        self.refuse("quantize", self.quantized, "-o", self.folder / "twice.onnx", f"--calibData={self.data}", "--shapes=x:4x3x16x16",
                    names=["has Quantize or Dequantize layers already"])
        cache.write_text("TRT-101600-EntropyCalibration2\nx: 3c010204\n")
        weights = CONSTANTS | {"w0": np.full_like(CONSTANTS["w0"], np.nan)}
        onnx.save(small_network(constants=weights), self.model)
        self.refuse("quantize", self.model, *out, f"--calib={cache}", names=["w0", "NaN"])

    def loss(self, model):
        """Root mean square error in parts of the float model's outputs, by ONNX's evaluator."""
        found, expected = (ReferenceEvaluator(m).run(None, {"x": SAMPLES})[0] for m in (model, small_network()))
        return np.sqrt(((found - expected) ** 2).sum() / (expected ** 2).sum())

    def test_layers_return_to_float_until_a_loss_holds(self):
        everything, _ = self.quantize()
        bound, kept = self.loss(everything) / 2, self.folder / "kept.txt"
        model, _ = self.quantize(f"--maxLoss={bound}", f"--exportKeptFloat={kept}")
        self.assertLess(self.loss(model), 1.05 * bound)  # whose integers are not all Tenon's
        names = [line for line in kept.read_text().splitlines() if not line.startswith("#")]
        self.assertTrue(names and set(names) <= {"conv0", "pool", "conv1", "sum", "conv3", "product"})
        floats = {n.name for n in model.graph.node if n.op_type in ("Conv", "Gemm") and "Dequantize" not in n.input[1]}
        self.assertTrue(floats <= set(names))
        self.assertEqual({p.key: p.value for p in model.metadata_props}["tenon.kept_float"].split("\n"), sorted(names))
        first = self.quantized.read_bytes()
        self.quantize(f"--keepFloat=@{kept}")
        self.assertEqual(self.quantized.read_bytes(), first)

    def test_a_loss_that_holds_already(self):
        everything, _ = self.quantize()
        for metric in ("relative", "cosine", "top1"):
            self.assertEqual(self.quantize("--maxLoss=1", f"--lossMetric={metric}")[0], everything)

    def test_losses_that_cannot_hold(self):
        data = self.folder / "other.npz"
        np.savez(data, y=SAMPLES)
        out = ("-o", self.quantized, f"--calibData={self.data}", "--shapes=x:4x3x16x16")
        self.refuse("quantize", self.model, *out, "--maxLoss=0", names=["--maxLoss=0", "no layer can be in int8"])
        self.refuse("quantize", self.model, *out, "--maxLoss=1", f"--lossData={data}", names=["other.npz", "'x'"])
        self.refuse("quantize", self.model, *out, f"--keepFloat=@{self.folder}/none", names=["none"])
        self.refuse("quantize", self.model, *out, "--lossMetric=top1", names=["--maxLoss"])

    def test_precision_of_layers(self):
        self.quantize("--keepFloat=conv1")
        plan = self.folder / "q.plan"
        self.succeed("build", self.quantized, "-o", plan, "--shapes=x:4x3x16x16", "--target=cpu")
        lines = self.succeed("inspect", plan, "--precision").splitlines()
        of = {name: line for line in lines for name in ("conv0", "conv1", "conv3") if "onvolution " in line and name in line}
        self.assertRegex(of["conv0"], "^int8 .*its data and weights are integers")
        self.assertRegex(of["conv1"], "^float32 .*its data or weights are not quantized")
        self.assertRegex(of["conv3"], "^int8 ")
        self.assertRegex(lines[-1], r"\d+ layers? in float32, \d+ layers in int8")
        self.refuse("inspect", plan, "--precision", "--json", names=["--precision", "--json"])

    def build(self, model, plan, *options):
        self.succeed("build", model, "-o", plan, "--shapes=x:4x3x16x16", "--target=cpu", "--int8", *options)
        result = self.folder / f"{plan.name}.npz"
        np.savez(self.folder / "inputs.npz", x=SAMPLES[:4])
        self.succeed("run", plan, f"--inputs={self.folder}/inputs.npz", f"--outputs={result}")
        return np.load(result)["y"]

    def test_a_build_with_a_bound(self):
        """It is the build of what `tenon quantize` makes."""
        calibrated = [f"--calibData={self.data}", "--calibAlgorithm=minmax"]
        bound = [f"--maxLoss={self.loss(self.quantize()[0]) / 2}"]
        kept, again = self.folder / "kept.txt", self.folder / "again.txt"
        self.quantize(*bound, f"--exportKeptFloat={kept}")
        plans = [self.folder / f"{name}.plan" for name in ("quantized", "bounded", "listed")]
        expected = self.build(self.quantized, plans[0])
        np.testing.assert_array_equal(self.build(self.model, plans[1], *calibrated, *bound, f"--exportKeptFloat={again}"), expected)
        self.assertEqual(again.read_text(), kept.read_text())
        np.testing.assert_array_equal(self.build(self.model, plans[2], *calibrated, f"--keepFloat=@{kept}"), expected)
        precisions = [self.succeed("inspect", plan, "--precision") for plan in plans]
        self.assertEqual(precisions[1:], precisions[:1] * 2)
        self.assertIn("float32", precisions[0])

    def test_builds_without_what_a_bound_needs(self):
        out = ("-o", self.folder / "none.plan", "--shapes=x:4x3x16x16")
        self.refuse("build", self.model, *out, "--maxLoss=0.1", names=["--maxLoss", "give --int8"])
        self.refuse("build", self.model, *out, "--int8", "--maxLoss=0.1", names=["--maxLoss", "--calibData"])
        self.assertFalse((self.folder / "none.plan").exists())
        said = self.refuse("build", self.model, *out[:2], "--int8", f"--calibData={self.data}", "--maxLoss=0.1", names=["known only at run time"])
        self.assertNotIn("alone in int8", said)  # there is no search before

    def test_nodes_without_a_name(self):
        model = small_network()
        for node in model.graph.node:
            node.ClearField("name")
        onnx.save(model, self.model)
        model, constants = self.quantize("--keepFloat=Conv_3")
        self.assertIn("w1", constants)
        self.assertIn("w0_quantized", constants)


if __name__ == "__main__":
    unittest.main()
