"""`tenon compare`: errors of builds against others, and the layer that is at fault. Expected values by NumPy."""
import json
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

from support import MLP, MLP_PROFILE, CliTest, run

RNG = np.random.default_rng(5)
WEIGHTS = [RNG.standard_normal((16, 16)).astype(np.float32) / 4 for _ in range(5)]


class Compare(CliTest):
    def write(self, name, nodes, inputs, outputs, constants=(), opset=19):
        path = self.folder / name
        info = lambda names: [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in names.items()]
        save(helper.make_model(helper.make_graph(
            nodes, "g", info(inputs), info(outputs), [numpy_helper.from_array(v, n) for n, v in dict(constants).items()]),
            opset_imports=[helper.make_opsetid("", opset)], ir_version=9), path)
        return path

    def chain(self, name, weights):
        """Products with weights, each followed by a Tanh; tensors h0, t0, h1 and so on."""
        nodes, last = [], "x"
        for i in range(len(weights)):
            nodes += [helper.make_node("MatMul", [last, f"w{i}"], [f"h{i}"], name=f"product_{i}"),
                      helper.make_node("Tanh", [f"h{i}"], [f"t{i}"], name=f"tanh_{i}")]
            last = f"t{i}"
        return self.write(name, nodes, {"x": ["n", 16]}, {last: ["n", 16]},
                          {f"w{i}": w for i, w in enumerate(weights)})

    def data(self, **arrays):
        path = self.folder / "data.npz"
        np.savez(path, **arrays)
        return path

    def report(self, *arguments):
        path = self.folder / "report.json"
        said = self.succeed("compare", *arguments, f"--exportJson={path}")
        return said, json.loads(path.read_text())

    def test_a_changed_layer_is_named_and_what_follows_inherits(self):
        changed = list(WEIGHTS)
        changed[2] = changed[2] + np.float32(0.01)
        x = RNG.standard_normal((3, 16)).astype(np.float32)
        said, report = self.report(self.chain("a.onnx", changed), self.chain("b.onnx", WEIGHTS),
                                   "--data", self.data(x=x), "--layers", "--bisect")
        self.assertRegex(said, r"the first to add more than 0\.001 .*'product_2'")

        def layers(weights, x):
            for w in weights:
                x = np.tanh(x.astype(np.float64) @ w)
            return x
        expected = layers(WEIGHTS, x)
        difference = abs(layers(changed, x) - expected)
        output, = report["outputs"]
        self.assertEqual(output["tensor"], "t4")
        self.assertAlmostEqual(output["total"]["max"], difference.max(), delta=1e-5)
        self.assertAlmostEqual(output["total"]["rms"], np.sqrt((difference ** 2).mean()), delta=1e-5)
        self.assertAlmostEqual(output["total"]["range"], np.ptp(expected), delta=1e-5)
        for t in report["tensors"] + report["outputs"]:
            number = int(t["tensor"][1:])
            own, inherited = t["own"]["of_range"], t["inherited"]["of_range"]
            self.assertEqual(own > 1e-3, number == 2, t)
            self.assertEqual(inherited > 1e-3, number > 2, t)

    def test_what_overflows_is_said(self):
        def model(name, half):
            def cast(t, k, to):
                return helper.make_node("Cast", [t], [k], to=to)
            dtype = np.float16 if half else np.float32
            return self.write(name, [
                cast("x", "a", TensorProto.FLOAT16 if half else TensorProto.FLOAT),
                helper.make_node("MatMul", ["a", "w"], ["b"], name="large"), helper.make_node("Tanh", ["b"], ["c"]),
                cast("c", "y", TensorProto.FLOAT), cast("b", "z", TensorProto.FLOAT)],
                {"x": [4, 16]}, {"y": [4, 16], "z": [4, 16]}, {"w": (np.eye(16) * 3000).astype(dtype)})
        data = self.data(x=np.full((4, 16), 100, np.float32))
        said, report = self.report(model("a.onnx", True), model("b.onnx", False), "--data", data, "--layers", "--bisect")
        large, = [t for t in report["tensors"] if t["tensor"] == "b"]
        self.assertEqual((large["type"], large["total"]["not_finite"], large["own"]["of_range"]), ("float16", 64, "inf"))
        self.assertRegex(large["cause"], r"overflow: 64 elements .* values go to 3e\+05, and float16 ends at 6\.55e\+04")
        self.assertRegex(said, r"the first to add .*'large'.*overflow")

    def test_what_saturates_is_said(self):
        def model(name, quantized):
            nodes = [helper.make_node("Mul", ["x", "two"], ["a"])]
            if quantized:
                nodes += [helper.make_node("QuantizeLinear", ["a", "s", "z"], ["q"]),
                          helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"])]
            else:
                nodes += [helper.make_node("Identity", ["a"], ["y"])]
            return self.write(name, nodes, {"x": [1000]}, {"y": [1000]},
                              {"two": np.float32(2), "s": np.float32(0.01), "z": np.int8(0)})
        x = np.linspace(-1, 1, 1000, dtype=np.float32)  # of which +-1.27 / 2 are within the scale
        _, report = self.report(model("a.onnx", True), model("b.onnx", False), "--data", self.data(x=x), "--layers")
        output, = report["outputs"]
        self.assertAlmostEqual(output["total"]["max"], 2 - 1.27, delta=1e-5)
        self.assertIn("saturation", output["cause"])
        count = int(output["cause"].split(": ")[1].split(" of ")[0])
        self.assertAlmostEqual(count, ((2 * x > 1.27) | (2 * x < -1.28)).sum(), delta=3)

    def test_quantized_tensors_stand_for_floats(self):
        """With scales for each channel and a zero point; the errors are of rounding alone."""
        scale, zero = np.array([0.01, 0.02, 0.04], np.float32), np.array([3, -5, 0], np.int8)
        x = RNG.uniform(-1, 1, (2, 3, 8, 8)).astype(np.float32)

        def model(name, quantized):
            nodes = [helper.make_node("Tanh", ["x"], ["a"], name="tanh")]
            last = "a"
            if quantized:
                nodes += [helper.make_node("QuantizeLinear", ["a", "s", "z"], ["q"], axis=1),
                          helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"], axis=1)]
                last = "d"
            return self.write(name, nodes + [helper.make_node("MaxPool", [last], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
                                             helper.make_node("Exp", ["p"], ["y"])],
                              {"x": list(x.shape)}, {"y": [2, 3, 4, 4]}, {"s": scale, "z": zero})
        _, report = self.report(model("a.onnx", True), model("b.onnx", False), "--data", self.data(x=x), "--layers")
        named = {t["tensor"]: t for t in report["tensors"]}
        a, s, z = np.tanh(x), scale.reshape(1, 3, 1, 1), zero.reshape(1, 3, 1, 1)
        found = (np.clip(np.rint(a / s) + z, -128, 127) - z) * s
        pooled = lambda v: v.reshape(2, 3, 4, 2, 4, 2).max((3, 5))
        difference = pooled(found) - pooled(a)
        self.assertAlmostEqual(named["p"]["total"]["max"], abs(difference).max(), delta=1e-6)
        self.assertAlmostEqual(named["p"]["total"]["rms"], np.sqrt((difference ** 2).mean()), delta=1e-6)

    def test_rounding_to_a_scale_is_no_layers_fault(self):
        """A bound below half a step names neither the quantized input nor a layer that only rounds."""
        def model(name, quantized, factor=1.0):
            nodes, last = [], "x"
            for i, weights in enumerate(("w0", "w1")):
                if quantized:
                    nodes += [helper.make_node("QuantizeLinear", [last, "s", "z"], [f"q{i}"]),
                              helper.make_node("DequantizeLinear", [f"q{i}", "s", "z"], [f"d{i}"])]
                    last = f"d{i}"
                nodes += [helper.make_node("MatMul", [last, weights], [f"h{i}"], name=f"product_{i}"),
                          helper.make_node("Tanh", [f"h{i}"], [f"t{i}"], name=f"tanh_{i}")]
                last = f"t{i}"
            return self.write(name, nodes, {"x": [4, 16]}, {"t1": [4, 16]},
                              {"w0": WEIGHTS[0] * np.float32(factor), "w1": WEIGHTS[1], "s": np.float32(1 / 64), "z": np.int8(0)})
        data = self.data(x=RNG.uniform(-1, 1, (4, 16)).astype(np.float32))
        said, report = self.report(model("a.onnx", True), model("b.onnx", False), "--data", data, "--layers", "--bisect")
        self.assertNotIn("'x'", said.split("the first")[-1])
        said, report = self.report(model("a.onnx", True, 1.5), model("b.onnx", False), "--data", data, "--layers", "--bisect")
        self.assertRegex(said, r"the first to add more than 0\.001 .*'product_0'")

    def test_types_of_the_model_itself_are_warned_of(self):
        def cast(t, k, to):
            return helper.make_node("Cast", [t], [k], to=to)
        half = self.write("half.onnx", [cast("x", "a", TensorProto.FLOAT16), helper.make_node("Tanh", ["a"], ["b"]),
                                        cast("b", "y", TensorProto.FLOAT)], {"x": [8]}, {"y": [8]})
        done = run("compare", half)
        self.assertIn("is float16 in the model itself", done.stdout + done.stderr)

    def test_a_model_against_itself(self):
        said, report = self.report(MLP / "model.onnx", *MLP_PROFILE, "--shapes=input:2x1x12x12", "--layers", "--bisect")
        self.assertIn("no layer adds more than 0.001", said)
        self.assertTrue(all(t["total"]["of_range"] < 1e-5 for t in report["outputs"] + report["tensors"]))

    def test_plans_are_compared_by_their_outputs(self):
        plan, data = self.plan(), self.data(input=RNG.random((2, 1, 12, 12), np.float32))
        said = self.succeed("compare", plan, plan, "--data", data, "--maxError=0")
        self.assertIn("largest error 0.00e+00 of the range", said)
        self.refuse("compare", plan, plan, names=["give an .npz file"])
        self.refuse("compare", plan, plan, "--data", data, "--layers", names=["is a plan", "give the ONNX model"])

    def test_more_than_max_error_ends_with_1(self):
        a, b = self.chain("a.onnx", [w * 2 for w in WEIGHTS]), self.chain("b.onnx", WEIGHTS)
        self.succeed("compare", a, b, "--shapes=x:2x16")
        self.refuse("compare", a, b, "--shapes=x:2x16", "--maxError=1e-3", names=[r"output 't4' is off by .* 0\.001"])

    def test_refusals(self):
        a = self.chain("a.onnx", WEIGHTS)
        self.refuse("compare", a, names=["input 'x' is dynamic", "--inputs", "--shapes=x"])
        self.refuse("compare", a, self.folder / "none.onnx", "--shapes=x:1x16", names=["none.onnx"])
        self.refuse("compare", a, MLP / "model.onnx", "--data", self.data(x=np.zeros((1, 16), np.float32)), names=["input"])
        self.refuse("compare", a, "--shapes=x:1x16", "--maxError=nan", names=["maxError"])
        self.refuse("compare", a, "--shapes=x:1x16", "--exportHtml=/nowhere/page.html", names=["/nowhere/page.html"])

    def test_the_page_holds_the_report_and_no_markup_of_names(self):
        nodes = [helper.make_node("Neg", ["x"], ["</script><b>&"]), helper.make_node("Tanh", ["</script><b>&"], ["y"])]
        model, page = self.write("m&<i>.onnx", nodes, {"x": [4]}, {"y": [4]}), self.folder / "page.html"
        self.succeed("compare", model, f"--exportHtml={page}")
        text = page.read_text()
        self.assertNotIn("</script><b>", text)
        self.assertNotIn("<i>", text)
        begin = text.index('id="report">') + len('id="report">')
        report = json.loads(text[begin:text.index("</script>", begin)])
        self.assertEqual(report["outputs"][0]["tensor"], "y")


if __name__ == "__main__":
    unittest.main()
