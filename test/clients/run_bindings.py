"""Runs the tests of Tenon's Python package with NVIDIA's bindings in its place, over Tenon's libraries.

    .venv/bin/python test/clients/run_bindings.py [TEST ...] [--libraries out/lib] [--jobs 2]

Each test has a process of its own, as bindings may crash where they are called
otherwise than TensorRT allows. The package does more than the bindings: differences.txt lists, with the reason, the tests
that tell the two apart. Any other failure is an error, and so is a test of the list that passes.
"""
import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parents[1] / "python/test"
FILES = ("builder", "callbacks", "keeping", "layers", "layers_moving", "logger", "network", "parser", "plugins", "python_plugins",
         "python_plugin_errors", "refitter", "runtime", "types")
SECONDS = 120


def pytest(arguments, libraries):
    environment = os.environ | {"PYTHONPATH": str(HERE / "bindings"), "PYTHONDONTWRITEBYTECODE": "1",
                                "LD_LIBRARY_PATH": f"{libraries}:{libraries / 'compatible'}"}
    try:
        done = subprocess.run([sys.executable, "-m", "pytest", "-o", "addopts=", "-q", "-p", "no:cacheprovider", *arguments], cwd=TESTS,
                              env=environment, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return 124, f"it takes more than {SECONDS} s"
    return done.returncode, done.stdout + done.stderr


def why(status, text):
    """The line of pytest's output that tells most."""
    if status < 0:
        return f"ended by signal {-status}"
    lines = [line for line in text.splitlines() if line.startswith(("E  ", "Fatal"))]
    return lines[0].removeprefix("E").strip() if lines else text.strip().splitlines()[-1]


def read_differences():
    """Test: the reason why it fails."""
    rows = [line.split("  ", 1) for line in (HERE / "differences.txt").read_text().splitlines() if line and line[0] != "#"]
    return {test: reason.strip() for test, reason in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tests", nargs="*", help="tests as pytest names them (default: all)")
    parser.add_argument("--libraries", type=pathlib.Path, default=HERE.parents[1] / "out/lib", help="the folder of libnvinfer.so.10")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes side by side")
    options = parser.parse_args()
    libraries = options.libraries.resolve()
    tests = options.tests
    if not tests:
        status, text = pytest(["--collect-only", *(f"test_{name}.py" for name in FILES)], libraries)
        if status != 0:
            sys.exit(text)
        tests = [line.removeprefix("python/test/") for line in text.splitlines() if "::" in line]
    differences = read_differences()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = dict(zip(tests, pool.map(lambda test: pytest([test], libraries), tests)))
    failed = {test: why(*result) for test, result in results.items() if result[0] != 0}
    for test, reason in failed.items():
        if test not in differences:
            print(f"FAILED {test}  {reason}")
    absent = set() if options.tests else differences.keys() - results.keys()
    for test in absent:
        print(f"ABSENT {test}  but differences.txt lists it")
    passed_of_list = [test for test in differences if test in results and test not in failed]
    for test in passed_of_list:
        print(f"PASSED {test}  but differences.txt lists it")
    known = len(failed.keys() & differences.keys())
    print(f"{len(tests)} tests with NVIDIA's bindings: {len(tests) - len(failed)} passed, {known} tell the package from the bindings")
    return len(failed) > known or bool(passed_of_list or absent)


if __name__ == "__main__":
    sys.exit(main())
