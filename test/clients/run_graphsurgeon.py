"""Runs the tests and examples of NVIDIA's onnx-graphsurgeon with Tenon's tenon.graphsurgeon as `onnx_graphsurgeon`.

    .venv/bin/python test/clients/run_graphsurgeon.py [TENSORRT] [--python PYTHON] [--package FOLDER]

TENSORRT has tools/onnx-graphsurgeon, from which the tests (among which are the examples) are copied, without its own package. PYTHON is an
interpreter with the packages of requirements.txt beside this file. graphsurgeon_differences.txt lists, with the
reason, the tests that cannot pass. Any other failure is an error, and so is a test of the list that passes.
"""
import pathlib
import sys
import xml.etree.ElementTree

import clients

LIST = clients.HERE / "graphsurgeon_differences.txt"
SECONDS = 900
# The examples are run by `python3`, with the copy as PYTHONPATH and no PATH: it hands over to PYTHON.
CUSTOMIZE = """import os, sys
os.environ.update({variables!r})
os.execv({python!r}, [{python!r}, *sys.orig_argv[1:]])
"""


def pytest(options, folder):
    """pytest in the copy; returns how it ended, and its report."""
    report = folder / "report.xml"
    environment = {"PYTHONPATH": str(options.package), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [options.python, "-m", "tenon.as_onnx_graphsurgeon", "-m", "pytest", "-o", "addopts=", "-q", "-p",
               "no:cacheprovider", f"--junitxml={report}", "tests"]
    return clients.run(command, SECONDS, folder, environment), report


def results_of(report):
    """Test: (outcome, the line that says why)."""
    results = {}
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        trouble = [child for child in case if child.tag in ("failure", "error", "skipped")]
        outcome = "passed" if not trouble else "skipped" if trouble[0].tag == "skipped" else "failed"
        why = ((trouble[0].get("message") or "").splitlines() or [""])[0][:200] if trouble else ""
        results[f"{case.get('classname').removeprefix('tests.')}::{case.get('name')}"] = (outcome, why)
    return results


def prepare(options, folder):
    """Copies the tests and examples, and lets the examples find Tenon's package."""
    for name in ("tests", "examples"):
        clients.copy_tree(options.checkout / "tools/onnx-graphsurgeon" / name, folder / name)
    done = clients.run([options.python, "-c", "import onnx, onnxruntime, ml_dtypes, pytest, tenon"], 120, folder,
                       {"PYTHONPATH": str(options.package)})
    if done.status != 0:
        sys.exit(f"{options.python}: {done.why()}; --python wants an interpreter with onnx, onnxruntime, ml_dtypes and pytest")
    variables = {"PYTHONPATH": f"{options.package / 'tenon/_children'}:{options.package}",
                 "TENON_STANDS_FOR": "onnx_graphsurgeon"}
    (folder / "sitecustomize.py").write_text(CUSTOMIZE.format(variables=variables, python=str(options.python)))


def main():
    parser = clients.arguments(__doc__.split("\n")[0])
    parser.add_argument("--python", default=sys.executable, help="an interpreter with the packages of the tests")
    parser.add_argument("--package", type=pathlib.Path, default=clients.PACKAGE, help="the folder of Tenon's package")
    options = clients.parse(parser, "tools/onnx-graphsurgeon/tests")
    options.package = options.package.resolve()
    listed = clients.read_list(LIST)
    with clients.work_folder(options) as folder:
        prepare(options, folder)
        done, report = pytest(options, folder)
        if not report.exists():
            sys.exit(f"pytest did not run: {done.why()}")
        results = results_of(report)
    counts = clients.Counts("passed", "skipped", "listed")
    for test, (outcome, why) in results.items():
        if test in listed and outcome != "skipped":
            counts.add("listed" if outcome == "failed" else "passed, but listed", test, why)
        else:
            counts.add(outcome, test, why)
    for test in listed.keys() - results.keys():
        counts.add("absent, but listed", test)
    print(f"{len(results)} tests of onnx-graphsurgeon: {counts}")
    passed = counts["passed"] + counts["passed, but listed"]
    print(f"{passed} of {len(results) - counts['skipped']} that are not skipped pass: "
          f"{100 * passed / max(len(results) - counts['skipped'], 1):.1f} %")
    return bool(counts["failed"] or counts["passed, but listed"] or counts["absent, but listed"])


if __name__ == "__main__":
    sys.exit(main())
