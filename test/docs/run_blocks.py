"""Runs the blocks of the documentation that say so (blocks.py), page by page, each page in a folder of its own.

    test/docs/run_blocks.py --package build/release/python [--plugin LIBRARY] [--all] [PAGE…]

In the folder are model.onnx, a small ResNet with inputs (batch, 3, height, width), samples/, with arrays for it, srcnn.onnx, a photo, and
out/, what ./dev build installs, which is $TENON, too. $SOURCES is the repository. A block that wants a module which no Python here has is skipped, and said
to be; with --all that is a failure.
"""
import argparse
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

from blocks import ROOT, blocks_of, pages

NUMBER = re.compile(r"[-+]?\d[\d.,]*(?:e[-+]?\d+)?")


def prepare(folder, package, plugin):
    shutil.copy(ROOT / "test/golden/mini_resnet/model.onnx", folder)
    for name in "srcnn.onnx", "photos/coffee.jpg":
        shutil.copy(ROOT / "examples/super_resolution" / name, folder)
    if plugin:
        (folder / "libvignette.so").symlink_to(plugin.resolve())
    (folder / "samples").mkdir()
    random = np.random.default_rng(5)
    for i in range(3):
        np.savez(folder / f"samples/{i}.npz", input=random.random((2, 3, 64, 64), np.float32))
    (folder / "out").symlink_to(package.resolve() / "tenon")
    (folder / "bin").mkdir()
    for name in "python", "python3":
        (folder / "bin" / name).write_text(f"#!/bin/sh\nexec {sys.executable} -B \"$@\"\n")  # a link would lose the environment's packages
        (folder / "bin" / name).chmod(0o755)


def environment_of(folder, package):
    path = f"{folder / 'bin'}:{folder / 'out/bin'}:{os.environ['PATH']}"
    added = {"PATH": path, "PYTHONPATH": str(package.resolve()), "TENON": str(folder / "out"), "SOURCES": str(ROOT), "TENON_TARGET": "cpu",
             "HOME": str(folder)}
    if shutil.which("ccache"):  # hits although the folder's name differs each time
        cache = subprocess.run(["ccache", "-k", "cache_dir"], capture_output=True, text=True).stdout.strip()
        added |= {"CMAKE_CXX_COMPILER_LAUNCHER": "ccache", "CCACHE_BASEDIR": str(folder), "CCACHE_NOHASHDIR": "1", "CCACHE_DIR": cache}
    return os.environ | added


@functools.cache
def python_with(module):
    """An interpreter that can import the module; PyTorch is Debian's."""
    for python in sys.executable, "/usr/bin/python3":
        if not module or subprocess.run([python, "-c", f"import {module}"], cwd="/", capture_output=True).returncode == 0:
            return python
    return None


def plain(line):
    """With # for numbers, single spaces, and quotes of ASCII, whatever the compiler's language."""
    return " ".join(NUMBER.sub("#", re.sub("[‘’]", "'", line)).split())


def run(block, folder, environment):
    """The result of its process."""
    command = ["bash", "-ec"] if block.language == "sh" else [python_with(block.module), "-B", "-c"]
    return subprocess.run([*command, block.before + block.text], cwd=folder / block.folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)


def run_page(page, options):
    """What failed, as texts."""
    said = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(folder, options.package, options.plugin)
        environment = environment_of(folder, options.package)
        for block in blocks_of(page):
            what = f"{page.relative_to(ROOT)}:{block.line}"
            if block.kind == "file":
                path = folder / block.argument
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.before + block.text)
            elif block.kind == "printed":
                for line in filter(str.strip, block.text.splitlines()):
                    if not any(re.search(".*".join(map(re.escape, plain(line).split("…"))), other) for other in said):
                        yield f"{what}: nothing printed {line!r}, but\n" + "\n".join(said[-40:])
            elif block.kind == "run" and python_with(block.module) is None:
                print(f"{what}: skipped, {block.module} is not here")
                if options.all:
                    yield f"{what}: {block.module} is not here"
            elif block.kind == "run":
                start = time.monotonic()
                result = run(block, folder, environment)
                said += map(plain, result.stdout.splitlines())
                if (result.returncode != 0) != block.fails:
                    yield f"{what}: exit code {result.returncode}\n{block.text}\n{result.stdout[-4000:]}"
                else:
                    print(f"{what}: ran for {time.monotonic() - start:.1f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", type=pathlib.Path, default=ROOT / "build/release/python")
    parser.add_argument("--plugin", type=pathlib.Path, help="examples/plugin as a library, which is libvignette.so in the folder")
    parser.add_argument("--all", action="store_true", help="a block that wants a module which is not here fails")
    parser.add_argument("pages", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    chosen = [page.resolve() for page in options.pages] or [page for page in pages() if any(block.kind == "run" for block in blocks_of(page))]
    problems = [problem for page in chosen for problem in run_page(page, options)]
    print("\n".join(problems + [f"{len(chosen)} pages, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
