"""Runs the tests of onnxslim and onnxsim with Tenon's edits in the place of their functions.

    .venv/bin/python test/clients/run_simplifiers.py [CHECKOUT ...] [--python PYTHON] [--package FOLDER] [--only REGEX]

A CHECKOUT is a work tree of inisis/OnnxSlim or of daquexian/onnx-simplifier. PYTHON is an interpreter with both packages, whose inside
tests import, and with onnx, onnxruntime, torch, torchvision, onnxscript and pytest. Of each test that calls `onnxslim.slim` or
`onnxsim.simplify` it is counted whether it passes with what tenon.onnx makes (simplified_by_tenon.py); tests of the packages' inside, of
their command lines, and of models that have to be downloaded are none of ours. simplifier_differences.txt lists, with the reason, the tests
that cannot pass. Any other failure is an error, and so is a test of the list that passes.
"""
import argparse
import pathlib
import sys
import xml.etree.ElementTree

import clients
from run_graphsurgeon import results_of

LIST = clients.HERE / "simplifier_differences.txt"
SECONDS = 900
# By what a checkout is known, and what of it makes its models itself.
TESTS = {"onnxslim": ["test_elimination_patterns", "test_fusion_patterns", "test_dead_node_elimination", "test_shape_folding",
                      "test_subexpression_elimination", "test_pattern_matcher", "test_pattern_generator", "test_coverage",
                      "test_symbolic_shape_inference", "test_utils", "test_onnxslim"],
         "onnxsim": ["test_python_api"]}


def package_of(checkout):
    """"onnxslim" or "onnxsim"."""
    for name, files in TESTS.items():
        if (checkout / "tests" / f"{files[0]}.py").exists():
            return name
    sys.exit(f"{checkout} is no checkout of OnnxSlim or onnx-simplifier")


def simplified_tests(report):
    """Tests that have called the function that is ours."""
    return {f"{case.get('classname').removeprefix('tests.')}::{case.get('name')}"
            for case in xml.etree.ElementTree.parse(report).iter("testcase")
            for one in case.iter("property") if one.get("name") == "simplified"}


def tested(options, package, checkout, folder, listed):
    clients.copy_tree(checkout / "tests", folder / "tests")
    report = folder / "report.xml"
    (folder / "tests/conftest.py").unlink(missing_ok=True)  # it draws pictures of a benchmark
    environment = {"PYTHONPATH": f"{options.package}:{clients.HERE}:{folder / 'tests'}", "PYTHONDONTWRITEBYTECODE": "1", "ONNXSIM_CI": "1"}
    done = clients.run([options.python, "-m", "pytest", "-o", "addopts=", "-q", "-p", "no:cacheprovider", "-p", "simplified_by_tenon",
                        "-o", "junit_family=xunit1", f"--junitxml={report}", *(["-k", options.only] if options.only else []),
                        *(f"tests/{name}.py" for name in TESTS[package])], SECONDS, folder, environment)
    if not report.exists():
        sys.exit(f"pytest did not run: {done.why()}")
    ours = simplified_tests(report)
    counts = clients.Counts("passed", "listed", "skipped", "of the inside", "without its model")
    results = results_of(report)
    for test, (outcome, why) in results.items():
        name = f"{package} {test}"
        if outcome == "failed" and "/data/modelzoo" in why:
            counts.add("without its model", name)
        elif outcome == "skipped":
            counts.add("skipped", name, why)
        elif test not in ours:
            counts.add("of the inside", name)
        elif name in listed:
            counts.add("listed" if outcome == "failed" else "passed, but listed", name, why)
        else:
            counts.add(outcome, name, why)
    passed = counts["passed"] + counts["passed, but listed"]
    failed = counts["failed"] + counts["listed"]
    print(f"{package}: {len(results)} tests: {counts}; {passed} of {passed + failed} that call it pass")
    return counts["failed"] + counts["passed, but listed"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkouts", type=pathlib.Path, nargs="*")
    parser.add_argument("--python", default=sys.executable, help="an interpreter with the packages of the tests")
    parser.add_argument("--package", type=pathlib.Path, default=clients.PACKAGE, help="the folder of Tenon's package")
    parser.add_argument("--only", default="", help="pytest's -k")
    parser.add_argument("--work", type=pathlib.Path, help="a folder for the copies, which stays")
    options = parser.parse_args()
    options.package = options.package.resolve()
    if not options.checkouts:
        print("SKIPPED run_simplifiers.py: no checkout of OnnxSlim or onnx-simplifier was given")
        return 0
    listed = clients.read_list(LIST)
    wrong = 0
    for checkout in options.checkouts:
        package = package_of(checkout.resolve())
        with clients.work_folder(options) as folder:
            wrong += tested(options, package, checkout.resolve(), folder, listed)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
