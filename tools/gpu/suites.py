"""The suites that run on a GPU, and what each needs."""
import os
import pathlib
import re
import subprocess
import sys

from gpu import gtest
from gpu.machine import ROOT, Suite, output_of
from gpu.python_tests import PACKAGE, python_tests


def google(program, pattern="*", before=(), seconds=40, parts=None):
    """A suite that is a GoogleTest program, whose tests take at most so many seconds each."""
    def run(machine):
        count = parts or machine.jobs
        return gtest.run(machine.build / program, pattern, machine.pool, count, machine.environment, seconds, before, machine.tests)
    return run


def models(suite, *names, apart=False):
    """A suite of real models against ONNX Runtime."""
    return Suite(suite, f"against ONNX Runtime: {', '.join(names)}", ("test/models/test_models",),
                 google("test/models/test_models", ":".join(f"*/{name}" for name in names), seconds=90), names, apart=apart)


def counted(passed, failed, text):
    """An outcome of which only numbers are known."""
    outcome = gtest.Outcome([f"#{i}" for i in range(passed)])
    if failed:
        outcome.failed = {f"#{i}": "" for i in range(failed - 1)} | {"output": text}
    return outcome


def node_cases(machine):
    """ONNX's node tests; those that must be refused count as passed when they are."""
    code, text = output_of(
        machine, [sys.executable, "-B", ROOT / "test/models/node_cases_test.py"], 400,
        {"PYTHONPATH": str(ROOT / "test/support"), "TENON_RUN_CASES": str(program_of(machine, "test/models/run_cases")), "TENON_JOBS": str(machine.jobs),
         "TENON_ONNX_CASES": str(machine.build / "src/import/onnx_cases"), "LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")})
    failed = {}
    for part in re.split(r"(?m)^=+\n", text)[1:]:
        if match := re.match(r"(?:FAIL|ERROR): \S+ \(\S+\) \[(\S+)\]", part):
            failed[match[1]] = part.strip().split("unexpectedly found in ('failed', 'wrong') : ")[-1].split("\n\n")[0]
    numbers = re.search(r"(?m)\{'[a-z].*\}$", text)
    if not numbers:
        return gtest.Outcome([], {"node_cases_test.py": text[-4000:]})
    counts = {kind: int(n) for kind, n in re.findall(r"'([^']+)': (\d+)", numbers[0])}
    good = sum(n for kind, n in counts.items() if kind not in ("failed", "wrong", "types that .npz files lack"))
    outcome = counted(good, 0, "")
    outcome.failed = failed
    if code != 0 and not failed:
        outcome.failed = {"node_cases_test.py": text[-4000:]}
    return outcome


def program_of(machine, path):
    """A program as others may start it: a script that sets the libraries' path for it alone, not for Python."""
    script = machine.build / "gpu_check" / pathlib.Path(path).name
    script.parent.mkdir(exist_ok=True)
    libraries = machine.environment.get("LD_LIBRARY_PATH", "")
    script.write_text(f'#!/bin/sh\nLD_LIBRARY_PATH="{libraries}" exec "{machine.build / path}" "$@"\n')
    script.chmod(0o755)
    return script


def plugin_cases(machine, path, options=(), before=()):
    """Plugins' cases of a file, or of all in a folder, on the GPU without the engine."""
    command = [*before, machine.build / "test/cuda/cuda_cases", *options, path]
    code, text = output_of(machine, command, 400)
    cases = re.findall(r"(?m)^\S+/\S*/\S* +(\d+) +(\d+)\b", text)
    failed = sum(int(n) for _, n in cases)
    if code != 0 and failed == 0:
        failed = 1
    return counted(sum(int(n) for n, _ in cases) - failed, failed, text)


def sanitized_plugins(tool):
    """Plugins' cases under compute-sanitizer, several plugins at a time."""
    def run(machine):
        before = (*SANITIZER, f"--tool={tool}")
        files = sorted((ROOT / "plugins").glob("*/cases.json"))
        outcome = gtest.Outcome()
        for file, one in zip(files, machine.pool.map(lambda f: plugin_cases(machine, f, ["--bare"], before), files)):
            outcome.passed += [f"{file.parent.name} {name}" for name in one.passed]
            outcome.failed |= {f"{file.parent.name} {name}": text for name, text in one.failed.items()}
        return outcome
    return run


