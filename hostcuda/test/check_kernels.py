"""Compiles the kernels of kernels/ and fails unless each computes what it should, in several orders.

    check_kernels.py NVCC [--sanitize NAME] [--expected FILE...]

The program compares with what the host computes. --expected also compares with what it printed on a GPU:

    nvcc -std=c++17 -O2 -arch=sm_90 kernels/*.cu kernels/main.cc -lcublas -lcublasLt -ldl -o suite && ./suite > FILE
"""
import argparse
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

KERNELS = pathlib.Path(__file__).resolve().parent / "kernels"
ORDERS = ["forward", "reverse", "random:1", "random:7", "random:2026"]
# By the bits of a float's fraction: the exponent of its least value.
LEAST_EXPONENT = {8: -133, 11: -24, 24: -149, 53: -1074}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nvcc")
    parser.add_argument("--sanitize", action="append", default=[])
    parser.add_argument("--expected", type=pathlib.Path, nargs="*", default=[])
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
        # A sanitizer's dlopen() does not look where the program says.
        libraries = {"LD_LIBRARY_PATH": str(pathlib.Path(arguments.nvcc).parents[1] / "lib64")} if arguments.sanitize else {}
        outputs = {}
        for order in ORDERS:
            run = subprocess.run([f"{folder}/suite"], capture_output=True, text=True,
                                 env=os.environ | libraries | {"TENON_CUDA_ORDER": order})
            outputs[order] = run.stdout
            print(f"{order}: {'right' if run.returncode == 0 else run.stderr}", flush=True)
            failures += run.returncode != 0
            if run.stdout != outputs["forward"]:
                print(f"{order}: other numbers than forward")
                failures += 1
        for path in arguments.expected:
            failures += compare(outputs["forward"], path.read_text())
    sys.exit(failures)


def nearest(x, digits):
    """The number that was printed, of which few decimal digits were."""
    return struct.unpack("f", struct.pack("f", x))[0] if digits == 24 else x


def ulps(ours, theirs, digits):
    """The distance of two printed numbers, in units in the last place of theirs; of integers, none or all."""
    a, b = nearest(float(ours), digits), nearest(float(theirs), digits)
    if ours == theirs or (digits and (a == b or (math.isnan(a) and math.isnan(b)))):
        return 0.0
    if not digits or not math.isfinite(a - b):
        return math.inf
    return abs(a - b) / 2.0 ** max(math.frexp(b)[1] - digits, LEAST_EXPONENT[digits])


def checks(output):
    """What the program printed, by the name of the check: digits, the most ulps, numbers."""
    # cuBLAS prints there, too.
    lines = [line.split() for line in output.splitlines() if "/" in line.partition(" ")[0]]
    return {name: (int(digits), float(most), numbers) for name, digits, most, *numbers in lines}


def compare(ours, theirs):
    """Prints how far each check is from what a GPU gave, and returns how many are too far or not run any more."""
    ours, device, theirs = checks(ours), theirs.splitlines()[0].lstrip("# "), checks(theirs)
    failures = 0
    for name in sorted(ours.keys() - theirs.keys()):
        print(f"{name}: not run on {device} yet")
    for name in sorted(theirs.keys() - ours.keys()):
        print(f"{name}: only of {device}")
        failures += 1
    for name in (name for name in ours if name in theirs):
        (digits, most, mine), (*_, other) = ours[name], theirs[name]
        largest = max((ulps(a, b, digits) for a, b in zip(mine, other)), default=0.0)
        if len(mine) != len(other):
            largest = math.inf
        is_wrong = largest > most
        failures += is_wrong
        if largest:
            print(f"{name}: {largest:.3g} ulps from {device}, at most {most:g}{' IS TOO FAR' if is_wrong else ''}")
    print(f"{len(ours.keys() & theirs.keys())} checks, {failures} of them not as on {device}")
    return failures


if __name__ == "__main__":
    main()
