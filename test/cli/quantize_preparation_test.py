"""What `tenon quantize` does to a model before its tensors get scales. Expected values by NumPy and ONNX's own evaluator."""
import unittest

import numpy as np
import onnx
import onnx.version_converter
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from support import CliTest

RNG = np.random.default_rng(9)
SAMPLES = RNG.uniform(-1, 1, (16, 3, 12, 12)).astype(np.float32)
CHANNELS = 16


def tensor(*shape, scale=1.0):
    return (RNG.standard_normal(shape) * scale).astype(np.float32)


def node(kind, inputs, output, **attributes):
    return helper.make_node(kind, inputs, [output], name=f"node_{output}", **attributes)


def model_of(nodes, constants, x, y, opset=19):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, y)],
                              [numpy_helper.from_array(v, n) for n, v in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def with_norms():
    constants = {"w0": tensor(8, 3, 3, 3, scale=.3), "w1": tensor(8, 8, 1, 1, scale=.3), "b1": tensor(8)}
    for k in (0, 1):
        constants |= {f"scale{k}": RNG.uniform(.1, 3, 8).astype(np.float32), f"shift{k}": tensor(8), f"mean{k}": tensor(8),
                      f"var{k}": RNG.uniform(.1, 2, 8).astype(np.float32)}
    nodes = [node("Conv", ["x", "w0"], "c0"), node("BatchNormalization", ["c0", "scale0", "shift0", "mean0", "var0"], "n0", epsilon=1e-3),
             node("Relu", ["n0"], "r0"), node("Conv", ["r0", "w1", "b1"], "c1"),
             node("BatchNormalization", ["c1", "scale1", "shift1", "mean1", "var1"], "y")]
    return model_of(nodes, constants, [4, 3, 12, 12], [4, 8, 10, 10]), constants


def badly_scaled():
    """As in a mobilenet: a pointwise, a depthwise and another pointwise convolution, whose channels have ranges far apart."""
    ranges = [(10 ** RNG.uniform(-1, 1, CHANNELS)).astype(np.float32) for _ in range(2)]
    constants = {"w0": tensor(CHANNELS, 3, 1, 1) * ranges[0].reshape(-1, 1, 1, 1), "b0": .1 * tensor(CHANNELS) * ranges[0],
                 "w1": tensor(CHANNELS, 1, 3, 3) * (ranges[1] / ranges[0]).reshape(-1, 1, 1, 1), "b1": .1 * tensor(CHANNELS) * ranges[1],
                 "w2": tensor(8, CHANNELS, 1, 1) / ranges[1].reshape(1, -1, 1, 1), "b2": tensor(8)}
    nodes = [node("Conv", ["x", "w0", "b0"], "c0"), node("Relu", ["c0"], "r0"),
             node("Conv", ["r0", "w1", "b1"], "c1", group=CHANNELS, pads=[1] * 4), node("Relu", ["c1"], "r1"),
             node("Conv", ["r1", "w2", "b2"], "y")]
    return model_of(nodes, constants, [4, 3, 12, 12], [4, 8, 12, 12]), constants


def evaluate(model, x):
    """By ONNX's evaluator, which knows the operators of quantization from opset 19 on."""
    if model.opset_import[0].version < 19:
        model = onnx.version_converter.convert_version(model, 19)
    return ReferenceEvaluator(model).run(None, {"x": x})[0]


class Preparation(CliTest):
    def setUp(self):
        super().setUp()
        self.model, self.quantized, self.data = (self.folder / n for n in ("m.onnx", "q.onnx", "samples.npz"))

    def quantize(self, model, *options, x=SAMPLES):
        onnx.save(model, self.model)
        np.savez(self.data, x=x)
        self.succeed("quantize", self.model, "-o", self.quantized, f"--calibData={self.data}", "--calibAlgorithm=minmax", *options)
        result = onnx.load(self.quantized)
        onnx.checker.check_model(result, full_check=True)
        return result, {t.name: numpy_helper.to_array(t) for t in result.graph.initializer}

    def loss(self, found, expected, x=SAMPLES[:4]):
        found, expected = (evaluate(m, x) for m in (found, expected))
        return np.sqrt(((found - expected) ** 2).sum() / (expected ** 2).sum())

    def test_batch_norms_become_part_of_convolutions(self):
        model, c = with_norms()
        result, constants = self.quantize(model, "--keepFloat=node_c1")
        self.assertNotIn("BatchNormalization", {n.op_type for n in result.graph.node})
        factors = [c[f"scale{k}"] / np.sqrt(c[f"var{k}"] + epsilon) for k, epsilon in ((0, 1e-3), (1, 1e-5))]
        np.testing.assert_allclose(constants["w1_folded"], c["w1"] * factors[1].reshape(-1, 1, 1, 1), rtol=1e-6)
        np.testing.assert_allclose(constants["w1_bias_folded"], (c["b1"] - c["mean1"]) * factors[1] + c["shift1"], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(constants["w0_bias_folded"], -c["mean0"] * factors[0] + c["shift0"], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(constants["w0_folded_scale"], abs(c["w0"] * factors[0].reshape(-1, 1, 1, 1)).max((1, 2, 3)) / 127, rtol=1e-6)
        self.assertFalse({"w0", "w1", "b1", "mean0", "var1"} & set(constants), "what nothing reads any more is gone")
        self.assertLess(self.loss(result, model), .02)

    def test_constants_behind_identity_are_constants(self):
        """As PyTorch's exporter shares weights that are equal."""
        model, c = with_norms()
        norm = next(n for n in model.graph.node if n.op_type == "BatchNormalization")
        model.graph.node.insert(0, node("Identity", [norm.input[1]], "shared"))
        norm.input[1] = "shared"
        result, _ = self.quantize(model)
        self.assertEqual({n.op_type for n in result.graph.node} & {"BatchNormalization", "Identity"}, set())
        self.assertLess(self.loss(result, model), .02)

    def test_opsets_are_raised(self):
        constants = {"w": tensor(8, 3, 3, 3, scale=.3)}
        nodes = [node("Conv", ["x", "w"], "c"), node("ReduceSum", ["c"], "s", axes=[2], keepdims=1), node("Squeeze", ["s"], "q", axes=[2]),
                 helper.make_node("Split", ["q"], ["t", "u"], axis=1, split=[3, 5]), node("Unsqueeze", ["u"], "v", axes=[0]),
                 node("Squeeze", ["v"], "d", axes=[0]), node("Dropout", ["d"], "e", ratio=.3), node("Softmax", ["e"], "y", axis=2)]
        model = model_of(nodes, constants, [4, 3, 12, 12], [4, 5, 10], opset=11)
        result, found = self.quantize(model)
        self.assertEqual(result.opset_import[0].version, 13)
        self.assertEqual(found["w_scale"].shape, (8,))
        self.assertLess(self.loss(result, model), .02)
        nodes[-1] = node("Softmax", ["e"], "y", axis=1)  # over the last two axes at once
        result, found = self.quantize(model_of(nodes, constants, [4, 3, 12, 12], [4, 5, 10], opset=11))
        self.assertEqual(result.opset_import[0].version, 11)
        self.assertEqual(found["w_scale"].shape, ())

    def test_equalization(self):
        model, c = badly_scaled()
        as_it_is, _ = self.quantize(model)
        result, constants = self.quantize(model, "--equalize")
        before, after = self.loss(as_it_is, model), self.loss(result, model)
        self.assertGreater(before, 3 * after, f"{before} and {after}")
        # Each channel is made by weights as large as those that read it; so large are they by NumPy, too.
        _, floats = self.quantize(model, "--equalize", "--keepFloat=node_c0,node_c1")
        w0, w1 = floats["w0_equalized"], floats["w1_equalized"]
        made, read = abs(w0).max((1, 2, 3)), abs(w1).max((1, 2, 3))
        np.testing.assert_allclose(made, read, rtol=.03)
        last = abs(floats["w2_equalized_quantized"] * floats["w2_equalized_scale"].reshape(-1, 1, 1, 1)).max((0, 2, 3))
        np.testing.assert_allclose(read, last, rtol=.05)
        factors = (abs(c["w0"]).max((1, 2, 3)) * abs(c["w1"]).max((1, 2, 3)) * abs(c["w2"]).max((0, 2, 3))) ** (1 / 3)
        np.testing.assert_allclose(made, factors, rtol=.05)  # the product of the three stays the same

    def test_caches_belong_to_a_preparation(self):
        model, _ = badly_scaled()
        plain, equalized = (self.folder / name for name in ("plain.cache", "equalized.cache"))
        as_it_is, _ = self.quantize(model, f"--calib={plain}")
        result, _ = self.quantize(model, f"--calib={equalized}", "--equalize")
        self.assertRegex(equalized.read_text(), r"^TRT-\d+-MinMaxCalibration\n(.+: [0-9a-f]{8}\n)+$")
        again = self.folder / "again.onnx"
        for cache, options, expected in ((plain, [], as_it_is), (equalized, ["--equalize"], result)):
            self.succeed("quantize", self.model, "-o", again, f"--calib={cache}", *options)
            self.assertEqual(onnx.load(again), expected)
        for cache, options, names in ((plain, ["--equalize"], ["plain.cache", "after no change", "wanted after --equalize"]),
                                      (equalized, [], ["after --equalize", "wanted after no change"])):
            self.refuse("quantize", self.model, "-o", again, f"--calib={cache}", *options, names=names)
        self.succeed("build", self.model, "-o", self.folder / "m.plan", "--int8", f"--calib={equalized}")  # the line is skipped

    def test_bias_correction(self):
        model, c = badly_scaled()
        x = abs(SAMPLES)  # whose mean is far from 0
        without, constants = self.quantize(model, x=x)
        with_it, corrected = self.quantize(model, "--biasCorrection", x=x)
        rounded = constants["w0_quantized"] * constants["w0_scale"].reshape(-1, 1, 1, 1)
        expected = c["b0"] - ((rounded - c["w0"]).sum((2, 3)) * x.mean((0, 2, 3))).sum(1)
        np.testing.assert_allclose(corrected["c0_bias_corrected"], expected, rtol=1e-4, atol=1e-6)
        def mean_error(quantized):
            found, right = (evaluate(m, x[:4]) for m in (quantized, model))
            return abs((found - right).mean((0, 2, 3))).sum()
        self.assertLess(mean_error(with_it), mean_error(without))

    def test_smooth_quant(self):
        x = RNG.standard_normal((8, 4, 32)).astype(np.float32)
        x[..., 5] *= 100
        constants = {"w0": tensor(32, 16), "w1": tensor(32, 16, scale=2)}
        constants["w0"][5] *= .02
        constants["w1"][5] *= .02
        nodes = [node("MatMul", ["x", "w0"], "a"), node("MatMul", ["x", "w1"], "b"), node("Add", ["a", "b"], "y")]
        model = model_of(nodes, constants, [4, 4, 32], [4, 4, 16])
        as_it_is, _ = self.quantize(model, x=x)
        result, found = self.quantize(model, "--smoothQuant=0.6", x=x)
        largest, weights = abs(x).max((0, 1)), np.maximum(abs(constants["w0"]).max(1), abs(constants["w1"]).max(1))
        np.testing.assert_allclose(1 / found["x_smoothing"], largest ** .6 / weights ** .4, rtol=1e-5)
        before, after = self.loss(as_it_is, model, x[:4]), self.loss(result, model, x[:4])
        self.assertGreater(before, 3 * after, f"{before} and {after}")
        _, by_default = self.quantize(model, "--smoothQuant", x=x)
        np.testing.assert_allclose(1 / by_default["x_smoothing"], (largest / weights) ** .5, rtol=1e-5)

    def test_refusals(self):
        onnx.save(badly_scaled()[0], self.model)
        cache = self.folder / "cache"
        cache.write_text("TRT-101600-MinMaxCalibration\nx: 3c010204\n")
        for option in ("--smoothQuant", "--biasCorrection"):
            self.refuse("quantize", self.model, "-o", self.quantized, f"--calib={cache}", option, names=[option, "--calibData"])
        self.refuse("quantize", self.model, f"--calib={cache}", "--smoothQuant=2", names=["smoothQuant", "from 0 to 1"])


if __name__ == "__main__":
    unittest.main()
