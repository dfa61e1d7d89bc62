"""`tenon plugins check`: what it finds in broken plugins, and that sound ones pass."""
import json
import os
import unittest
from unittest import mock

from support import KNOWN, PLUGIN, SOURCE, CliTest, run

BROKEN = os.environ.get("TENON_BROKEN_PLUGINS", "")  # broken_plugins*.cc, built
CUDART = os.environ.get("TENON_CUDART_LIBRARY", "")  # our runtime
LOST_GPU = os.environ.get("TENON_LOST_GPU", "")  # lost_gpu.cc, built
PRELOADING = {"ASAN_OPTIONS": "verify_asan_link_order=0"}  # else AddressSanitizer wants to be first
SHAPES = ["--shapes=2x3x4", "--types=float32"]


def cases_of(*folders):
    return [f"--cases={SOURCE}/plugins/{folder}/cases.json" for folder in folders]


class Broken(CliTest):
    """Each plugin of broken_plugins*.cc breaks one rule, and is found by the check of that rule."""

    def failures(self, plugin, *options):
        result = run("plugins", "check", BROKEN, "--json", f"--plugin={plugin}", *options)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("1 of 1 plugins break their contract", result.stderr)
        (report,) = json.loads(result.stdout)
        self.assertEqual(report["name"], plugin)
        return {row["check"]: row for row in report["checks"] if row["outcome"] == "failed"}

    def assert_finds(self, plugin, check, expected, found, *options):
        failures = self.failures(plugin, *(options or SHAPES))
        self.assertIn(check, failures, failures)
        self.assertRegex(failures[check]["expected"], expected)
        self.assertRegex(failures[check]["found"], found)
        return failures

    def test_memory(self):
        self.assert_finds("WritesBehindOutput", "bounds", r"outside of output 0 \(96 bytes\)",
                          "4 bytes written, the first 0 bytes behind the end")
        self.assert_finds("WritesBehindWorkspace", "bounds", r"outside of the workspace .*\(16 bytes\)",
                          "1 bytes written, the first 0 bytes behind the end")
        self.assert_finds("WritesInput", "inputs", "leave input 0 as it is", r"byte \d of it written")
        self.assert_finds("WritesLess", "written", "all 24 elements of output 0", "element 23 left")
        self.assert_finds("ReadsWorkspace", "independence", "inputs alone", "changes with what was in")

    def test_sizes(self):
        self.assertEqual(set(self.assert_finds("SaysTooMany", "sizes", "output 1, a size, to say 0 to 24",
                                               r"^1\d\d$")), {"sizes"})

    def test_copies(self):
        self.assert_finds("SerializesMore", "serialisation", r"the 12 bytes of getSerializationSize\(\)",
                          "1 bytes written behind them")
        found = self.assert_finds("ForgetsInClone", "clone", "the same 12 bytes", "another byte at", *SHAPES,
                                  "--fields=factor=3")
        self.assertNotIn("serialisation", found)

    def test_results(self):
        self.assert_finds("CountsCalls", "repetition", "when it runs again", "another one at")
        self.assertEqual(set(self.assert_finds("SharesMemory", "threads", "another context runs", "another one")),
                         {"threads"})

    def test_formats(self):
        self.assert_finds("LooksAhead", "formats", "position 0 to depend on the tensors up to it alone",
                          "by a later one", "--shapes=2x3x4")
        found = self.assert_finds("TakesWrongType", "bounds", r"output 0 \(48 bytes\)", "bytes written",
                                  "--shapes=2x3x4")
        self.assertIn("float16", found["bounds"]["input"])

    def test_shape_of_a_case(self):
        tensor = {"name": "x", "type": "float32", "dims": [2, 1], "values": [1, 2]}
        cases = self.folder / "cases.json"
        cases.write_text(json.dumps([{
            "plugin": "SoundV2DynamicExt", "version": "1", "namespace": "", "name": "wider", "attributes": {},
            "inputs": [tensor], "outputs": [{**tensor, "dims": [2, 4], "values": 8 * [2]}], "tolerance": [0, 0]}]))
        self.assertEqual(set(self.assert_finds("SoundV2DynamicExt", "result", "output 0 of 2x4", "^2x1$",
                                               f"--cases={cases}")), {"result"})

    def test_vector_formats(self):
        found = self.assert_finds("ForgetsPadding", "format's result", "in linear tensors", r"output 0\[\d+\] = ",
                                  "--shapes=2x3x5x7")
        self.assertIn("kCHW32", found["format's result"]["input"])
        found = self.assert_finds("TakesWrongFormat", "format's result", "in linear tensors", r"output 0\[\d+\] = ",
                                  "--shapes=2x3x5x7")
        self.assertIn("kHWC", found["format's result"]["input"])

    def test_aliased_inputs(self):
        self.assert_finds("AliasesNothing", "formats", r"getAliasedInput\(0\) to be -1 or one of the 1 inputs", "2")
        self.assert_finds("AliasesTwice", "formats", r"getAliasedInput\(1\) to name an input that no other", "0")
        self.assert_finds("AliasesSmaller", "formats", "output 0 to be as large as input 0", "3072 and 96 bytes")
        self.assert_finds("WritesBehindAliased", "bounds", r"outside of input 0 \(96 bytes\)", "4 bytes written")

    def test_fields(self):
        found = self.assert_finds("TakesWrongFields", "wrong fields", r"null from createPlugin\(\)", "a plugin")
        self.assertIn("factor", found["wrong fields"]["input"])

    def test_fields_of_other_plugins(self):
        text = self.succeed("plugins", "check", PLUGIN, "--plugin=Vignette", "--fields=other=1")
        self.assertIn("0 failed", text)

    def test_library_in_the_current_folder(self):
        # Told by the message: a program that is not installed finds libraries here anyway.
        (self.folder / "text.so").write_text("no library")
        self.refuse("plugins", "check", "text.so", folder=self.folder, names=[r"tenon: \./text\.so: cannot"])

    def test_process(self):
        with mock.patch.dict(os.environ, ASAN_OPTIONS="handle_segv=0"):  # which would end it in its own way
            self.assert_finds("Crashes", "enqueue", "come back", "signal SIGSEGV")
        self.assert_finds("Hangs", "enqueue", "come back", "within 2 s", *SHAPES, "--timeLimit=2")

    def test_names_the_plugin_in_text(self):
        result = run("plugins", "check", BROKEN, *SHAPES, "--plugin=WritesInput")
        self.assertRegex(result.stdout, r"WritesInput version 1 \(IPluginV2DynamicExt\): \d+ checks passed")
        self.assertRegex(result.stdout, r"FAILED inputs \(2x3x4 float32\): expected .* input 0 .*; found ")


