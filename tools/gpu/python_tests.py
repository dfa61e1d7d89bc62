"""The Python package on a GPU: its scripts for that, and the tests that need NumPy and pytest alone."""
import importlib.util
import re
import sys

from gpu import gtest
from gpu.machine import LIBRARIES, ROOT, output_of

PACKAGE = "python/tenon"  # in the build's folder
TESTS = ROOT / "python/test"
# Those that give their arrays to engine(x): the others have addresses of the host for the context's own methods.
WITH_PYTEST = ("builder", "compile_progress", "engine", "extensions", "gpu_memory", "pytrt", "surface")


def python_tests(machine):
    """A result for each check of the scripts, and for each test if pytest is there."""
    # The package has the system's libraries that it needs inside; Python and its packages have others.
    libraries = machine.environment["LD_LIBRARY_PATH"].split(":")
    environment = {"PYTHONPATH": str((machine.build / PACKAGE).parent), "PYTHONDONTWRITEBYTECODE": "1",
                   "LD_LIBRARY_PATH": ":".join(path for path in libraries if path != str(ROOT / LIBRARIES))}
    outcome = gtest.Outcome()
    code, text = output_of(machine, [sys.executable, TESTS / "gpu_arrays"], 300, environment)
    outcome.passed += re.findall(r"(?m)^ok +([^:\n]+)", text)
    outcome.failed |= {match[1]: match[2] for match in re.finditer(r"(?m)^FAILED +([^:\n]+): (.*)", text)}
    if not outcome.failed and (code != 0 or not outcome.passed):
        outcome.failed["gpu_arrays"] = text[-4000:]
    code, text = output_of(machine, [sys.executable, TESTS / "gpu_plugins.py"], 120, environment)
    outcome.add(gtest.Outcome(["gpu_plugins.py"]) if code == 0 else gtest.Outcome([], {"gpu_plugins.py": text[-4000:]}))
    if importlib.util.find_spec("pytest") is None:
        return outcome
    files = [TESTS / f"test_{name}.py" for name in WITH_PYTEST]
    code, text = output_of(machine, [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", *files], 300,
                           environment)
    outcome.passed += re.findall(r"(?m)^PASSED (\S+)", text)
    outcome.failed |= {match[1]: match[2] for match in re.finditer(r"(?m)^(?:FAILED|ERROR) (\S+)(.*)", text)}
    if code not in (0, 1):
        outcome.failed["pytest"] = text[-4000:]
    return outcome
