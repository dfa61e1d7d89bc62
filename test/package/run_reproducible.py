"""Builds the same library in two folders of different names, and compares what is installed byte by byte.

    .venv/bin/python test/package/run_reproducible.py [--targets tenon_cudart tenon_session]

Without ccache, whose objects could come from one folder for both.
"""
import argparse
import hashlib
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(*command, **options):
    result = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {result.returncode}\n{result.stdout[-4000:]}")
    return result.stdout


def copy_sources(to):
    for name in run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).splitlines():
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)


def built(source, build, targets, options):
    """Digests of the libraries of these targets, by name."""
    run("cmake", "-S", source, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DTENON_TESTS=OFF", "-DTENON_PYTHON=OFF",
        f"-DTENON_VENV={ROOT / '.venv'}", "-DTENON_CCACHE=", *options)
    run("cmake", "--build", build, "--target", *targets)
    libraries = [path for pattern in ("*.so.*", "*.so", "*.a") for path in build.rglob(pattern) if not path.is_symlink()]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in libraries}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", nargs="+", default=["tenon_cudart", "tenon_session"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        digests = []
        for folder in "one", "another/and longer":
            source = pathlib.Path(name) / folder / "sources"
            copy_sources(source)
            digests.append(built(source, source.parent / "build", options.targets, ["-DTENON_REPRODUCIBLE=ON"]))
    if not digests[0] or digests[0] != digests[1]:
        sys.exit(f"FAILED: they differ\n{digests[0]}\n{digests[1]}")
    for library, digest in sorted(digests[0].items()):
        print(f"{library}: {digest[:16]} in both")


if __name__ == "__main__":
    main()