class Gpu(CliTest):
    """What is done on a GPU, with our runtime in the place of CUDA's: its memory is the device's."""

    def check(self, plugin, library=BROKEN, shapes="2x3x4", cudart=CUDART):
        result = run("plugins", "check", library, "--json", f"--plugin={plugin}", f"--shapes={shapes}",
                     "--types=float32", "--device=cuda", f"--cudart={cudart}", environment=PRELOADING)
        self.assertIn(result.stderr, ["", "tenon: 1 of 1 plugins break their contract [TN8004]\n"])
        (report,) = json.loads(result.stdout)
        return {row["check"]: row for row in report["checks"] if row["outcome"] != "passed"}

    def test_enqueue_is_called(self):
        self.assertEqual(self.check("SoundV2DynamicExt"), {})
        self.assertEqual(self.check("WritesBehindOutput")["bounds"]["outcome"], "failed")
        self.assertEqual(self.check("WritesInput")["inputs"]["outcome"], "failed")
        self.assertEqual(self.check("SharesMemory")["threads"]["outcome"], "failed")
        self.assertIn("no GPU", self.check("LaunchesKernel")["enqueue"]["found"])

    def test_cpu_kernels_are_not(self):
        found = self.check("Vignette", library=PLUGIN, shapes="1x1x4x4")
        self.assertEqual(found["enqueue"]["outcome"], "failed")
        self.assertIn("without a kernel for CUDA", found["enqueue"]["found"])

    def test_the_others_are_checked_after_a_wrong_access(self):
        lost = self.check("LaunchesKernel", cudart=LOST_GPU)
        self.assertEqual(set(lost), {"enqueue", "empty"})
        self.assertRegex(lost["enqueue"]["found"], "memory that is not its own")
        self.assertEqual(self.check("SoundV2DynamicExt", cudart=LOST_GPU), {})

    def test_no_gpu(self):
        self.refuse("plugins", "check", BROKEN, "--device=cuda", "--cudart=none.so.13",
                    names=["--device=cuda", "none.so.13", "--cudart="])
        self.refuse("plugins", "check", BROKEN, "--device=cuda", f"--cudart={PLUGIN}", names=["no CUDA runtime"],
                    environment=PRELOADING)


