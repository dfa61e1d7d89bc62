"""trtexec's options: each one is taken with its effect, or named where it has none; and a program of that name."""
import json
import pathlib
import re
import unittest

from support import MLP, MLP_PROFILE, ON_CPU, SHORT_BENCH, TENON, CliTest, run

MODEL = MLP / "model.onnx"
NAMES = (pathlib.Path(__file__).with_name("trtexec_options.txt")).read_text().split()
# Values of options that check them.
VALUES = {"--hardwareCompatibilityLevel": "ampere+", "--maxAuxStreams": "2", "--device": "0", "--tacticSources": "-CUDNN,+cublas",
          "--preview": "+aliasedPluginIO1003,-runtimeActivationResize", "--tempfileControls": "in_memory:allow,temporary:deny"}


class EveryOption(CliTest):
    @classmethod
    def setUpClass(cls):
        cls.options = json.loads(run("options", "--json").stdout)

    def of_effect(self, *effects):
        return [option for option in self.options if option["effect"] in effects]

    def argument(self, option):
        name = option["names"][0]
        return f"{name}={VALUES.get(name, '1')}" if option["takesValue"] else name

    def test_is_in_the_table(self):
        known = [name for option in self.options for name in option["names"]]
        self.assertEqual(len(known), len(set(known)))
        self.assertEqual(set(NAMES) - set(known), set())

    def test_that_is_refused_says_why_by_name(self):
        for option in self.of_effect("refused"):
            for command in ("bench", "build"):
                if command == "build" and option["group"] not in ("model", "build", "system"):
                    continue
                said = self.refuse(command, MODEL, self.argument(option))
                self.assertIn(f"tenon: {option['names'][0]}: {option['reason']}", said)

    def test_that_changes_nothing_says_why_by_name(self):
        options = self.of_effect("nothing", "on a GPU")
        said = run("bench", MODEL, *MLP_PROFILE, *SHORT_BENCH, *map(self.argument, options), environment=ON_CPU)
        self.assertEqual(said.returncode, 0, said.stderr)
        for option in options:
            line = f"[I] {option['names'][0]} changes nothing: {option['reason']}"
            self.assertEqual(said.stderr.count(line), 1, line)
        # None was given, none is named.
        said = run("bench", MODEL, *MLP_PROFILE, *SHORT_BENCH, environment=ON_CPU).stderr
        self.assertNotIn("changes nothing", said)

    def test_that_changes_nothing_in_a_build_says_so_too(self):
        options = [option for option in self.of_effect("nothing", "on a GPU") if option["group"] in ("build", "system")]
        said = run("build", MODEL, *MLP_PROFILE, "-o", self.folder / "m.plan", *map(self.argument, options), environment=ON_CPU)
        self.assertEqual(said.returncode, 0, said.stderr)
        for option in options:
            self.assertIn(f"[I] {option['names'][0]} changes nothing: {option['reason']}", said.stderr)

    def test_that_only_running_uses_is_refused_by_a_build(self):
        for option in self.of_effect("taken", "on a GPU"):
            if option["group"] == "inference" and option["names"][0] != "--shapes":
                said = self.refuse("build", MODEL, *MLP_PROFILE, self.argument(option))
                self.assertIn(f"{option['names'][0]}: `tenon build` has no use for it; `tenon bench` takes it", said)

    def test_that_is_taken_has_a_test(self):
        """Here, or beside this file: its effect is looked at."""
        tests = "".join(path.read_text() for path in pathlib.Path(__file__).parent.glob("*_test.py"))
        without = [option["names"][0] for option in self.of_effect("taken") if option["names"][0] not in tests]
        self.assertEqual(without, [])


class Trtexec(CliTest):
    """A link of that name."""

    def setUp(self):
        super().setUp()
        self.program = self.folder / "bin/trtexec"
        self.program.parent.mkdir()
        self.program.symlink_to(TENON)

    def trtexec(self, *options, code=0):
        done = run(*options, program=self.program, folder=self.folder)
        self.assertEqual(done.returncode, code, f"{options}\n{done.stdout}{done.stderr}")
        return done

    def state(self, name, *options):
        command = " ".join(map(str, [self.program, *options]))
        return f"&&&& {name} TensorRT.trtexec [TensorRT v101600] [b0] # {command}"

    def test_passes(self):
        plan = self.folder / "m.plan"
        options = [f"--onnx={MODEL}", f"--saveEngine={plan}", *MLP_PROFILE, *SHORT_BENCH]
        lines = self.trtexec(*options).stdout.splitlines()
        self.assertEqual(lines[0], self.state("RUNNING", *options))
        self.assertEqual(lines[-1], self.state("PASSED", *options))
        self.assertTrue(any(re.search(r"\[I\] Throughput: [\d.e+]+ qps$", line) for line in lines))
        self.assertIn("Throughput", self.trtexec(f"--loadEngine={plan}", *SHORT_BENCH).stdout)

    def test_fails(self):
        for option, message in ((f"--onnx={self.folder / 'no.onnx'}", "no.onnx: cannot open: no such file"),
                                ("--noSuchOption", "Unknown option: --noSuchOption"), ("--useDLACore=0", "--useDLACore: there is no DLA"),
                                (f"--loadEngine={MODEL}x", "cannot open: no such file"), ("--fp16", "name a plan or an ONNX model"),
                                (str(MODEL), "Unknown option: " + str(MODEL)), ("--iterations=x", "--iterations"),
                                ("--tacticSources=CUDNN", "--tacticSources: 'CUDNN' begins neither"), ("--tacticSources=+CUDA", "'+CUDA'"),
                                ("--preview=nothing", "--preview: 'nothing'"), ("--preview=+nothing", "--preview: '+nothing'"),
                                ("--tempfileControls=in_memory:perhaps", "--tempfileControls: 'in_memory:perhaps'"),
                                ("--tempfileControls=disk:deny", "--tempfileControls: 'disk:deny'")):
            done = self.trtexec(option, code=1)
            self.assertRegex(done.stderr, re.compile(r"^\[.*\] \[E\] .*" + re.escape(message), re.MULTILINE | re.IGNORECASE))
            lines = done.stdout.splitlines()
            self.assertEqual((lines[0], lines[-1]), (self.state("RUNNING", option), self.state("FAILED", option)))

    def test_help(self):
        for options in (["--help"], ["-h"], ["--onnx=x", "--help"]):
            said = self.trtexec(*options).stdout
            for name in ("--onnx", "--iterations", "--saveEngine", "--device"):
                self.assertIn(name, said)
            self.assertNotIn("PASSED", said)
        self.assertTrue(self.trtexec().stdout.rstrip().endswith(self.state("PASSED")))

    def test_extents_without_shapes_are_one(self):
        done = self.trtexec(f"--onnx={MODEL}", *SHORT_BENCH)
        self.assertIn("Input input: 1x1x12x12", done.stdout)
        self.assertRegex(done.stderr, r"\[W\] input 'input' is dynamic, and no option gives its shape: it is 1x1x12x12")


if __name__ == "__main__":
    unittest.main()
