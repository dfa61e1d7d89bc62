"""What each command does when all is well."""
import json
import os
import re
import shutil
import unittest

import numpy as np
from onnx import TensorProto, helper, save
from PIL import Image

from support import KNOWN, MLP, MLP_PROFILE, PHOTO, PLUGIN, RESNET, SOURCE, SRCNN, VIGNETTE, CliTest, run

CASE = MLP / "case_5x1x12x12.npz"


class Build(CliTest):
    def test_writes_the_plan_and_says_so(self):
        plan = self.folder / "some.plan"
        said = self.succeed("build", MLP / "model.onnx", f"--saveEngine={plan}", *MLP_PROFILE)
        self.assertTrue(plan.read_bytes().startswith(b"TENONPLN"))
        self.assertIn(str(plan), said)

    def test_o_is_an_alias(self):
        a = self.folder / "a.plan"
        self.succeed("build", f"--onnx={MLP / 'model.onnx'}", "-o", a, *MLP_PROFILE)
        self.assertTrue(a.exists())

    def test_default_name_is_the_models(self):
        model = self.folder / "net.onnx"
        shutil.copy(MLP / "model.onnx", model)
        self.succeed("build", model, *MLP_PROFILE)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["net.onnx", "net.plan"])

    def test_same_timing_cache_same_bytes(self):
        cache = f"--timingCacheFile={self.folder / 'timing.cache'}"
        plans = [self.plan(f"{i}.plan", RESNET / "model.onnx",
                           ["--shapes=input:1x3x64x64", cache]).read_bytes() for i in range(3)]
        self.assertEqual(plans[1], plans[2])

    def test_timing_cache_is_filled_and_used_again(self):
        """Softmax has two kernels that compete, where oneDNN is there."""
        model, cache = self.folder / "softmax.onnx", self.folder / "timing.cache"
        tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [40, 100]) for name in "xy"]
        save(helper.make_model(helper.make_graph([helper.make_node("Softmax", ["x"], ["y"])], "g", tensors[:1], tensors[1:]),
                               opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        first = self.plan("a.plan", model, [f"--timingCacheFile={cache}"]).read_bytes()
        stored = cache.read_bytes()
        if json.loads(self.succeed("doctor", "--json"))["oneDNN"][0].isdigit():
            self.assertIn(b"softmax", stored)
            self.refuse("build", model, "-o", self.folder / "c.plan", "--errorOnTimingCacheMiss", names=["timing cache"])
        again = self.plan("b.plan", model, [f"--timingCacheFile={cache}", "--errorOnTimingCacheMiss"]).read_bytes()
        self.assertEqual(first, again)
        self.assertEqual(stored, cache.read_bytes())

    def test_timing_cache_holds_the_code_generated_for_a_gpu(self):
        model, none = self.folder / "sigmoid.onnx", {"TENON_KERNEL_CACHE": ""}
        tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [40, 100]) for name in "xy"]
        save(helper.make_model(helper.make_graph([helper.make_node("Sigmoid", ["x"], ["y"])], "g", tensors[:1], tensors[1:]),
                               opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)

        def build(name, *options):
            plan, cache = self.folder / f"{name}.plan", self.folder / f"{name}.cache"
            self.succeed("build", model, "-o", plan, f"--timingCacheFile={cache}", *options, environment=none)
            return plan.read_bytes(), cache.read_bytes()

        plan, cache = build("a")
        on_gpu = json.loads(self.succeed("doctor", "--json"))["target"] == "cuda"
        self.assertEqual(b"\x7fELF" in cache, on_gpu)
        self.assertEqual(build("a"), (plan, cache))
        plan_without, cache_without = build("b", "--noCompilationCache")
        self.assertEqual(plan_without, plan)
        self.assertNotIn(b"\x7fELF", cache_without)

    def test_progress_is_plain_lines_without_a_terminal(self):
        result = run("build", MLP / "model.onnx", "-o", self.folder / "m.plan", *MLP_PROFILE)
        self.assertRegex(result.stderr, r"(?m)^.+: \d+\.\d\d s$")
        self.assertNotIn("\r", result.stderr + result.stdout)


class NewPlugin(CliTest):
    """That what it writes builds and passes is shown by test/package."""

    def test_both_spellings_write_the_same(self):
        texts = []
        for name in ("HalfOf", "half_of"):
            folder = self.folder / name
            said = self.succeed("new-plugin", name, f"--folder={folder}")
            self.assertIn(f"cd {folder}", said)
            texts.append({path.name: path.read_text() for path in folder.iterdir()})
        self.assertEqual(*texts)
        self.assertIn("struct HalfOf", texts[0]["half_of.cc"])
        self.assertNotRegex("".join(texts[0].values()), "(?i)my_?plugin")

    def test_the_folder_is_the_name(self):
        self.succeed("new-plugin", "HalfOf", folder=self.folder)
        self.assertTrue((self.folder / "half_of/half_of.cc").is_file())

    def test_refuses(self):
        (self.folder / "there").mkdir()
        self.refuse("new-plugin", "X", f"--folder={self.folder / 'there'}", names=["there exists", "--folder"])
        self.refuse("new-plugin", "X", f"--folder={self.folder / 'no/x'}", names=["no/x cannot be made: no such"])
        self.refuse("new-plugin", "a-b", names=["'a-b'", "my_plugin"], folder=self.folder)
        self.refuse("new-plugin", "tensor", names=["'Tensor'", "meaning"], folder=self.folder)
        self.refuse("new-plugin", "x", names=["CMakeLists.txt cannot be written: file too large"], folder=self.folder,
                    file_limit=100)


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
    SHORT = ["--warmUp=0", "--duration=0", "--iterations=12"]

    def test_summary_is_what_scripts_parse(self):
        said = self.succeed("bench", self.plan(), "--shapes=input:2x1x12x12", *self.SHORT)
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
                                         *self.SHORT))
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
                            f"--exportProfile={profile}", *self.SHORT)
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
                                         *self.SHORT))["roofline"]
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
        said = self.succeed("bench", self.product_and_softmax(), "--roofline", "--target=cpu", *self.SHORT)
        self.assertRegex(said, r"=== Roofline \(\d+ threads?: [\d.]+ GFLOP/s, [\d.]+ GB/s from memory\) ===")
        self.assertRegex(said, r"(compute|memory) +\d+   product \(")
        self.assertRegex(said, r"100\.0 .* Total")