class Sound(CliTest):
    def test_old_families(self):
        names = ["SoundV2", "SoundV2DynamicExt", "SoundV2Ext", "SoundV2IOExt"]
        text = self.succeed("plugins", "check", BROKEN, "--json", *[f"--plugin={name}" for name in names])
        reports = json.loads(text)
        self.assertEqual({r["name"]: r["interface"] for r in reports},
                         {name: f"I{name.replace('Sound', 'Plugin')}" for name in names})
        for report in reports:
            self.assertEqual({row["outcome"] for row in report["checks"]}, {"passed"}, report)
            for check in ["fields", "clone", "serialisation", "formats", "bounds", "life cycle", "threads", "empty"]:
                self.assertIn(check, [row["check"] for row in report["checks"]])

    def test_vector_formats(self):
        text = self.succeed("plugins", "check", BROKEN, "--json", "--plugin=SoundInFormats", "--shapes=2x3x5x7")
        checks = json.loads(text)[0]["checks"]
        self.assertEqual({row["outcome"] for row in checks}, {"passed"}, checks)
        for format in ["kCHW32", "kHWC"]:
            self.assertIn(("format's result", f"2x3x5x7 float32, {format}"), [(r["check"], r["input"]) for r in checks])

    def test_field_of_no_declared_type(self):
        text = self.succeed("plugins", "check", BROKEN, "--plugin=SoundWithoutType", *SHAPES, "--fields=factor=1.5")
        self.assertRegex(text, "SoundWithoutType .* 0 failed, 0 not run")

    def test_output_in_the_memory_of_an_input(self):
        text = self.succeed("plugins", "check", BROKEN, "--plugin=SoundInPlace", *SHAPES)
        self.assertRegex(text, "SoundInPlace .* 0 failed, 0 not run")

    def test_sizes(self):
        text = self.succeed("plugins", "check", BROKEN, "--plugin=SoundSizes", *SHAPES)
        self.assertRegex(text, "SoundSizes .* 0 failed, 0 not run")

    def test_inputs_are_found(self):
        text = self.succeed("plugins", "check", PLUGIN)
        self.assertRegex(text, r"Vignette version 1 \(IPluginV3\): \d+ checks passed, 0 failed, 0 not run")

    def test_says_why_no_inputs_are_found(self):
        text = self.succeed("plugins", "check", PLUGIN, "--fields=strength=many")
        self.assertRegex(text, "not run: create.*no inputs were found.*; it said: .*attribute strength has type string; "
                               "expected a number")

    def test_says_what_cannot_run_here(self):
        text = self.succeed("plugins", "check", BROKEN, "--plugin=LaunchesKernel", *SHAPES)
        self.assertRegex(text, "not run: enqueue.*launches a CUDA kernel")

    def test_names_that_plugins_that_come_along_have(self):
        text = self.succeed("plugins", "check", KNOWN, "--json", *cases_of("reflect_pad"))
        self.assertEqual({r["name"] for r in json.loads(text)}, {"ReflectPad"})

    def test_plugins_that_come_along(self):
        text = self.succeed("plugins", "check", "--plugin=MMCVRoiAlign", "--plugin=grid_sampler",
                            *cases_of("roi_align", "grid_sampler"))
        self.assertRegex(text, r"MMCVRoiAlign .* 0 failed, 0 not run")
        self.assertRegex(text, r"grid_sampler .* 0 failed, 0 not run")


class Refusals(CliTest):
    def test_library(self):
        self.refuse("plugins", "check", self.folder / "none.so", names=["none.so", "no such file"])

    def test_options(self):
        self.refuse("plugins", "check", BROKEN, "--plugin=Other", names=["Other", "WritesInput"])
        self.refuse("plugins", "check", BROKEN, "--shapes=2xx", names=["--shapes", "not a shape"])
        self.refuse("plugins", "check", BROKEN, "--shapes=2", "--types=float31", names=["float31"])
        self.refuse("plugins", "check", BROKEN, "--shapes=2", "--fields=factor", names=["--fields", "NAME=VALUE"])
        self.refuse("plugins", "check", BROKEN, "--cases=none.json", names=["none.json"])


if __name__ == "__main__":
    unittest.main()