CLI = ("build_test", "run_test", "commands_test", "bad_input_test")
CLI_PROGRAMS = ("tools/tenon/tenon", "test/cli/libtest_cli_plugin.so", "test/cli/libtest_cli_known_plugins.so")


def command_line(machine):
    """The command line's tests, each in a process of its own."""
    folder = ROOT / "test/cli"
    environment = {"TENON": str(program_of(machine, CLI_PROGRAMS[0])), "TENON_EXAMPLE_PLUGIN": str(machine.build / CLI_PROGRAMS[1]),
                   "TENON_KNOWN_PLUGINS": str(machine.build / CLI_PROGRAMS[2]),
                   "LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")}

    def run(name):
        code, text = output_of(machine, [sys.executable, "-B", "-m", "unittest", name], 120, environment, folder)
        return gtest.Outcome([name] if code == 0 else [], {name: text[-6000:]} if code else {})

    names, group = [], ""
    for module in CLI:
        for line in (folder / f"{module}.py").read_text().splitlines():
            if match := re.match(r"class (\w+)|    def (test_\w+)", line):
                group = match[1] or group
                names += [f"{module}.{group}.{match[2]}"] if match[2] else []
    outcome = gtest.Outcome()
    for one in list(machine.pool.map(run, names)):
        outcome.add(one)
    return outcome


SUITES = (
    Suite("kernels", "the CUDA target's kernels against each layer's reference", ("test/cuda/test_cuda",),
          google("test/cuda/test_cuda", seconds=90)),
    Suite("onnx", "ONNX's node tests, and small models, through the engine", ("test/models/run_cases", "src/import/onnx_cases"),
          node_cases),
    Suite("plugins", "plugins' cases through the engine: ONNX node, addPluginV2, addPluginV3", ("test/plugins/test_plugins_engine",),
          google("test/plugins/test_plugins_engine")),
    Suite("plugin kernels", "plugins' cases without the engine, in both protocols", ("test/cuda/cuda_cases",),
          lambda machine: plugin_cases(machine, ROOT / "plugins")),
    Suite("goldens", "whole models against PyTorch", ("test/golden/test_golden",), google("test/golden/test_golden")),
    models("models", "basic_pitch", "espcn_x3", "magika_v3", "mnist_cnn", "ppocr_cls", "ppocrv4_det", "silero_vad_v5", "silero_vad_v6",
           "slanet_plus"),
    models("text recognition", "ppocrv4_rec", apart=True),
    models("object detection", "tiny_yolov3", apart=True),
    Suite("api", "the API's tests, with memory that host and GPU see", ("src/api/test_api",), google("src/api/test_api", seconds=20)),
    Suite("programs", "programs in the style of TensorRT 8", ("test/programs8x/test_programs8x",),
          google("test/programs8x/test_programs8x")),
    Suite("engine", "CUDA graphs, contexts side by side, memory that is not there, a broken device",
          ("test/cuda/test_engine_cuda",), google("test/cuda/test_engine_cuda")),
    Suite("command line", "build, run, inspect and what they refuse", CLI_PROGRAMS, command_line),
    Suite("runtime", "the CUDA runtime that forwards, and the one on host memory",
          ("cudart/test_cudart_forward", "cudart/stand_in/libcudart.so.13", "cudart/names/libcudart.so.13"),
          google("cudart/test_cudart_forward", parts=1)),
    Suite("serve", "tensors, images, engines and pipelines of the runtime", ("serve/test_serve",), google("serve/test_serve")),
    Suite("python", "engine(x) with NumPy and PyTorch, plugins in Python, and tests of the package", (PACKAGE,), python_tests,
          optional=True),
)

BENCHMARK = ("bench/tenon_bench_worker", "tools/tenon/tenon")  # of bench/gpu.py, which the archive serves, too
SANITIZER = ("compute-sanitizer", "--print-limit=20", "--error-exitcode=99", "--report-api-errors=no")
SANITIZED = tuple(
    Suite(f"{tool}: {suite}", "", (), run)
    for tool in ("memcheck", "racecheck")
    for suite, run in (
        ("kernels", google("test/cuda/test_cuda", before=(*SANITIZER, f"--tool={tool}"), seconds=400)),
        ("plugin kernels", sanitized_plugins(tool))))
TWO = (Suite("two GPUs", "an engine on each of two GPUs, and what goes between them", ("test/cuda/test_devices",),
             google("test/cuda/test_devices", parts=1)),)
