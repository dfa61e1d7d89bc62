"""What tools/gpu_check writes of a run, and which suites it runs."""
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from gpu import pack, run  # noqa: E402
from gpu.machine import ROOT  # noqa: E402

BUILD = ROOT / "build"
ALL = types.SimpleNamespace(suites=[], sanitize=False, two=False)


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.page = pathlib.Path(folder.name) / "gpu.md"
        self.enterContext(mock.patch.object(run, "PAGE", self.page))

    def report(self, commit, *rows):
        run.report(self.page, {"commit": commit}, ["NVIDIA H200, 580.1"], rows)
        return [line for line in self.page.read_text().splitlines() if line.startswith("| ")][1:]

    def test_rows_of_suites_that_did_not_run_again_stay(self):
        self.report("1111111", ("two GPUs", 5, 0, 5.2), ("kernels", 210, 0, 105.0), ("models", 14, 0, 70.0))
        self.assertEqual(self.report("2222222", ("object detection", 2, 0, 31.0), ("models", 13, 1, 68.4)),
                         ["| kernels | 210 | 0 | 105 | 1111111 |", "| models | 13 | 1 | 68 | 2222222 |",
                          "| object detection | 2 | 0 | 31 | 2222222 |", "| two GPUs | 5 | 0 | 5 | 1111111 |"])

    def names(self, choose, *missing):
        with mock.patch.object(pathlib.Path, "exists", lambda path: path.name not in missing):
            return [suite.name for suite in choose()]

    def test_some_suites_are_left_out_where_what_they_need_is_missing(self):
        names = self.names(lambda: run.chosen(ALL, BUILD), "tiny_yolov3", "tenon", "mnist_cnn")
        self.assertEqual({"models", "text recognition", "object detection", "python"} & set(names), {"models", "text recognition"})

    def test_the_largest_models_are_packed_when_they_are_named(self):
        names = self.names(lambda: pack.chosen(BUILD, []), "tenon")
        self.assertEqual({"models", "text recognition", "object detection", "python"} & set(names), {"models"})
        self.assertEqual(self.names(lambda: pack.chosen(BUILD, ["object detection"])), ["object detection"])
        with self.assertRaisesRegex(SystemExit, "there is no suite 'detection'"):
            pack.chosen(BUILD, ["detection"])

    def test_what_a_suite_lacks_is_named(self):
        suites = pack.chosen(BUILD, ["object detection"])
        with mock.patch.object(pathlib.Path, "exists", lambda path: path.name != "tiny_yolov3"):
            with self.assertRaisesRegex(SystemExit, "there is no .cache/models/tiny_yolov3: build all of build, and run `./dev models`"):
                pack.stage(BUILD, suites, (), pathlib.Path("folder"))

    def test_a_suite_that_is_not_there_is_refused(self):
        with self.assertRaisesRegex(SystemExit, "there is no suite 'kernel'; there are kernels, "):
            run.chosen(types.SimpleNamespace(suites=["kernel"], sanitize=False, two=False), BUILD)


if __name__ == "__main__":
    unittest.main()
