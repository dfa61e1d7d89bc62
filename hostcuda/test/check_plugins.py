"""Compiles Tenon's plugins with tenon-nvcc, and fails unless every case of every plugin gives what it should.

    check_plugins.py NVCC FOLDER [--sanitize NAME] [--jobs N] OBJECT...

FOLDER keeps what is compiled. OBJECTS are those of the plugins' own library, for the CPU: each plugin is one source for
both, and cuda_cases takes its cases through CUDA's half.
"""
import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def sources():
    return [path for path in sorted(ROOT.glob("plugins/*/*.cc")) if not path.stem.endswith(("_test", "_bench"))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nvcc")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("objects", nargs="*")
    parser.add_argument("--sanitize", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    options = ["-std=c++20", "-O1", "-g1", "-fPIC", "-w", *(f"-fsanitize={s}" for s in arguments.sanitize)]
    options += [f"-I{ROOT / folder}" for folder in ("include", "kit", "kernels")]

    def compiled(source, *more):
        target = arguments.folder / (source.relative_to(ROOT).as_posix().replace("/", ".") + ".o")
        dependencies = target.with_suffix(".d")
        subprocess.run([arguments.nvcc, *options, *more, "-c", source, "-o", target, "-MD", "-MF", dependencies], check=True)
        return target

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        objects = list(pool.map(lambda source: compiled(source, "-x", "cu"), sources()))
    objects.append(compiled(ROOT / "test/cuda/cuda_cases.cc"))
    program = arguments.folder / "cuda_cases"
    subprocess.run([arguments.nvcc, *options, *objects, *arguments.objects, "-o", program], check=True)
    failures = 0
    for order in ("forward", "reverse", "random:3"):
        print(f"-- {order}", flush=True)
        failures += subprocess.run([program, ROOT / "plugins"], env=os.environ | {"TENON_CUDA_ORDER": order}).returncode != 0
    sys.exit(failures)


if __name__ == "__main__":
    main()
