"""What options of trtexec do: to how an engine is built, run and described."""
import json
import pathlib
import re
import struct
import subprocess
import time
import unittest

import numpy as np
from onnx import TensorProto, helper, load, save

from support import MLP, MLP_PROFILE, ON_CPU, PLUGIN, RESNET, SHORT_BENCH, TENON, VIGNETTE, CliTest, run

MODEL = MLP / "model.onnx"
CASE = MLP / "case_5x1x12x12.npz"


class Measuring(CliTest):
    """How long and how often."""

    def test_iterations_and_trace_averages(self):
        said, _, queries = self.bench("--warmUp=0", "--duration=0", "--iterations=13", "--avgRuns=4")
        self.assertEqual(len(queries), 13)
        self.assertEqual(said.count("Average on 4 runs - GPU latency: "), 3)
        number = r"[\d.e-]+"
        self.assertRegex(said, rf"\[I\] Trace averages of 4 runs:\n.*\[I\] Average on 4 runs - GPU latency: {number} ms - "
                               rf"Host latency: {number} ms \(enqueue {number} ms\)\n")
        # The first average is that of the first four queries.
        printed = float(re.search(rf"GPU latency: ({number}) ms", said)[1])
        self.assertAlmostEqual(printed, np.mean([q["computeMs"] for q in queries[:4]]), delta=1e-5 * printed)

    def test_duration_and_warm_up(self):
        said, _, queries = self.bench("--warmUp=100", "--duration=0.2", "--iterations=1")
        self.assertGreaterEqual(queries[0]["startComputeMs"], 100)
        self.assertGreaterEqual(queries[-1]["endD2hMs"], 300)
        warm_ups, count = (int(number) for number in re.search(
            r"Warmup completed (\d+) queries over 100 ms\n.*Timing trace has (\d+) queries over [\d.]+ s", said).groups())
        self.assertGreater(warm_ups, 0)
        self.assertEqual(count, len(queries))

    def test_duration_without_end(self):
        plan = self.plan()
        with self.assertRaises(subprocess.TimeoutExpired):
            subprocess.run([TENON, "bench", plan, "--duration=-1", "--warmUp=0"], timeout=1.5, capture_output=True)
        self.refuse("bench", plan, "--duration=-0.5", names=["--duration=-0.5", "or -1"])

    def test_idle_time_lies_between_iterations(self):
        _, _, queries = self.bench("--warmUp=0", "--duration=0", "--iterations=4", "--idleTime=30", "--exposeDMA")
        starts = [query["startH2dMs"] for query in queries]
        self.assertTrue(all(after - before >= 30 for before, after in zip(starts, starts[1:])), starts)

    def test_sleep_time_goes_before_the_first_query(self):
        plan, start = self.plan(), time.monotonic()
        _, _, queries = self.bench(*SHORT_BENCH, "--sleepTime=600", plan=plan)
        self.assertGreaterEqual(time.monotonic() - start, 0.6)
        # The device's clock begins after it: the host has long enqueued what then is computed.
        self.assertLess(queries[0]["startComputeMs"], 300)

    def test_streams(self):
        plan = self.plan()
        for option in ("--infStreams=3", "--streams=3"):
            for threads in ([], ["--threads"]):
                said, warned, queries = self.bench(*SHORT_BENCH, option, *threads, plan=plan)
                self.assertEqual(len(queries), 3 * 12)
                self.assertIn("Inference Streams: 3", said)
                self.assertIn(f"Multithreading: {'Enabled' if threads else 'Disabled'}", said)
                self.assertIn("Throughput says more than Latency", warned)
                wall = max(q["endD2hMs"] for q in queries) - queries[0]["startH2dMs"]
                self.assertAlmostEqual(float(re.search(r"Throughput: ([\d.e+]+) qps", said)[1]), 36 / wall * 1e3,
                                       delta=1e-4 * 36 / wall * 1e3)

    def test_percentiles_are_trtexecs(self):
        """Of twelve sorted values those with rounded down 12 * (1 - p) above them."""
        said, _, queries = self.bench(*SHORT_BENCH, "--percentile=0,50,75,100")
        ranked = sorted(query["computeMs"] for query in queries)
        found = dict(re.findall(r"percentile\((\d+)%\) = ([\d.e-]+) ms", re.search("GPU Compute Time: min.*", said)[0]))
        for percent, i in (("0", 0), ("50", 5), ("75", 8), ("100", 11)):
            self.assertAlmostEqual(float(found[percent]), ranked[i], delta=1e-5 * ranked[i])

    def test_no_data_transfers(self):
        _, _, with_copies = self.bench(*SHORT_BENCH)
        self.assertTrue(all(query["h2dMs"] > 0 for query in with_copies))
        said, _, queries = self.bench(*SHORT_BENCH, "--noDataTransfers")
        self.assertTrue(all(query["h2dMs"] == query["d2hMs"] == 0 for query in queries))
        self.assertRegex(said, r"Data transfers: Disabled")
        self.assertRegex(said, r"H2D Latency: min = 0 ms, max = 0 ms")

    def test_profile_in_a_run_of_its_own(self):
        plan = self.plan()
        said, _, _ = self.bench(*SHORT_BENCH, "--dumpProfile", plan=plan)
        self.assertNotIn("Throughput", said)
        self.assertIn("--separateProfileRun", said)
        self.assertIn("=== Profile (12 iterations ) ===", said)
        said, _, _ = self.bench(*SHORT_BENCH, "--dumpProfile", "--separateProfileRun", plan=plan)
        self.assertLess(said.index("Throughput"), said.index("=== Profile (12 iterations ) ==="))

    def test_cuda_graph(self):
        plan, out = self.plan(), self.folder / "out.json"
        _, noted, _ = self.bench(*SHORT_BENCH, "--useCudaGraph", f"--exportOutput={out}", f"--inputs={CASE}", plan=plan,
                                 environment=ON_CPU)
        self.assertIn("[I] A query was captured in a CUDA graph", noted)
        self.assertNotIn("[W] --useCudaGraph", noted)
        expected = np.load(CASE)["out:output"]
        self.assert_close(np.array(json.loads(out.read_text())[0]["values"], np.float32).reshape(expected.shape), expected)

    def test_time_of_loading(self):
        for options in ([self.plan()], [self.plan(), "--asyncFileReader"], [MODEL, *MLP_PROFILE]):
            said = self.succeed("bench", *options, "--timeDeserialize")
            number = r"[\d.e-]+"
            self.assertRegex(said, rf"First deserialization time = {number} milliseconds")
            self.assertRegex(said, rf"Total deserialization time = {number} milliseconds in 20 iterations, average time = "
                                   rf"{number} milliseconds, first time = {number} milliseconds\.")
            self.assertNotIn("Throughput", said)


