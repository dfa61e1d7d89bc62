"""Runs the tests of NVIDIA's Polygraphy that use TensorRT, with Tenon's package as `tensorrt`.

    .venv/bin/python test/clients/run_polygraphy.py [TENSORRT] [FILE ...] [--python PYTHON] [--package FOLDER] [--jobs 1]

They are those of tools/Polygraphy/tests/{backend/trt,comparator,func,tools}, each file in a process of its own. A test that
fails is run once more in one of its own, as tests of a file share Polygraphy's state; so is each of a file that ends its process.
PYTHON is an interpreter with the packages of requirements.txt beside this file; TensorFlow may lack, and the tests that want it skip
themselves. polygraphy_differences.txt lists, with the reason, the tests that are bound to a GPU, to something that NVIDIA alone
has or to versions of Python packages, and what is not supported yet. Any other failure is an error, and so is a test of the list that passes.
"""
import concurrent.futures
import os
import pathlib
import re
import sys
import xml.etree.ElementTree

import clients

FOLDERS = ("backend/trt", "comparator", "func", "tools")
LIST = clients.HERE / "polygraphy_differences.txt"
BOUND, UNSUPPORTED, FLAKY = "bound to a GPU, to NVIDIA or to packages", "not supported yet", "now and then"
FILE_SECONDS, TEST_SECONDS = 900, 180
PACKAGES = ("pytest", "onnx", "onnxruntime", "onnx_graphsurgeon", "torch", "sympy", "yaml", "pytest_console_scripts",
            "pytest_virtualenv")


def pytest(options, seconds, *words):
    """pytest in the copy of Polygraphy, whose `import tensorrt` gives Tenon's package, also in the programs that it starts."""
    environment = clients.library_path(options.package / "tenon") | {
        "PYTHONPATH": f"{options.package}:{options.folder}", "PYTHONDONTWRITEBYTECODE": "1",
        "PATH": f"{options.commands}:{pathlib.Path(options.python).parent}:{os.environ['PATH']}",
        "POLYGRAPHY_INTERNAL_CORRECTNESS_CHECKS": "1"}  # as Polygraphy's own Makefile
    command = [options.python, "-m", "tenon.as_tensorrt", "-m", "pytest", "-o", "addopts=", "-q", "-p", "no:cacheprovider"]
    return clients.run([*command, *words], seconds, options.folder, environment)


def line_of(text):
    """The line of pytest's report that says what is wrong."""
    lines = [line.removeprefix("E").strip() for line in text.splitlines() if line.startswith("E  ")] or text.splitlines() or [""]
    return lines[0][:200]


def read_report(report):
    """Test: (outcome, the line that says why), of pytest's XML."""
    results = {}
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        names = (case.get("classname") or case.get("name")).split(".")
        depth = next(i for i, name in enumerate(names) if name.startswith("test_"))
        rest = [*names[depth + 1:], case.get("name")] if case.get("classname") else []  # none where the file cannot be read
        test = "::".join(["/".join(names[:depth + 1]) + ".py", *rest]).removeprefix("tests/")
        trouble = [child for child in case if child.tag in ("failure", "error", "skipped")]
        if not trouble:
            results.setdefault(test, ("passed", ""))
        else:
            outcome = "skipped" if trouble[0].tag == "skipped" else "failed"
            results[test] = (outcome, line_of(trouble[0].text or trouble[0].get("message")))
    return results


def collect(options, file):
    """The tests of a file."""
    done = pytest(options, TEST_SECONDS, "--collect-only", f"tests/{file}")
    return [line.removeprefix("tests/") for line in done.text.splitlines() if ".py::" in line]


def run_one(options, test):
    """The outcome of a test in a process of its own."""
    done = pytest(options, TEST_SECONDS, f"tests/{test}")
    if done.status == 0:
        return "skipped" if re.search(r"^1 skipped", done.text, re.MULTILINE) else "passed", ""
    return "failed", line_of(done.text) if "\nE  " in done.text else done.why()[:200]