class Profiles(CliTest):
    """Several optimization profiles of one plan; the last names its options in another order."""
    TWO = ["--minShapes=input:1x1x12x12", "--maxShapes=input:2x1x12x12", "--profile=1",
           "--maxShapes=input:5x1x12x12", "--optShapes=input:4x1x12x12", "--minShapes=input:3x1x12x12"]

    def test_run_and_bench_take_the_one_that_is_named(self):
        plan, out = self.folder / "two.plan", self.folder / "out.npz"
        self.assertIn("2 profiles", self.succeed("build", MLP / "model.onnx", "-o", plan, *self.TWO))
        self.refuse("run", plan, "--inputs", CASE, names=["outside profile 0", "2 profiles, and --useProfile"])
        said = self.succeed("run", plan, "--inputs", CASE, "--outputs", out, "--useProfile=1")
        self.assertIn("profile 1 of 2: input 3x1x12x12 to 5x1x12x12", said)
        self.assert_close(np.load(out)["output"], np.load(CASE)["out:output"])
        self.assertIn("profile 0 of 2", self.succeed("run", plan, "--shapes=input:2x1x12x12"))
        said = self.succeed("bench", plan, "--useProfile=1", *Bench.SHORT)
        self.assertIn("Optimization profile 1 of 2", said)
        self.assertIn("Input input: 4x1x12x12", said)  # that profile's optimum
        self.assertEqual(json.loads(self.succeed("bench", plan, "--json", *Bench.SHORT))["profile"], 0)
        self.refuse("run", plan, "--useProfile=2", names=["--useProfile=2: the engine has 2 profiles"])

    def test_a_model_is_built_with_them(self):
        said = self.succeed("run", MLP / "model.onnx", "--inputs", CASE, "--useProfile=1", *self.TWO)
        self.assertIn("profile 1 of 2", said)

    def test_what_does_not_fit_together(self):
        build = ["build", MLP / "model.onnx", "-o", self.folder / "x.plan"]
        self.refuse(*build, *self.TWO, "--maxShapes=input:9x1x12x12", names=["--maxShapes is given twice for profile 1"])
        self.refuse(*build, *self.TWO, "--profile=3", "--minShapes=input:1x1x12x12", names=["profile 2 has no shapes"])
        self.refuse(*build, *self.TWO, "--profile=2", "--minShapes=other:1", names=["no input 'other'"])
        self.refuse(*build, "--profile=-1", names=["--profile"])


