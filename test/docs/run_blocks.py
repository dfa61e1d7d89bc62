"""Runs the blocks of the documentation that say <!-- run -->, page by page, each page in a folder of its own with a model in it.

    test/docs/run_blocks.py --tenon build/release/tools/tenon/tenon --package build/release/python [PAGE…]

In the folder are model.onnx, a small ResNet with inputs (batch, 3, height, width), samples/, with arrays for it, srcnn.onnx, and a photo. A block of Python that wants a
package that is not here is skipped, and said to be.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"<!-- run -->\n```(sh|python)\n(.*?)\n```", re.S)


def prepare(folder, tenon):
    shutil.copy(ROOT / "test/golden/mini_resnet/model.onnx", folder)
    for name in "srcnn.onnx", "photos/coffee.jpg":
        shutil.copy(ROOT / "examples/super_resolution" / name, folder)
    (folder / "samples").mkdir()
    random = np.random.default_rng(5)
    for i in range(3):
        np.savez(folder / f"samples/{i}.npz", input=random.random((2, 3, 64, 64), np.float32))
    (folder / "bin").mkdir()
    (folder / "bin/tenon").symlink_to(tenon.resolve())
    (folder / "bin/python").write_text(f"#!/bin/sh\nexec {sys.executable} -B \"$@\"\n")  # a link would lose the environment's packages
    (folder / "bin/python").chmod(0o755)


def run_page(page, options):
    """What failed, as texts."""
    blocks = BLOCK.findall(page.read_text())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(folder, options.tenon)
        environment = os.environ | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(options.package.resolve()), "TENON_TARGET": "cpu"}
        for i, (language, text) in enumerate(blocks):
            command = ["sh", "-ec", text] if language == "sh" else [sys.executable, "-B", "-c", text]
            result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
            what = f"{page.relative_to(ROOT)}, block {i + 1}"
            missing = re.search(r"ModuleNotFoundError: No module named '(\w+)'", result.stderr)
            if missing and missing[1] != "tenon":
                print(f"{what}: skipped, {missing[1]} is not here")
            elif result.returncode != 0:
                yield f"{what}: exit code {result.returncode}\n{text}\n{result.stdout[-2000:]}{result.stderr[-2000:]}"
            else:
                print(f"{what}: runs")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenon", type=pathlib.Path, default=ROOT / "build/release/tools/tenon/tenon")
    parser.add_argument("--package", type=pathlib.Path, default=ROOT / "build/release/python")
    parser.add_argument("pages", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    pages = [page.resolve() for page in options.pages] or sorted(path for path in (ROOT / "docs").rglob("*.md") if BLOCK.search(path.read_text()))
    if not pages:
        sys.exit("no page has a block that is run")
    problems = [problem for page in pages for problem in run_page(page, options)]
    print("\n".join(problems + [f"{len(pages)} pages, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
