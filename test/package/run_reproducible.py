"""Builds the same targets in two folders of different names, and compares their objects and libraries byte by byte.

    .venv/bin/python test/package/run_reproducible.py [--targets tenon_cudart tenon_session] [--jobs 2]

Without ccache, whose objects could come from one folder for both. `--targets tenon tenon_session tenon_serve` is all that
programs load, twice half an hour on two cores.
"""
import argparse
import hashlib
import os
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


def built(source, build, targets, jobs):
    """Digests of the objects and libraries of these targets, by their path within the build."""
    run("cmake", "-S", source, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DTENON_TESTS=OFF", "-DTENON_PYTHON=OFF",
        f"-DTENON_VENV={ROOT / '.venv'}", "-DTENON_CCACHE=", "-DTENON_REPRODUCIBLE=ON")
    run("cmake", "--build", build, "--parallel", jobs, "--target", *targets)
    made = [path for pattern in ("*.so.*", "*.so", "*.a", "*.o") for path in build.rglob(pattern) if not path.is_symlink()]
    return {str(path.relative_to(build)): hashlib.sha256(path.read_bytes()).hexdigest() for path in made}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", nargs="+", default=["tenon_cudart", "tenon_session"])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        digests = []
        for folder in "one", "another/and longer":
            source = pathlib.Path(name) / folder / "sources"
            copy_sources(source)
            digests.append(built(source, source.parent / "build", options.targets, options.jobs))
    one, other = digests
    differing = sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
    if not one or differing:
        sys.exit(f"FAILED: of {len(one)} files {len(differing)} differ: {', '.join(differing)}")
    for name, digest in sorted(one.items()):
        if not name.endswith(".o"):
            print(f"{name}: {digest[:16]} in both")
    print(f"{len(one)} objects and libraries are the same in both")


if __name__ == "__main__":
    main()