class IoFormats(CliTest):
    def test_types_of_inputs_and_outputs(self):
        plan, out = self.folder / "half.plan", self.folder / "out.npz"
        self.succeed("build", MLP / "model.onnx", "-o", plan, "--inputIOFormats=fp16:chw", "--outputIOFormats=fp16:chw",
                     *MLP_PROFILE)
        self.succeed("run", plan, "--inputs", CASE, "--outputs", out)
        result, expected = np.load(out)["output"], np.load(CASE)["out:output"]
        self.assertEqual(result.dtype, np.float16)
        np.testing.assert_allclose(result, expected, rtol=1e-2, atol=1e-2)

    def test_linear_is_taken_where_it_is_allowed(self):
        self.plan("m.plan", options=["--inputIOFormats=fp32:hwc+chw", *MLP_PROFILE])

    def test_what_is_not_possible(self):
        build = ["build", MLP / "model.onnx", "-o", self.folder / "x.plan", *MLP_PROFILE]
        self.refuse(*build, "--inputIOFormats=fp32:hwc", names=["'input'.*kLINEAR are not supported yet"])
        self.refuse(*build, "--outputIOFormats=fp32:chw32", names=["'output'.*kLINEAR are not supported yet"])
        self.refuse(*build, "--inputIOFormats=fp33:chw", names=["'fp33' is not a type; expected one of: fp32"])
        self.refuse(*build, "--inputIOFormats=fp32:cwh", names=["'cwh' is not a format"])
        self.refuse(*build, "--inputIOFormats=fp32", names=["expected TYPE:FORMAT"])
        self.refuse(*build, "--inputIOFormats=fp32:chw,fp32:chw", names=["one for each of the 1 tensors"])


class Dump(CliTest):
    def test_every_stage(self):
        for stage in ("import", "optimize", "plan"):
            options = MLP_PROFILE if stage == "plan" else []
            text = self.succeed("dump", f"--stage={stage}", MLP / "model.onnx", *options)
            self.assertIn("input", text)
            json.loads(self.succeed("dump", f"--stage={stage}", "--json", MLP / "model.onnx", *options))

    def test_optimizing_leaves_fewer_layers(self):
        def layers(stage):
            return len(self.succeed("dump", f"--stage={stage}", RESNET / "model.onnx").splitlines())

        self.assertLess(layers("optimize"), layers("import"))


class Inspect(CliTest):
    def test_text_and_json(self):
        plan = self.plan()
        text = self.succeed("inspect", plan)
        for word in ("input", "output"):
            self.assertIn(word, text)
        self.assertRegex(text, r"for the target (cpu|cuda) \(")
        self.assertIn("12", json.dumps(json.loads(self.succeed("inspect", "--json", plan))))

    def test_names_the_plugin_that_is_absent(self):
        plan = self.plan("v.plan", VIGNETTE, ["--shapes=input:1x3x8x8", f"--plugins={PLUGIN}"])
        self.assertIn("Vignette", self.succeed("inspect", plan))
        self.assertIn("Vignette", json.dumps(json.loads(self.succeed("inspect", "--json", plan))))


class Plugins(CliTest):
    def test_lists_names_versions_and_fields(self):
        rows = {row["name"]: row for row in json.loads(self.succeed("plugins", "--json", f"--plugins={PLUGIN}"))}
        self.assertEqual(rows["DynamicTRTResize"]["version"], "1")
        corners = {"name": "align_corners", "type": "int32", "text": "Default 1."}
        self.assertEqual(rows["DynamicTRTResize"]["fields"], [corners])
        strength = {"name": "strength", "type": "float32", "text": "Default 0.5."}
        self.assertEqual(rows["Vignette"]["fields"], [strength])

    def test_library_in_the_current_folder(self):
        shutil.copy(PLUGIN, self.folder / "libvignette.so")
        self.assertIn("Vignette", self.succeed("plugins", "--plugins=libvignette.so", folder=self.folder))

    def test_library_whose_plugins_replace_others_has_some(self):
        result = run("plugins", f"--plugins={KNOWN}")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("[W]", result.stderr)

    def test_library_without_plugins_is_a_warning(self):
        result = run("plugins", "--plugins=libm.so.6")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"\[W\] libm.so.6: registers no plugin")

    def test_text(self):
        text = self.succeed("plugins")
        self.assertIn("DynamicTRTResize version 1", text)
        self.assertNotIn("Vignette", text)


