"""Compiles each file of faults/ as its first line says, and fails unless running it names the fault and its line. Each
file of refused/ has to fail when it is compiled.

    check_faults.py NVCC [NAME...]

The first line is "// OPTIONS: TEXT": options of the compiler, and what the report has to say; in refused/, "// TEXT". The
line of the fault ends with "// here". Files of -fsanitize=memory are compiled by clang, where it is.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
CLANG = "clang++-19"


def read(path):
    """What the first line says, and the line of the fault."""
    lines = path.read_text().splitlines()
    (here,) = [number for number, line in enumerate(lines, 1) if line.endswith("// here")]
    return lines[0].removeprefix("//").strip(), here


def check_refused(nvcc, path, folder):
    """What is wrong, or nothing."""
    text, here = read(path)
    build = subprocess.run([nvcc, "-O1", "-c", path, "-o", f"{folder}/{path.stem}.o"], capture_output=True, text=True)
    if build.returncode == 0:
        return "compiles"
    places = (f"{path.name}:{here}:", f"{path.name}({here}): error")
    if text not in build.stderr or not any(place in build.stderr for place in places):
        return f"is not refused by {text!r} at line {here}:\n{build.stderr}"
    return None


def check(nvcc, path, folder):
    """What is wrong, or nothing."""
    first, here = read(path)
    options, text = first.split(":", 1)
    if "memory" in options:
        if not shutil.which(CLANG):
            return f"{CLANG} is not installed"
        options += f" -ccbin {CLANG}"
    program = pathlib.Path(folder) / path.stem
    build = subprocess.run([nvcc, "-O1", "-g", *options.split(), path, "-o", program], capture_output=True, text=True)
    if build.returncode != 0:
        return f"does not compile:\n{build.stderr}"
    run = subprocess.run([program], capture_output=True, text=True, timeout=60,
                         env=os.environ | {"ASAN_OPTIONS": "detect_leaks=0", "TENON_CUDA_TIMEOUT": "5"})
    if run.returncode == 0:
        return "ends without an error"
    said = run.stderr + symbolized(run.stderr, program)
    for wanted in (text.strip(), f"{path.name}:{here}"):
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
        for path in [*sorted(FOLDER.glob("faults/*.cu")), *sorted(FOLDER.glob("refused/*.cu"))]:
            if arguments.names and path.stem not in arguments.names:
                continue
            check_it = check if path.parent.name == "faults" else check_refused
            wrong = check_it(arguments.nvcc, path, folder)
            print(f"{path.stem}: {wrong or 'found'}")
            failures += wrong is not None
    sys.exit(failures)


if __name__ == "__main__":
    main()
