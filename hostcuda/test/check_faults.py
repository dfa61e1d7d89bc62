"""Compiles each file of faults/ as its first line says, and fails unless running it names the fault and its line.

    check_faults.py NVCC [NAME...]

The first line is "// OPTIONS: TEXT": options of the compiler, and what the report has to say. The line of the fault ends
with "// here". Files of -fsanitize=memory are compiled by clang, where it is.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FAULTS = pathlib.Path(__file__).resolve().parent / "faults"
CLANG = "clang++-19"


def check(nvcc, path, folder):
    """What is wrong, or nothing."""
    lines = path.read_text().splitlines()
    options, text = lines[0].removeprefix("//").split(":", 1)
    here = [number for number, line in enumerate(lines, 1) if line.endswith("// here")]
    if "memory" in options:
        if not shutil.which(CLANG):
            return f"{CLANG} is not installed"
        options += f" -ccbin {CLANG}"
    program = pathlib.Path(folder) / path.stem
    build = subprocess.run([nvcc, "-O1", "-g", *options.split(), path, "-o", program], capture_output=True, text=True)
    if build.returncode != 0:
        return f"does not compile:\n{build.stderr}"
    run = subprocess.run([program], capture_output=True, text=True, timeout=60,
                         env=os.environ | {"ASAN_OPTIONS": "detect_leaks=0"})
    if run.returncode == 0:
        return "ends without an error"
    said = run.stderr + symbolized(run.stderr, program)
    for wanted in (text.strip(), f"{path.name}:{here[0]}"):
        if wanted not in said:
            return f"does not say {wanted!r}:\n{said}"
    return None


def symbolized(report, program):
    """The lines of addresses that a sanitizer could not look up itself."""
    addresses = re.findall(rf"\({re.escape(str(program))}\+(0x[0-9a-f]+)\)", report)
    if not addresses:
        return ""
    return subprocess.run(["addr2line", "-e", program, *addresses], capture_output=True, text=True, check=True).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nvcc")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(FAULTS.glob("*.cu")):
            if arguments.names and path.stem not in arguments.names:
                continue
            wrong = check(arguments.nvcc, path, folder)
            print(f"{path.stem}: {wrong or 'found'}")
            failures += wrong is not None
    sys.exit(failures)


if __name__ == "__main__":
    main()