class Precision(CliTest):
    """Layers' types, targets and portable plans: docs/guide/targets-and-precision.md."""

    HALVES = "--layerPrecisions=*:fp16"

    def kernels_in(self, *options):
        """Types that the optimised network's tensors have."""
        text = self.succeed("dump", "--stage=optimize", MLP / "model.onnx", *options)
        return set(re.findall(r": (float\d+|bfloat16)\[", text))

    def test_types_of_layers(self):
        self.assertEqual(self.kernels_in(), {"float32"})
        self.assertEqual(self.kernels_in("--precisionConstraints=obey", self.HALVES), {"float32", "float16"})
        self.assertEqual(self.kernels_in("--precisionConstraints=prefer", "--layerPrecisions=*:bf16"),
                         {"float32", "bfloat16"})
        self.assertEqual(self.kernels_in("--precisionConstraints=obey", self.HALVES, "--layerPrecisions=*:fp32"),
                         {"float32"})
        self.refuse("build", MLP / "model.onnx", "-o", self.folder / "x", "--layerPrecisions=none:fp16",
                    names=["--layerPrecisions", "no layer 'none'"])
        self.refuse("build", MLP / "model.onnx", "-o", self.folder / "x", "--layerPrecisions=*:fp15",
                    names=["--layerPrecisions", "'fp15' is not a type"])
        self.refuse("build", MLP / "model.onnx", "-o", self.folder / "x", "--layerPrecisions=fp16",
                    names=["--layerPrecisions", "names no layer"])

    def test_results_of_halves(self):
        out = self.folder / "out.npz"
        plan = self.plan("half.plan", options=[*MLP_PROFILE, "--precisionConstraints=obey", self.HALVES])
        self.succeed("run", plan, "--inputs", CASE, "--outputs", out)
        expected, actual = np.load(CASE)["out:output"], np.load(out)["output"]
        self.assertEqual(actual.dtype, np.float32)
        error = np.abs(actual - expected).max() / np.ptp(expected)
        self.assertGreater(error, 0)
        self.assertLess(error, 1e-2)

    def test_portable_plans(self):
        usual, plan = self.plan(), self.plan("portable.plan", options=[*MLP_PROFILE, "--portable"])
        self.assertGreater(plan.stat().st_size, usual.stat().st_size)
        self.assertIn("portable      yes", self.succeed("inspect", plan))
        self.assertNotIn("portable", self.succeed("inspect", usual))
        # Another number of threads is another machine.
        for threads in "1", "3":
            out = self.folder / f"{threads}.npz"
            self.succeed("run", plan, "--inputs", CASE, "--outputs", out, environment={"TENON_THREADS": threads})
            self.assert_close(np.load(out)["output"], np.load(CASE)["out:output"])

    def test_targets(self):
        self.plan("cpu.plan", options=[*MLP_PROFILE, "--target=cpu"])
        self.assertIn("for the target cpu", self.succeed("inspect", self.folder / "cpu.plan"))
        self.refuse("build", MLP / "model.onnx", "-o", self.folder / "x", "--target=tpu", names=["--target", "tpu"])
        if json.loads(self.succeed("doctor", "--json"))["targets"]["cuda"].startswith("no"):
            self.refuse("build", MLP / "model.onnx", "-o", self.folder / "x", *MLP_PROFILE, "--target=cuda",
                        names=['target "cuda"'])


class Doctor(CliTest):
    def test_says_what_this_machine_has(self):
        text = self.succeed("doctor")
        facts = json.loads(self.succeed("doctor", "--json"))
        for key in facts:
            self.assertIn(key, text)
        self.assertGreaterEqual(facts["plugins"], 1)
        self.assertRegex(facts["GPU"], "NVIDIA" if os.path.exists("/dev/nvidiactl") else "none found")
        self.assertEqual(set(facts["targets"]), {"cpu", "cuda"})
        self.assertIn(facts["target"], facts["targets"])
        self.assertRegex(facts["targets"]["cpu"], "^cpu: .* threads$")
        self.assertRegex(facts["targets"]["cuda"], "^(no|cuda): .+")
        for library in ("TBB", "protobuf", "flatbuffers", "libjpeg", "libpng", "libzip"):
            self.assertRegex(facts[library], r"\d+\.\d+")
        self.assertGreaterEqual(facts["threads"], 1)

    def test_says_what_is_wrong_with_the_target_that_is_wanted(self):
        self.assertIn('there is no target "tpu"', self.succeed("doctor", environment={"TENON_TARGET": "tpu"}))


class Help(CliTest):
    def test_every_command_has_help(self):
        version = re.search(r"project\(Tenon VERSION ([\d.]+)", (SOURCE / "CMakeLists.txt").read_text())[1]
        self.assertIn(f"tenon {version} (TensorRT", self.succeed("--version"))
        for command in ("build", "run", "bench", "dump", "inspect", "plugins", "doctor"):
            self.assertIn(command, self.succeed("--help"))
            self.assertIn("Usage", self.succeed(command, "--help"))


if __name__ == "__main__":
    unittest.main()
