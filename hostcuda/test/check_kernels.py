"""Compiles the kernels of kernels/ and fails unless each computes what it should, in several orders.

    check_kernels.py NVCC [--sanitize NAME] [--expected FILE]

The program compares with what the host computes. --expected also compares what it prints with a file, such as what the
program printed on a GPU after NVIDIA's nvcc compiled it.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

KERNELS = pathlib.Path(__file__).resolve().parent / "kernels"
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
        if arguments.expected and outputs["forward"] != arguments.expected.read_text():
            print(f"the values are not those of {arguments.expected}")
            failures += 1
    sys.exit(failures)


if __name__ == "__main__":
    main()
