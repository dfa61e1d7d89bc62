"""The pages of measurements: every file of results has its link, and the numbers are those of the file."""
import json
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import benchmarks  # noqa: E402


class Benchmarks(unittest.TestCase):
    def setUp(self):
        self.files = [path.relative_to(ROOT) for path in (ROOT / "bench/results").rglob("*.json*")]
        self.pages, self.raw = benchmarks.pages(ROOT, self.files)

    def test_every_file_of_results_is_linked(self):
        text = "".join(self.pages.values())
        self.assertEqual(sorted(map(str, self.raw)), sorted(map(str, self.files)))
        for path in self.files:
            self.assertIn(f"[Raw data](../{path})", text)

    def test_numbers_are_those_of_the_file(self):
        row = json.loads((ROOT / "bench/results/zen4/models_1.json").read_text())[0]
        page = self.pages[pathlib.PurePosixPath("benchmarks/zen4.md")]
        section = page.split("## Models, two threads, run 1\n")[1].split("\n## ")[0]
        line = next(line for line in section.splitlines() if line.startswith(f"| {row['model']} | ONNX Runtime |"))
        found = row["peers"]["ort"]
        self.assertEqual([float(cell) for cell in line.split("|")[3:7]],
                         [float(f"{found[key]:.3g}") if found[key] < 100 else round(found[key])
                          for key in ("median_ms", "min_ms", "p90_ms", "runs")])
        self.assertIn(f"ONNX Runtime {found['median_ms']:.3g} ms ({found['median_ms'] / row['peers']['tenon']['median_ms']:.2f})", section)

    def test_a_file_that_no_page_shows_is_an_error(self):
        stranger = pathlib.Path("bench/results/zen4/stranger.json")
        with self.assertRaisesRegex(SystemExit, "zen4/stranger.json"):
            benchmarks.pages(ROOT, [*self.files, stranger])


if __name__ == "__main__":
    unittest.main()
