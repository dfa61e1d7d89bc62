"""What tools/gpu_check writes of a run, and which suites it runs."""
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from gpu import run  # noqa: E402

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
        self.assertEqual(self.report("2222222", ("large models", 4, 0, 31.0), ("models", 13, 1, 68.4)),
                         ["| kernels | 210 | 0 | 105 | 1111111 |", "| models | 13 | 1 | 68 | 2222222 |",
                          "| large models | 4 | 0 | 31 | 2222222 |", "| two GPUs | 5 | 0 | 5 | 1111111 |"])

    def test_suites_without_their_data_are_left_out(self):
        with mock.patch.object(pathlib.Path, "exists", lambda path: path.name != "tiny_yolov3"):
            names = [suite.name for suite in run.chosen(ALL, pathlib.Path("build"))]
        self.assertIn("models", names)
        self.assertNotIn("large models", names)

    def test_a_suite_that_is_not_there_is_refused(self):
        with self.assertRaisesRegex(SystemExit, "there is no suite 'kernel'; there are kernels, "):
            run.chosen(types.SimpleNamespace(suites=["kernel"], sanitize=False, two=False), pathlib.Path("build"))


if __name__ == "__main__":
    unittest.main()
