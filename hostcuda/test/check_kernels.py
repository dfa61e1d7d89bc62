"""Compiles the kernels of kernels/ and fails unless each computes what it should, in several orders.

    check_kernels.py NVCC [--sanitize NAME] [--expected FILE]

The program compares with what the host computes. --expected also compares with what the same program printed on a GPU:

    nvcc -std=c++17 -O2 -arch=sm_90 kernels/*.cu kernels/main.cc -lcublas -o suite && ./suite > FILE
"""
import argparse
import math
import os
import pathlib
import subprocess
import sys
import tempfile

KERNELS = pathlib.Path(__file__).resolve().parent / "kernels"
MOST_ULPS = 4  # mathematical functions of CUDA have errors of their own
ORDERS = ["forward", "reverse", "random:1", "random:7", "random:2026"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nvcc")
    parser.add_argument("--sanitize", action="append", default=[])
    parser.add_argument("--expected", type=pathlib.Path)
    arguments = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        objects = []
        for path in [KERNELS / "main.cc", *sorted(KERNELS.glob("*.cu"))]:
            objects.append(f"{folder}/{path.stem}.o")
            subprocess.run([arguments.nvcc, "-std=c++17", "-O2", "-g", *(f"-fsanitize={s}" for s in arguments.sanitize),
                            "-c", path, "-o", objects[-1]], check=True)
        subprocess.run([arguments.nvcc, *(f"-fsanitize={s}" for s in arguments.sanitize), *objects, "-o",
                        f"{folder}/suite"], check=True)
        outputs = {}
        for order in ORDERS:
            run = subprocess.run([f"{folder}/suite"], capture_output=True, text=True,
                                 env=os.environ | {"TENON_CUDA_ORDER": order})
            outputs[order] = run.stdout
            print(f"{order}: {'right' if run.returncode == 0 else run.stderr}", flush=True)
            failures += run.returncode != 0
        if arguments.expected:
            failures += compare(outputs["forward"], arguments.expected.read_text())
    sys.exit(failures)


def ulps(a, b):
    """The distance of two floats, in units in the last place of float32 at the larger one."""
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    largest = max(abs(a), abs(b))
    if math.isinf(largest) or math.isnan(largest):
        return math.inf
    return abs(a - b) / 2.0 ** (math.frexp(largest)[1] - 24)


def compare(ours, theirs):
    """Prints the largest distance of each line, and returns how many are too far apart."""
    failures = 0
    for mine, other in zip(ours.splitlines(), theirs.splitlines(), strict=True):
        (name, *a), (name_there, *b) = mine.split(), other.split()
        largest = max((ulps(float(x), float(y)) for x, y in zip(a, b, strict=True)), default=0.0)
        print(f"{name}: {largest:.1f} ulps")
        failures += name != name_there or largest > MOST_ULPS
    return failures


if __name__ == "__main__":
    main()