class Tensors(CliTest):
    """What goes in and what comes out."""

    def setUp(self):
        super().setUp()
        self.model_plan = self.plan()
        self.raw, self.out = self.folder / "in.bin", self.folder / "out.json"
        self.array = np.load(CASE)["in:input"]
        self.array.tofile(self.raw)
        self.expected = np.load(CASE)["out:output"]
        self.given = ["--shapes=input:5x1x12x12", f"--loadInputs='input':{self.raw}"]

    def expect_case(self):
        (output,) = json.loads(self.out.read_text())
        self.assertEqual((output["name"], output["dimensions"]), ("output", "5x10"))
        self.assert_close(np.array(output["values"], np.float32).reshape(5, 10), self.expected)

    def test_outputs_as_json(self):
        for more in ([], ["--noDataTransfers"], ["--infStreams=2", "--threads"], ["--allocationStrategy=profile"],
                     ["--allocationStrategy=runtime"], ["--allocationStrategy=static"], ["--asyncFileReader"],
                     ["--useCudaGraph", "--allocationStrategy=runtime"]):
            self.bench(*SHORT_BENCH, *self.given, f"--exportOutput={self.out}", *more, plan=self.model_plan)
            self.expect_case()
            self.out.unlink()

    def test_outputs_printed(self):
        said, _, _ = self.bench(*SHORT_BENCH, *self.given, "--dumpOutput", plan=self.model_plan)
        values = re.search(r"\[I\] Output Tensors:\n.*\[I\] output: \(5x10\)\n\S+ \[I\] (.*)\n", said)[1]
        self.assert_close(np.array(values.split(), np.float32).reshape(5, 10), self.expected)

    def test_raw_files(self):
        self.bench(*SHORT_BENCH, *self.given, "--dumpRawBindingsToFile", plan=self.model_plan)
        np.testing.assert_array_equal(np.fromfile(self.folder / "input.input.5.1.12.12.fp32.raw", np.float32),
                                      self.array.ravel())
        self.assert_close(np.fromfile(self.folder / "output.output.5.10.fp32.raw", np.float32).reshape(5, 10), self.expected)

    def test_shapes_by_a_pattern(self):
        self.bench(*SHORT_BENCH, "--shapes=in*:5x1x12x12", f"--loadInputs={self.raw}", f"--exportOutput={self.out}",
                   plan=self.model_plan)
        self.expect_case()
        self.refuse("bench", self.model_plan, "--shapes=im*:5x1x12x12", names=[r"no input 'im\*'; its inputs are: input"])

    def test_raw_inputs_of_the_wrong_size(self):
        self.raw.write_bytes(b"1234")
        self.refuse("bench", self.model_plan, *self.given, names=["has 4 bytes; input 'input' of shape 5x1x12x12 takes 2880"])

    def test_optimum_of_the_profile_is_what_runs(self):
        said = self.succeed("bench", MODEL, "--minShapes=input:1x1x12x12", "--optShapes=input:3x1x12x12",
                            "--maxShapes=input:5x1x12x12", *SHORT_BENCH)
        self.assertIn("Input input: 3x1x12x12", said)


