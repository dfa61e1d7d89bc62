"""What runs and measurements take and write."""
import json
import re
import unittest

import numpy as np
from onnx import TensorProto, helper, save
from PIL import Image

from support import MLP, PHOTO, PLUGIN, RESNET, SHORT_BENCH, SRCNN, VIGNETTE, CliTest

CASE = MLP / "case_5x1x12x12.npz"


class Run(CliTest):
    def expect_case(self, outputs):
        self.assert_close(np.load(outputs)["output"], np.load(CASE)["out:output"])

    def test_plan_with_arrays(self):
        out = self.folder / "out.npz"
        said = self.succeed("run", self.plan(), "--inputs", CASE, "--outputs", out)
        self.expect_case(out)
        self.assertIn("output", said)
        self.assertRegex(said, r"run [\d.]+ ms")

    def test_model_with_arrays(self):
        out = self.folder / "out.npz"
        self.succeed("run", MLP / "model.onnx", "--inputs", CASE, "--outputs", out)
        self.expect_case(out)

    def test_an_input_that_the_model_has_not_is_named(self):
        arrays = self.folder / "in.npz"
        np.savez(arrays, foo=np.zeros((5, 1, 12, 12), np.float32))
        for option in ("--shapes=foo:5x1x12x12", f"--inputs={arrays}"):
            self.refuse("run", MLP / "model.onnx", option, names=["the model has no input 'foo'; its inputs are: input"])
        self.assertIn("output  float32 5x", self.succeed("run", MLP / "model.onnx", "--shapes=inp*:5x1x12x12"))

    def test_an_input_that_decides_shapes(self):
        """Its values come from the arrays, or are given as shapes are."""
        model, arrays, out = (self.folder / name for name in ("m.onnx", "in.npz", "out.npz"))
        x = np.arange(24, dtype=np.float32).reshape(4, 6)
        save(helper.make_model(helper.make_graph(
            [helper.make_node("Reshape", ["x", "to"], ["y"])], "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["a", "b"]),
             helper.make_tensor_value_info("to", TensorProto.INT64, [2])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]),
            opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        np.savez(arrays, x=x, to=np.array([3, 8]))
        self.succeed("run", model, "--inputs", arrays, "--outputs", out)
        self.assert_close(np.load(out)["y"], x.reshape(3, 8))
        plan = self.plan("m.plan", model, ["--minShapes=x:4x6,to:1x1", "--optShapes=x:4x6,to:4x6",
                                           "--maxShapes=x:4x6,to:24x24"])
        self.assertIn("y  float32 2x12", self.succeed("run", plan, "--shapes=x:4x6,to:2x12"))
        self.refuse("run", plan, "--shapes=x:4x6,to:5x5", names=["cannot reshape 4x6"])
        self.refuse("build", model, "-o", self.folder / "x.plan", "--shapes=x:4x6", names=["decides shapes"])

    def test_values_that_decide_shapes_are_exact(self):
        """INT64_MAX, as exporters write for "to the end", is no number that a double holds."""
        model, out = self.folder / "m.onnx", self.folder / "out.npz"
        save(helper.make_model(helper.make_graph(
            [helper.make_node("Slice", ["x", "starts", "ends"], ["y"])], "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [10]),
             helper.make_tensor_value_info("starts", TensorProto.INT64, [1]),
             helper.make_tensor_value_info("ends", TensorProto.INT64, [1])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]),
            opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        x, most = np.arange(10, dtype=np.float32), np.iinfo(np.int64).max
        np.savez(self.folder / "in.npz", x=x, starts=np.array([3]), ends=np.array([most]))
        self.succeed("run", model, "--inputs", self.folder / "in.npz", "--outputs", out)
        np.testing.assert_array_equal(np.load(out)["y"], x[3:])
        np.savez(self.folder / "x.npz", x=x)
        self.succeed("run", model, "--inputs", self.folder / "x.npz", "--outputs", out, f"--shapes=starts:3,ends:{most}")
        np.testing.assert_array_equal(np.load(out)["y"], x[3:])

    def test_ranks_that_shapes_decide(self):
        """`Squeeze` without axes: profiles that fix the shape decide; others mean what is no 1."""
        model, out = self.folder / "m.onnx", self.folder / "out.npz"
        save(helper.make_model(helper.make_graph(
            [helper.make_node("Squeeze", ["x"], ["r"], name="squeeze"), helper.make_node("Neg", ["r"], ["y"])], "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["a", 3, "b"])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]),
            opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        for shape in ((1, 3, 5), (2, 3, 1), (1, 3, 1), (2, 3, 5)):
            x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
            np.savez(self.folder / "in.npz", x=x)
            self.succeed("run", model, "--inputs", self.folder / "in.npz", "--outputs", out)
            self.assert_close(np.load(out)["y"], -np.squeeze(x))
        plan = self.plan("m.plan", model, ["--minShapes=x:1x3x1", "--optShapes=x:2x3x4", "--maxShapes=x:4x3x8"])
        self.assertIn("y  float32 3x3x2", self.succeed("run", plan, "--shapes=x:3x3x2"))
        self.refuse("run", plan, "--shapes=x:1x3x2", names=["node 'squeeze'.*axis 0 .* extent 1 only now"])

    def test_an_output_that_is_an_input(self):
        model, out = self.folder / "m.onnx", self.folder / "out.npz"
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])
        save(helper.make_model(helper.make_graph([], "g", [x], [x]), opset_imports=[helper.make_opsetid("", 17)],
                               ir_version=8), model)
        np.savez(self.folder / "in.npz", **{"__x": np.float32([1, 2, 3])})
        self.succeed("run", model, "--inputs", self.folder / "in.npz", "--outputs", out)
        self.assert_close(np.load(out)["x"], np.float32([1, 2, 3]))

    def test_raw_bytes(self):
        raw, out = self.folder / "in.bin", self.folder / "out.npz"
        np.load(CASE)["in:input"].tofile(raw)
        self.succeed("run", self.plan(), "--shapes=input:5x1x12x12", f"--loadInputs=input:{raw}", "--outputs", out)
        self.expect_case(out)

    def test_pictures(self):
        """A picture in, three times larger out: close to Pillow's bicubic, as SRCNN refines that."""
        plan = self.plan("srcnn.plan", SRCNN, [
            "--minShapes=input:1x3x16x16,factor:1x1x16x16", "--optShapes=input:1x3x40x60,factor:1x1x120x180",
            "--maxShapes=input:1x3x64x64,factor:1x1x192x192"])
        small, big = self.folder / "small.jpg", self.folder / "big.png"
        photo = Image.open(PHOTO).convert("RGB").resize((60, 40), Image.Resampling.BICUBIC)
        photo.save(small, quality=98)
        self.succeed("run", plan, f"--image=input:{small}", "--shapes=factor:1x1x120x180", f"--save=output:{big}")
        result = Image.open(big)
        self.assertEqual((result.size, result.mode), ((180, 120), "RGB"))
        expected = Image.open(small).resize((180, 120), Image.Resampling.BICUBIC)
        difference = np.abs(np.asarray(result, np.float64) - np.asarray(expected, np.float64))
        self.assertLess(difference.mean(), 5)

    def test_plugin_of_a_library_and_picture_options(self):
        """The example plugin, from picture to picture, in two layouts of the numbers."""
        light = 1 - 0.75 * self.distance(30, 50) / 2
        photo = Image.open(PHOTO).convert("RGB").resize((50, 30))
        small, dark = self.folder / "small.png", self.folder / "dark.png"
        photo.save(small)
        expected = np.clip(np.round(np.asarray(photo, np.float64) * light[:, :, None]), 0, 255)
        for options in ([], ["--color=bgr", "--scale=0.02"]):
            self.succeed("run", VIGNETTE, f"--plugins={PLUGIN}", f"--image=input:{small}", f"--save=output:{dark}",
                         *options)
            actual = np.asarray(Image.open(dark), np.float64)
            self.assertLessEqual(np.abs(actual - expected).max(), 1)

    def test_not_a_number_is_counted(self):
        model, arrays = self.folder / "m.onnx", self.folder / "in.npz"
        tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy"]
        save(helper.make_model(helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g", tensors[:1], tensors[1:]),
                               opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        for values, text in (([np.nan] * 4, "y  float32 4  NaN in 4 of 4\n"),
                             ([np.nan, 1, 2, 6], "y  float32 4  min -6, mean -3, max -1  NaN in 1 of 4\n")):
            np.savez(arrays, x=np.array(values, np.float32))
            self.assertIn(text, self.succeed("run", model, "--inputs", arrays))

    def test_mean_and_scale_reach_the_tensor(self):
        small, out = self.folder / "small.png", self.folder / "out.npz"
        photo = Image.open(PHOTO).convert("RGB").resize((64, 64))
        photo.save(small)
        mean, scale = [123.675, 116.28, 103.53], [0.0171, 0.0175, 0.0174]
        self.succeed("run", RESNET / "model.onnx", f"--image=input:{small}", "--outputs", out,
                     "--mean=" + ",".join(map(str, mean)), "--scale=" + ",".join(map(str, scale)))
        pixels = (np.asarray(photo, np.float32) - np.float32(mean)) * np.float32(scale)
        inputs = self.folder / "in.npz"
        np.savez(inputs, input=pixels.transpose(2, 0, 1)[None].astype(np.float32))
        other = self.folder / "other.npz"
        self.succeed("run", RESNET / "model.onnx", "--inputs", inputs, "--outputs", other)
        self.assert_close(np.load(out)["output"], np.load(other)["output"])

    @staticmethod
    def distance(height, width):
        v = 2 * np.arange(height)[:, None] / height - 1
        u = 2 * np.arange(width)[None] / width - 1
        return u * u + v * v


class Bench(CliTest):
    def test_summary_is_what_scripts_parse(self):
        said = self.succeed("bench", self.plan(), "--shapes=input:2x1x12x12", *SHORT_BENCH)
        self.assertEqual(len(re.findall(r"Throughput: ([0-9.]+) qps", said)), 1)
        for pattern in (r"GPU Compute Time:.*mean = ([\d.]+) ms",
                        r"Latency: .*?mean = ([0-9.]+) ms,.*?percentile\(95%\) = ([0-9.]+) ms",
                        r"Total Host Walltime: [\d.e-]+ s", r"Total GPU Compute Time: [\d.e-]+ s",
                        r"Enqueue Time: min = ", r"H2D Latency: min = ", r"D2H Latency: min = ",
                        r"(?m)^\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] \[I\] === Performance summary ===$"):
            self.assertRegex(said, pattern)
        # grep "GPU.* mean.*ms$" | awk '{print $16}' gives the median.
        line = [one for one in said.splitlines() if re.search(r"GPU.* mean.*ms$", one)]
        self.assertEqual(len(line), 1)
        float(line[0].split()[15])

    def test_json_alone_on_standard_output(self):
        result = json.loads(self.succeed("bench", MLP / "model.onnx", "--shapes=input:2x1x12x12", "--json",
                                         *SHORT_BENCH))
        self.assertEqual(result["queries"], 12)
        self.assertGreater(result["throughputQps"], 0)
        for part in ("latencyMs", "enqueueMs", "h2dMs", "computeMs", "d2hMs"):
            times = result[part]
            self.assertLessEqual(times["min"], times["median"])
            self.assertLessEqual(times["median"], times["p95"])
            self.assertLessEqual(times["p95"], times["max"])

    def test_exported_files(self):
        times, profile = self.folder / "times.json", self.folder / "profile.json"
        said = self.succeed("bench", self.plan(), "--dumpProfile", f"--exportTimes={times}",
                            f"--exportProfile={profile}", *SHORT_BENCH)
        self.assertRegex(said, r"=== Profile \(\d+ iterations \) ===")
        first = json.loads(times.read_text())[0]
        self.assertEqual(set(first), {
            "startEnqMs", "endEnqMs", "startH2dMs", "endH2dMs", "startComputeMs", "endComputeMs", "startD2hMs",
            "endD2hMs", "h2dMs", "computeMs", "d2hMs", "latencyMs"})
        rows = json.loads(profile.read_text())
        self.assertEqual(set(rows[0]), {"count"})
        self.assertEqual(set(rows[1]), {"name", "timeMs", "averageMs", "medianMs", "percentage"})
        self.assertAlmostEqual(sum(row["percentage"] for row in rows[1:]), 100, places=3)

    def product_and_softmax(self):
        """(64, 128) times a constant (128, 32), then a softmax."""
        model = self.folder / "product.onnx"
        x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", [64, 128]), ("y", [64, 32])))
        weights = helper.make_tensor("w", TensorProto.FLOAT, [128, 32], np.ones(128 * 32, np.float32))
        nodes = [helper.make_node("MatMul", ["x", "w"], ["p"], "product"), helper.make_node("Softmax", ["p"], ["y"], "shares")]
        save(helper.make_model(helper.make_graph(nodes, "g", [x], [y], [weights]),
                               opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        return model

    def test_a_roofline_states_the_work_of_each_layer_and_what_it_reaches(self):
        result = json.loads(self.succeed("bench", self.product_and_softmax(), "--roofline", "--target=cpu", "--json",
                                         *SHORT_BENCH))["roofline"]
        self.assertGreater(result["threads"], 0)
        peaks = result["operationsPerSecond"], result["bytesPerSecond"]
        product, softmax = result["layers"]
        self.assertEqual((product["name"], product["kind"]), ("product", "MatrixMultiply"))
        self.assertEqual(product["operations"], 2 * 64 * 128 * 32)
        self.assertEqual(softmax["operations"], 5 * 64 * 32)
        self.assertGreaterEqual(product["bytes"], 4 * (64 * 128 + 128 * 32 + 64 * 32))  # packed weights may be filled up
        self.assertEqual(softmax["bytes"], 4 * 2 * 64 * 32)
        for layer in result["layers"]:
            least = max(layer["operations"] / peaks[0], layer["bytes"] / peaks[1])
            self.assertAlmostEqual(layer["percentOfRoof"], 1e5 * least / layer["medianMs"], places=4)
            by_memory = layer["bytes"] / peaks[1] >= layer["operations"] / peaks[0]
            self.assertEqual(layer["bound"], "memory" if by_memory else "compute")
        self.assertEqual(result["total"]["operations"], product["operations"] + softmax["operations"])
        self.assertAlmostEqual(sum(layer["percentage"] for layer in result["layers"]), 100)

    def test_a_roofline_as_a_table(self):
        said = self.succeed("bench", self.product_and_softmax(), "--roofline", "--target=cpu", *SHORT_BENCH)
        self.assertRegex(said, r"=== Roofline \(\d+ threads?: [\d.]+ GFLOP/s, [\d.]+ GB/s from memory\) ===")
        self.assertRegex(said, r"(compute|memory) +\d+   product \(")
        self.assertRegex(said, r"100\.0 .* Total")

    def test_a_trace_has_the_queries_and_the_layers_of_a_run(self):
        trace = self.folder / "trace.json"
        _, _, queries = self.bench(*SHORT_BENCH, "--streams=2", f"--exportTrace={trace}", "--target=cpu", plan=self.product_and_softmax())
        events = json.loads(trace.read_text())["traceEvents"]
        tracks = {(event["pid"], event["tid"]): event["args"]["name"] for event in events if event["name"] == "thread_name"}
        bars = [event for event in events if event["ph"] == "X"]
        self.assertEqual(sorted(event["ts"] for event in bars if event["name"] == "compute"),
                         sorted(1e3 * query["startComputeMs"] for query in queries))
        self.assertLessEqual({"stream 0: compute", "stream 1: compute"}, set(tracks.values()))
        self.assertEqual([(tracks[event["pid"], event["tid"]], event["name"], event["args"]["kind"]) for event in bars if event["cat"] == "layer"],
                         [("layers", "product", "MatrixMultiply"), ("layers", "shares", "Softmax")])
        ends = {}
        for event in sorted(bars, key=lambda event: event["ts"]):  # on a track one bar ends before the next begins
            track = event["pid"], event["tid"]
            self.assertGreaterEqual(event["ts"] - ends.get(track, 0), -1)
            ends[track] = event["ts"] + event["dur"]


if __name__ == "__main__":
    unittest.main()
