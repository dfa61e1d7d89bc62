"""What a build takes and writes: profiles, formats, types, targets."""
import json
import re
import shutil
import subprocess
import unittest

import numpy as np
from onnx import TensorProto, helper, save

from support import MLP, MLP_PROFILE, RESNET, SHORT_BENCH, TENON, CliTest, run

CASE = MLP / "case_5x1x12x12.npz"


class Build(CliTest):
    def test_writes_the_plan_and_says_so(self):
        plan = self.folder / "some.plan"
        said = self.succeed("build", MLP / "model.onnx", f"--saveEngine={plan}", *MLP_PROFILE)
        self.assertTrue(plan.read_bytes().startswith(b"ftrt\0\0\0\0TENONPLN"))
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

    def test_deterministic_builds_give_the_same_bytes(self):
        plans = [self.plan(f"{i}.plan", RESNET / "model.onnx",
                           ["--shapes=input:1x3x64x64", "--deterministic"]).read_bytes() for i in range(3)]
        self.assertEqual(plans, 3 * plans[:1])

    def test_timing_cache_is_filled_and_used_again(self):
        """Convolutions have kernels that compete, where oneDNN is there."""
        model, cache, shape = RESNET / "model.onnx", self.folder / "timing.cache", "--shapes=input:1x3x64x64"
        first = self.plan("a.plan", model, [shape, f"--timingCacheFile={cache}"]).read_bytes()
        stored = cache.read_bytes()
        if json.loads(self.succeed("doctor", "--json"))["oneDNN"][0].isdigit():
            self.assertIn(b"convolution", stored)
            self.refuse("build", model, shape, "-o", self.folder / "c.plan", "--errorOnTimingCacheMiss", names=["timing cache"])
        again = self.plan("b.plan", model, [shape, f"--timingCacheFile={cache}", "--errorOnTimingCacheMiss"]).read_bytes()
        self.assertEqual(first, again)
        self.assertEqual(stored, cache.read_bytes())

    def test_builds_at_the_same_time_share_a_timing_cache(self):
        """None of them loses what another has measured."""
        cache, shapes = f"--timingCacheFile={self.folder / 'timing.cache'}", [f"--shapes=input:1x3x{size}x{size}" for size in (32, 48, 64)]
        builds = [subprocess.Popen([TENON, "build", RESNET / "model.onnx", shape, cache, "-o", self.folder / f"{i}.plan"],
                                   stdout=subprocess.DEVNULL) for i, shape in enumerate(shapes)]
        self.assertEqual([build.wait() for build in builds], [0, 0, 0])
        for i, shape in enumerate(shapes):
            self.plan(f"{i}.plan", RESNET / "model.onnx", [shape, cache, "--errorOnTimingCacheMiss"])
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["0.plan", "1.plan", "2.plan", "timing.cache"])

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
        self.assertNotIn("Building the plan", result.stderr)  # what that takes is in the last line
        self.assertRegex(result.stdout, r", \d+\.\d\d s\)\n$")
        self.assertNotIn("\r", result.stderr + result.stdout)


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
        said = self.succeed("bench", plan, "--useProfile=1", *SHORT_BENCH)
        self.assertIn("Optimization profile 1 of 2", said)
        self.assertIn("Input input: 4x1x12x12", said)  # that profile's optimum
        self.assertEqual(json.loads(self.succeed("bench", plan, "--json", *SHORT_BENCH))["profile"], 0)
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

    def test_layouts_of_inputs_and_outputs(self):
        """Arrays are in rows whatever the engine's format is; raw files are in the format."""
        image = np.random.default_rng(3).standard_normal((1, 3, 64, 64)).astype(np.float32)
        np.savez(self.folder / "in.npz", input=image)
        shapes = "--shapes=input:1x3x64x64"
        plain = self.plan("plain.plan", RESNET / "model.onnx", [shapes, "--deterministic"])
        self.succeed("run", plain, "--inputs", self.folder / "in.npz", "--outputs", self.folder / "plain.npz")
        expected = np.load(self.folder / "plain.npz")
        packed = np.zeros((1, 64, 64, 8), np.float32)
        packed[..., :3] = image.transpose(0, 2, 3, 1)
        packed.tofile(self.folder / "in.raw")
        for formats in ("fp32:hwc8", "fp32:hwc", "fp32:chw32"):
            plan = self.plan("packed.plan", RESNET / "model.onnx", [shapes, "--deterministic", f"--inputIOFormats={formats}"])
            given = [("--inputs", self.folder / "in.npz")]
            if formats == "fp32:hwc8":
                given.append((f"--loadInputs=input:{self.folder / 'in.raw'}",))
            for inputs in given:
                self.succeed("run", plan, *inputs, "--outputs", self.folder / "out.npz")
                result = np.load(self.folder / "out.npz")
                for name in expected.files:
                    np.testing.assert_allclose(result[name], expected[name], rtol=1e-4, atol=1e-4)
            self.succeed("bench", plan, *SHORT_BENCH)

    def test_linear_is_taken_where_it_is_allowed(self):
        self.plan("m.plan", options=["--inputIOFormats=fp32:hwc+chw", *MLP_PROFILE])

    def test_what_is_not_possible(self):
        build = ["build", MLP / "model.onnx", "-o", self.folder / "x.plan", *MLP_PROFILE]
        self.refuse(*build, "--outputIOFormats=fp32:dhwc", names=["output 'output'.*kDHWC is for tensors of rank 4 or 5, found rank 2"])
        self.refuse(*build, "--outputIOFormats=fp32:chw32", names=["output 'output'.*kCHW32 is for tensors of rank 3 or 4, found rank 2"])
        self.refuse(*build, "--inputIOFormats=fp33:chw", names=["'fp33' is not a type; expected one of: fp32"])
        self.refuse(*build, "--inputIOFormats=fp32:cwh", names=["'cwh' is not a format"])
        self.refuse(*build, "--inputIOFormats=fp32", names=["expected TYPE:FORMAT"])
        self.refuse(*build, "--inputIOFormats=fp32:chw,fp32:chw", names=["one for each of the 1 tensors"])


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


if __name__ == "__main__":
    unittest.main()
