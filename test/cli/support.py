"""Runs the command line as a user does; what the tests beside this file share."""
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import tempfile
import unittest

import numpy as np

SOURCE = pathlib.Path(__file__).resolve().parents[2]
TENON = os.environ.get("TENON", "tenon")
PLUGIN = os.environ.get("TENON_EXAMPLE_PLUGIN", "")  # examples/plugin, built
KNOWN = os.environ.get("TENON_KNOWN_PLUGINS", "")  # plugins/reflect_pad, built
TIME_LIMIT = 120  # seconds; what a loaded machine under a sanitizer needs, not what a run takes

SRCNN = SOURCE / "examples/super_resolution/srcnn.onnx"
PHOTO = SOURCE / "examples/super_resolution/photos/coffee.jpg"
VIGNETTE = SOURCE / "examples/plugin/vignette.onnx"
MLP = SOURCE / "test/golden/mlp"
RESNET = SOURCE / "test/golden/mini_resnet"
MLP_PROFILE = ["--minShapes=input:1x1x12x12", "--optShapes=input:1x1x12x12", "--maxShapes=input:5x1x12x12"]
ON_CPU = {"TENON_TARGET": "cpu"}  # an environment
# Options of a bench that is over soon.
SHORT_BENCH = ["--warmUp=0", "--duration=0", "--iterations=12"]


def run(*arguments, file_limit=None, folder=None, environment=None, program=TENON):
    """One command; with `file_limit`, files cannot grow beyond so many bytes, as on a full disk."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))

    # Python ignores SIGXFSZ and the child keeps that: writes fail, as they do on a full disk.
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=TIME_LIMIT,
                          cwd=folder, env=os.environ | (environment or {}), restore_signals=False, preexec_fn=limit if file_limit is not None else None)


class CliTest(unittest.TestCase):
    """Each test has an empty folder of its own."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tenon_cli_"))
        self.addCleanup(shutil.rmtree, self.folder)

    def succeed(self, *arguments, **options):
        result = run(*arguments, **options)
        self.assertEqual(result.returncode, 0, f"{arguments}\n{result.stdout}{result.stderr}")
        return result.stdout

    def refuse(self, *arguments, names=(), **options):
        """Exit code 1 and a message that matches every pattern of `names`; nothing left behind."""
        before = sorted(self.folder.rglob("*"))
        result = run(*arguments, **options)
        said = result.stdout + result.stderr
        self.assertEqual(result.returncode, 1, f"{arguments}\n{said}")
        for pattern in names:
            self.assertRegex(result.stderr, re.compile(str(pattern), re.IGNORECASE), f"{arguments}")
        self.assertEqual(sorted(self.folder.rglob("*")), before, "files were left behind")
        return result.stderr

    def plan(self, name="mlp.plan", model=MLP / "model.onnx", options=MLP_PROFILE):
        path = self.folder / name
        self.succeed("build", model, "-o", path, *options)
        return path

    def bench(self, *options, plan=None, environment=None):
        """What a measurement prints on either output, and what each query took."""
        times = self.folder / "times.json"
        done = run("bench", plan or self.plan(), f"--exportTimes={times}", *options, folder=self.folder, environment=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, done.stderr, json.loads(times.read_text())

    def assert_close(self, actual, expected):
        self.assertEqual(actual.shape, expected.shape)
        np.testing.assert_allclose(actual, expected, rtol=1e-3, atol=1e-5)