class Engines(CliTest):
    """Building, keeping and describing."""

    def test_saves_loads_and_skips(self):
        plan = self.folder / "kept.plan"
        for option in ("--skipInference", "--buildOnly"):
            said = self.succeed("bench", f"--onnx={MODEL}", f"--saveEngine={plan}", option, *MLP_PROFILE)
            self.assertIn("Skipped inference phase", said)
            self.assertNotIn("Throughput", said)
        self.assertIn("Throughput", self.succeed("bench", f"--loadEngine={plan}", *SHORT_BENCH))
        self.assertIn("Throughput", self.succeed("bench", f"--loadEngine={plan}", "--asyncFileReader", *SHORT_BENCH))
        self.refuse("bench", plan, f"--saveEngine={plan}2", names=["--saveEngine: .*kept.plan is a plan already"])
        self.refuse("bench", MODEL, *MLP_PROFILE, "--asyncFileReader", names=["--asyncFileReader: .*model.onnx is no plan"])
        plan.write_bytes(plan.read_bytes()[:-1])
        self.refuse("bench", plan, "--asyncFileReader", names=["kept.plan"])

    def test_version_of_a_plan(self):
        plan = self.plan()
        said = self.succeed("bench", plan, "--getPlanVersionOnly")
        version = ".".join(str(part) for part in plan.read_bytes()[24:28])
        self.assertIn(f"[I] Plan was created with TensorRT version {version}\n", said)
        self.assertTrue(version.startswith("10.16."))
        self.assertNotIn("Throughput", said)
        self.refuse("bench", MODEL, "--getPlanVersionOnly", names=["--getPlanVersionOnly: .*model.onnx: is not a plan"])

    def test_layers_and_profiles(self):
        layers = self.folder / "layers.json"
        options = ["--dumpLayerInfo", f"--exportLayerInfo={layers}", "--dumpOptimizationProfile"]
        for command in (["build", MODEL, "-o", self.folder / "m.plan", *MLP_PROFILE], ["bench", self.plan(), *SHORT_BENCH],
                        ["bench", self.plan(), "--skipInference"]):
            said = self.succeed(*command, *options)
            names = [layer if isinstance(layer, str) else layer["Name"] for layer in json.loads(layers.read_text())["Layers"]]
            self.assertGreater(len(names), 0)
            self.assertRegex(said, r"\[I\] Layer Information:\n")
            for name in names:
                self.assertIn(name, said)
            self.assertRegex(said, r"\[I\] Optimization Profile Information:\n.*\[I\] Model input input \(profile 0\): "
                                   "min=1x1x12x12, opt=1x1x12x12, max=5x1x12x12\n")
            layers.unlink()

    def test_layers_have_kernels_and_errors(self):
        model = self.folder / "m.onnx"
        diagonal = 2 * np.eye(4)  # results are exact
        save(helper.make_model(helper.make_graph(
            [helper.make_node("Conv", ["x", "w"], ["c"], "conv"), helper.make_node("Softmax", ["c"], ["y"], "softmax")], "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, 8, 8])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [helper.make_tensor("w", TensorProto.FLOAT, [4, 4, 1, 1], diagonal.flatten())]),
            opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        said = self.succeed("bench", model, *SHORT_BENCH, "--layers", environment=ON_CPU)
        self.assertRegex(said, r"(?m)^.* +0\.00e\+00 +0\.00e\+00 +conv \(\S+\)$")
        self.assertRegex(said, r"(?m)^.*\d {20,}softmax \(\S+\)$")

    def test_verbosity(self):
        def layers(verbosity):
            path = self.folder / "layers.json"
            self.succeed("bench", MODEL, *MLP_PROFILE, f"--profilingVerbosity={verbosity}", f"--exportLayerInfo={path}",
                         "--skipInference")
            return path.read_text()

        self.assertLess(len(layers("layer_names_only")), len(layers("detailed")))
        self.assertIn("[V]", run("bench", MODEL, *MLP_PROFILE, "--skipInference", "--verbose").stderr)
        self.assertNotIn("[V]", run("bench", MODEL, *MLP_PROFILE, "--skipInference").stderr)

    def build(self, *options):
        done = run("build", MODEL, "-o", self.folder / "x.plan", *MLP_PROFILE, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def test_what_the_builder_warns_of(self):
        for option, cause in (("--fp8", "kFP8 changes nothing"), ("--int4", "kINT4 changes nothing"),
                              ("--int8", "ranges of tensors are placeholders"), ("--sparsity=enable", "kSPARSE_WEIGHTS is not used yet")):
            self.assertIn(cause, self.build(option))
        self.assertIn("ranges of tensors are placeholders", self.build("--best"))
        self.assertIn("kINT8 changes nothing", self.build("--stronglyTyped", "--int8"))
        for option, flag in (("--fp16", "kFP16"), ("--bf16", "kBF16")):
            self.assertIn(f"{flag} changes nothing: a strongly typed network", self.build("--stronglyTyped", option))
        self.assertNotIn("[W]", self.build("--sparsity=disable"))

    def test_values_that_are_refused(self):
        for option, cause in (("--sparsity=force", "prune the model"), ("--runtimePlatform=WindowsAMD64", "plans are for Linux"),
                              ("--layerDeviceTypes=*:DLA", "there is no DLA"), ("--layerDeviceTypes=none:GPU", "no layer 'none'"),
                              ("--layerOutputTypes=none:fp16", "no layer 'none'"), ("--layerDeviceTypes=*:TPU", "'TPU' is not a device"), ("--device=99", "numbered from 0"),
                              ("--memPoolSize=workspace:1M,dlaSRAM:1M", "no DLA"), ("--calib=x", "--int8"),
                              ("--minShapesCalib=input:1x1x12x12", "--calib"), ("--optShapesCalib=input:1x1x12x12", "--calib"),
                              ("--maxShapesCalib=input:1x1x12x12", "--calib"), ("--calibProfile=0", "--calib")):
            self.refuse("build", MODEL, "-o", self.folder / "x.plan", *MLP_PROFILE, option, names=[option.split("=")[0], cause])
        both = ["--noBuilderCache", f"--timingCacheFile={self.folder / 'cache'}"]
        self.refuse("build", MODEL, "-o", self.folder / "x.plan", *MLP_PROFILE, *both, names=both[:1])
        self.refuse("build", MODEL, "-o", self.folder / "x.plan", *MLP_PROFILE, "--noTF32", "--tf32", names=["--tf32 excludes --noTF32"])
        self.refuse("build", MODEL, "-o", self.folder / "x.plan", *MLP_PROFILE, "--fp8", "--int8", names=["--(int8|fp8) excludes --(fp8|int8)"])
        self.build("--noBuilderCache", "--noTF32", "--layerDeviceTypes=*:GPU", "--runtimePlatform=SameAsBuild", "--stronglyTyped",
                   "--memPoolSize=workspace:64M,tacticSharedMem:48K", "--builderOptimizationLevel=0")

    def test_a_calibration_cache_is_used(self):
        cache = self.folder / "calibration.cache"
        cache.write_bytes(b"TRT-101600-EntropyCalibration2\ninput: 3c010a14\n")
        said = self.build("--int8", f"--calib={cache}")
        self.assertIn("tensors have no range", said)
        self.build("--int8", f"--calib={cache}", "--optShapesCalib=input:2x1x12x12")
        cause = "--calibProfile=3: there are 1 profiles"
        self.refuse("build", MODEL, "-o", self.folder / "y.plan", *MLP_PROFILE, "--int8", f"--calib={cache}", "--calibProfile=3",
                    names=[cause])
        self.refuse("build", MODEL, "-o", self.folder / "y.plan", *MLP_PROFILE, "--int8", f"--calib={cache}",
                    "--minShapesCalib=input:2x1x12x12", "--maxShapesCalib=input:2x1x12x12", names=["--optShapesCalib"])
        self.refuse("build", MODEL, "-o", self.folder / "y.plan", *MLP_PROFILE, "--int8", f"--calib={self.folder / 'no'}",
                    names=["no: cannot open: no such file"])
        cache.write_bytes(b"ranges")
        self.refuse("build", MODEL, "-o", self.folder / "y.plan", *MLP_PROFILE, "--int8", f"--calib={cache}",
                    names=["does not begin with a line like"])

    def test_calibration_data_becomes_a_cache(self):
        rng, cache, data = np.random.default_rng(1), self.folder / "found.cache", self.folder / "data"
        data.mkdir()
        for i in range(2):
            np.savez(data / f"{i}.npz", input=rng.random((5, 1, 12, 12), np.float32))
        said = self.build("--int8", f"--calibData={data}", f"--calib={cache}", "--calibAlgorithm=minmax")
        self.assertNotIn("[W]", said)
        lines = cache.read_text().splitlines()
        self.assertRegex(lines[0], r"TRT-\d+-MinMaxCalibration")
        scale = struct.unpack(">f", bytes.fromhex(dict(line.rsplit(": ", 1) for line in lines[1:])["input"]))[0]
        largest = max(np.load(data / f"{i}.npz")["input"].max() for i in range(2))
        self.assertAlmostEqual(scale * 127, largest, places=6)
        before = cache.read_bytes()
        self.assertNotIn("[W]", self.build("--int8", f"--calibData={self.folder / 'no'}", f"--calib={cache}"))
        self.assertEqual(cache.read_bytes(), before)
        self.assertIn("2 samples at the ends of files",
                      self.build("--int8", f"--calibData={data}", "--optShapesCalib=input:4x1x12x12"))

    def test_calibration_data_that_is_wrong(self):
        def refuse(cause, *options, **arrays):
            path = self.folder / "data.npz"
            if arrays:
                np.savez(path, **arrays)
            self.refuse("build", MODEL, "-o", self.folder / "y.plan", *MLP_PROFILE, "--int8", f"--calibData={path}",
                        f"--calib={self.folder / 'none.cache'}", *options, names=[cause])
            self.assertFalse((self.folder / "none.cache").exists())

        good = np.ones((3, 1, 12, 12), np.float32)
        refuse("has no array 'input'", other=good)
        refuse("'input' is int32", input=good.astype(np.int32))
        refuse("all axes but the first must agree", "--optShapesCalib=input:1x1x12x12", input=good[:, :, :5])
        refuse("'input' has 0 samples", input=good[:0])
        refuse("holds no whole batch of 4 samples", "--optShapesCalib=input:4x1x12x12", input=good)
        good[1, 0, 0, 0] = np.nan
        refuse("tensor 'input' holds NaN or infinity in batch 1", input=good)
        (self.folder / "data.npz").write_bytes(b"none")
        refuse("data.npz")
        empty = self.folder / "empty"
        empty.mkdir()
        self.refuse("build", MODEL, "-o", self.folder / "y.plan", *MLP_PROFILE, "--int8", f"--calibData={empty}",
                    names=["holds no .npz file"])

    def test_types_of_outputs(self):
        """One half in the middle, where all was float32."""
        def types(*options):
            path = self.folder / "layers.json"
            self.build("--profilingVerbosity=detailed", f"--exportLayerInfo={path}", "--target=cpu", *options)
            return re.findall(r"FP16|Half|float16", path.read_text())

        self.assertEqual(types(), [])
        layer = "--layerOutputTypes=/layers/layers.3/Gemm:fp16"
        self.assertNotEqual(types("--precisionConstraints=obey", layer), [])

    def test_plugins_by_each_name(self):
        for option in ("--plugins", "--staticPlugins", "--dynamicPlugins"):
            self.plan("v.plan", VIGNETTE, ["--shapes=input:1x3x8x8", f"{option}={PLUGIN}"])

    def test_workspace_of_earlier_versions(self):
        """Nothing may be taken where no kernel's workspace fits; both options say the same."""
        for option in ("--workspace=0", "--memPoolSize=workspace:0"):
            self.build(option)
        self.refuse("build", MODEL, "-o", self.folder / "y.plan", *MLP_PROFILE, "--workspace=x", names=["--workspace"])

    def test_a_plugin_with_the_name_of_an_operator(self):
        model = self.folder / "m.onnx"
        save(helper.make_model(helper.make_graph(
            [helper.make_node("ScatterElements", ["x", "i", "u"], ["y"], axis=0)], "g",
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xu"],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [helper.make_tensor("i", TensorProto.INT64, [2, 3], [0, 1, 0, 1, 0, 1])]),
            opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        plain = self.succeed("dump", model)
        self.assertNotEqual(self.succeed("dump", model, "--enablePluginOverride"), plain)



class Weights(CliTest):
    """Plans whose weights are replaced, or come later."""

    def test_a_plan_without_weights_gets_a_models(self):
        whole, stripped, out = (self.folder / name for name in ("whole.plan", "stripped.plan", "out.json"))
        self.succeed("build", MODEL, *MLP_PROFILE, "--refit", "-o", whole)
        for option in ("--stripAllWeights", "--stripWeights"):
            self.succeed("build", MODEL, *MLP_PROFILE, option, "-o", stripped)
            self.assertLess(stripped.stat().st_size, whole.stat().st_size / 2)
            self.refuse("bench", stripped, names=["stripped of its weights"])
        for plan in (stripped, whole):
            self.bench(*SHORT_BENCH, f"--refitFromOnnx={MODEL}", f"--exportOutput={out}", f"--inputs={CASE}", plan=plan)
            expected = np.load(CASE)["out:output"]
            self.assert_close(np.array(json.loads(out.read_text())[0]["values"], np.float32).reshape(expected.shape), expected)
        self.refuse("bench", self.plan(), f"--refitFromOnnx={MODEL}", names=["not refittable"])
        self.refuse("bench", whole, "--refitFromOnnx=absent.onnx", names=["absent.onnx", "no such file"])

    def test_budgets_of_weights_on_a_gpu(self):
        """On a CPU nothing is streamed, and any budget is as good."""
        allowed = ["--allowWeightStreaming", "--target=cpu"]
        for budget in ("50%", "-1", "-2", "64K", "0"):
            said = self.succeed("bench", MLP / "model.onnx", *MLP_PROFILE, *allowed, f"--weightStreamingBudget={budget}", *SHORT_BENCH)
            self.assertIn("Weight streaming is disabled: all weights, 0 bytes", said)
        for budget in ("101%", "-3", "half", "nan%", "1e30G"):
            self.refuse("bench", MLP / "model.onnx", *MLP_PROFILE, *allowed, f"--weightStreamingBudget={budget}",
                        names=["--weightStreamingBudget", budget, "64M"])
        self.refuse("bench", MLP / "model.onnx", *MLP_PROFILE, "--weightStreamingBudget=1", names=["--allowWeightStreaming"])

    def test_refits_are_listed_and_timed(self):
        shapes = "--shapes=input:1x3x32x32"
        plan = self.plan("resnet.plan", model=RESNET / "model.onnx", options=["--refit", shapes])
        said = self.succeed("bench", plan, "--dumpRefit", "--skipInference")
        of_layers, by_name = said.split("Refittable weights by name:")
        convolutions = [node for node in load(RESNET / "model.onnx").graph.node if node.op_type == "Conv"]
        self.assertEqual(of_layers.count(" Kernel\n"), len(convolutions), said)
        for node in convolutions:
            self.assertIn(f"] {node.input[1]}\n", by_name)
        for model, options in (plan, [f"--refitFromOnnx={RESNET}/model.onnx"]), (RESNET / "model.onnx", ["--refit", shapes]):
            said = self.bench(*SHORT_BENCH, "--timeRefit", *options, plan=model)[0]
            self.assertGreater(float(re.search(r"Engine refitted in ([0-9.]+) ms\.", said)[1]), 0)
        self.refuse("bench", plan, "--timeRefit", names=["--timeRefit", "is a plan", "--refitFromOnnx"])
        self.refuse("bench", self.plan(), "--dumpRefit", names=["not refittable"])
        self.refuse("bench", MODEL, "--dumpRefit", *MLP_PROFILE, names=["--dumpRefit", "without --refit"])
        said = self.succeed("bench", plan, "--timeRefit", f"--refitFromOnnx={RESNET}/model.onnx", "--skipInference")
        self.assertIn("Engine refitted in", said)
        self.refuse("bench", plan, "--saveAllDebugTensors=raw", *SHORT_BENCH, names=["no debug tensors", "--markDebug"])

    def test_a_plan_holds_plugin_libraries(self):
        plain, holding = (self.plan(f"{name}.plan", options=[*MLP_PROFILE, *more]) for name, more in (
            ("plain", []), ("holding", [f"--setPluginsToSerialize={PLUGIN}"])))
        self.assertGreaterEqual(holding.stat().st_size, plain.stat().st_size + pathlib.Path(PLUGIN).stat().st_size)
        self.refuse("bench", holding, *SHORT_BENCH, names=["libtest_cli_plugin.so", "trust"])
        for command in (["bench", *SHORT_BENCH], ["bench", "--asyncFileReader", *SHORT_BENCH], ["run"]):
            self.succeed(*command, holding, "--versionCompatible")
        self.bench("--versionCompatible", *MLP_PROFILE, f"--setPluginsToSerialize={PLUGIN}", *SHORT_BENCH, plan=MODEL)

    def test_debug_tensors_are_tensors_of_the_model(self):
        plan = self.folder / "debug.plan"
        self.refuse("build", MODEL, *MLP_PROFILE, "-o", plan, "--markDebug=nobody", names=["--markDebug", "'nobody'"])
        self.succeed("build", MODEL, *MLP_PROFILE, "-o", plan, "--markUnfusedTensorsAsDebugTensors")

    def test_debug_tensors_are_written(self):
        model, plan, inputs = (self.folder / name for name in ("m.onnx", "m.plan", "x.npz"))
        x = np.array([[-1.5, 2, 0.25], [3, -4, 5]], np.float32)
        np.savez(inputs, x=x)
        save(helper.make_model(helper.make_graph(
            [helper.make_node("Sin", ["x"], ["a/b"]), helper.make_node("MatMul", ["a/b", "w"], ["y"])], "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [helper.make_tensor("w", TensorProto.FLOAT, [3, 1], [1, 2, 3])]),
            opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        self.succeed("build", model, "-o", plan, "--markDebug=a/b")
        raw = self.folder / "sin.raw"
        run_options = [plan, *SHORT_BENCH, f"--inputs={inputs}"]
        self.succeed("bench", *run_options, f"--saveDebugTensors=a/b:{raw}",
                     "--saveAllDebugTensors=summary,numpy,string,raw", folder=self.folder)
        expected = np.sin(x)
        np.testing.assert_allclose(np.frombuffer(raw.read_bytes(), np.float32).reshape(2, 3), expected, rtol=1e-6)
        self.assertEqual((self.folder / "0000_a_b.raw").read_bytes(), raw.read_bytes())
        np.testing.assert_allclose(np.load(self.folder / "0000_a_b.npy"), expected, rtol=1e-6)
        text = (self.folder / "0000_a_b.str").read_text()
        np.testing.assert_allclose(json.loads(re.sub(r"\s+", ",", text.strip())), expected, rtol=1e-5)
        (tensor,) = json.loads((self.folder / "tensor_summary.json").read_text())["tensors"]
        self.assertEqual((tensor["name"], tensor["shape"], tensor["type"]), ("a/b", [2, 3], "FLOAT"))
        for key, value in (("min", expected.min()), ("max", expected.max()), ("avg", expected.mean())):
            self.assertAlmostEqual(tensor["statistics"][key], value, places=6)
        self.assertEqual(tensor["files"], {"assigned": str(raw), "numpy": "0000_a_b.npy", "string": "0000_a_b.str",
                                           "raw": "0000_a_b.raw"})
        for options, names in ((["--saveDebugTensors=nobody:x.raw"], ["'nobody'", "--markDebug=nobody"]),
                               (["--saveDebugTensors=a/b"], ["expected NAME:FILE"]),
                               (["--saveAllDebugTensors=xml"], ["'xml'", "summary, numpy, string, raw"]),
                               ([f"--saveDebugTensors=a/b:{self.folder}/no/x.raw"], ["no/x.raw"]),
                               (["--saveDebugTensors=a/b:1.raw,a/b:2.raw"], ["'a/b' has two files"]),
                               (["--saveAllDebugTensors=raw", "--skipInference"], ["there is none with --skipInference"]),
                               (["--saveAllDebugTensors=summary", "--saveDebugTensors=a/b:tensor_summary.json"], ["tensor_summary.json"])):
            self.refuse("bench", *run_options, *options, names=names, folder=self.folder)


if __name__ == "__main__":
    unittest.main()