def run_file(options, file):
    """Test: (outcome, why) of a file's tests."""
    report = options.reports / (file.replace("/", "_") + ".xml")
    report.unlink(missing_ok=True)
    done = pytest(options, FILE_SECONDS, f"--junitxml={report}", f"tests/{file}")
    if report.exists():
        results = read_report(report)
        again = [test for test, (outcome, _) in results.items() if outcome == "failed" and "::" in test]
        return results | {test: run_one(options, test) for test in again}
    tests = collect(options, file)
    return {test: run_one(options, test) for test in tests} if tests else {file: ("failed", done.why())}


def kind_of(reason):
    """What a test of the list that fails counts as."""
    return next((kind for kind in (UNSUPPORTED, FLAKY) if reason.startswith(kind)), BOUND)


def judge(results, listed, whole):
    """Counts; prints what is not as it should be."""
    counts = clients.Counts("passed", "skipped", BOUND, FLAKY)
    for test, (outcome, why) in results.items():
        kind = kind_of(listed[test]) if test in listed else ""
        if kind and outcome == "failed":
            counts.add(kind, test, listed[test])
        elif kind and outcome == "passed" and kind != FLAKY:
            counts.add("passed, but listed", test)
        else:
            counts.add(outcome, test, why)
    for test in listed.keys() - results.keys() if whole else ():
        counts.add("absent, but listed", test)
    return counts


def write_command(options):
    """`polygraphy`, as pip writes it where Polygraphy is installed."""
    options.commands.mkdir(exist_ok=True)
    command = options.commands / "polygraphy"
    command.write_text(f"#!{options.python}\nimport sys\nfrom polygraphy.tools import main\nsys.exit(main())\n")
    command.chmod(0o755)


def check_interpreter(options):
    """Ends the program if the interpreter lacks a package, or cannot load Tenon's."""
    lines = "; ".join(f"import {package}" for package in PACKAGES)
    done = clients.run([options.python, "-c", f"{lines}; import tenon"], FILE_SECONDS, None, {"PYTHONPATH": str(options.package)})
    if done.status != 0:
        sys.exit(f"{options.python}: {done.why()}; --python wants an interpreter with {', '.join(PACKAGES)}")


def main():
    parser = clients.arguments(__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*", help="files below tools/Polygraphy/tests (default: all)")
    parser.add_argument("--python", default=sys.executable, help="an interpreter with the packages of the tests")
    parser.add_argument("--package", type=pathlib.Path, default=clients.PACKAGE, help="the folder of Tenon's package")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    options = clients.parse(parser, "tools/Polygraphy/tests")
    options.package = options.package.resolve()
    check_interpreter(options)
    listed = clients.read_list(LIST)
    with clients.work_folder(options) as work:
        options.folder = clients.copy_tree(options.checkout / "tools/Polygraphy", work / "Polygraphy")
        options.reports, options.commands = work / "reports", work / "bin"
        write_command(options)
        options.reports.mkdir(exist_ok=True)
        tests = options.folder / "tests"
        found = [path for folder in FOLDERS for path in sorted((tests / folder).rglob("test_*.py"))]
        files = options.files or [str(path.relative_to(tests)) for path in found]
        files = [file for file in files if re.search(options.only, file)]
        results = {}
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for of_file in pool.map(lambda file: run_file(options, file), files):
                results |= of_file
    counts = judge(results, listed, not options.files and not options.only)
    unbound = len(results) - counts["skipped"] - counts[BOUND]
    good = counts["passed"] + counts["passed, but listed"]
    print(f"{len(results)} tests of Polygraphy in {len(files)} files: {counts}")
    share = 100 * good / max(unbound, 1)
    print(f"{good} of {unbound} that are neither skipped nor bound pass: {share:.1f} %")
    return bool(counts["failed"] or counts["passed, but listed"] or counts["absent, but listed"])


if __name__ == "__main__":
    sys.exit(main())
