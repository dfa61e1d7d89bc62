"""ONNX's own node tests through the whole engine, as `tenon run` has it, against the expected outputs.

src/import/onnx_cases_test.cc runs the same cases layer by layer, and docs/onnx_node_tests.json is what it
finds: which pass, which pass when their inputs are constants, and which do not, for what reason. Here they
pass the optimizer, the planner and the target's kernels, with the same result each. TENON_RUN_CASES is the
program run_cases; TENON_JOBS of them run side by side.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import tempfile
import threading
import unittest

import numpy as np
import onnx
from onnx import numpy_helper

from case_runner import Runner

JOBS = int(os.environ.get("TENON_JOBS", "2"))
CASES = pathlib.Path(os.environ["TENON_ONNX_CASES"])
ROOT = pathlib.Path(__file__).parents[2]
OWN = ROOT / "src/import/testdata/models"  # models of several nodes, with the results of ONNX Runtime
EVERY = int(os.environ.get("TENON_EVERY", "1"))  # sanitizers take a part, to stay within minutes
# What the engine has in the place of types that TensorRT lacks.
WIDER = {np.dtype(t): wider for t, wider in
         {"float64": np.float32, "int16": np.int32, "uint16": np.int32, "uint32": np.int64, "uint64": np.int64}.items()}
# What .npz files hold; the other types stay inside the engine in the C++ test.
TYPES = {*WIDER} | {np.dtype(t) for t in ("float32", "float16", "int8", "uint8", "int32", "int64", "bool")}
FOUND = json.loads((ROOT / "docs/onnx_node_tests.json").read_text())
ONLY_WITH_CONSTANTS = set(FOUND["only_with_constants"])
NOT_PASSED = {name: reason for reason, names in FOUND["not_passed"].items() for name in names}
WRONG = "expected values contradict the text"  # the one reason that is no refusal
RANDOM = ("bernoulli",)
MAKES_CONSTANTS = ("Window", "MelWeightMatrix")


def read(folder, kind, names):
    if folder.parent == OWN:
        folder = folder / "test_data_set_0"
    return {name: numpy_helper.to_array(onnx.load_tensor(str(folder / f"{kind}_{i}.pb")))
            for i, name in enumerate(names)}


def with_constants(model, folder):
    """All inputs but the first become initializers; of operators that only make constants, all."""
    every = any(word in model.graph.node[0].op_type for word in MAKES_CONSTANTS)
    for i, value in enumerate(model.graph.input):
        if i > 0 or every:
            tensor = onnx.load_tensor(str(folder / f"input_{i}.pb"))
            tensor.name = value.name
            model.graph.initializer.append(tensor)


def tolerance(folder, dtype):
    """Relative and absolute; models of our own may say it."""
    said = folder / "tolerance"
    if folder.parent == OWN and said.exists():
        return [float(number) for number in said.read_text().split()]
    return (4e-3, 1e-3) if dtype == np.float16 else (1e-3, 1e-5)


def difference(found, expected, folder):
    if found.shape != expected.shape:
        return f"shape {found.shape}, expected {expected.shape}"
    if any(word in folder.name for word in RANDOM):
        return ""
    rtol, atol = tolerance(folder, expected.dtype)
    close = np.allclose(found.astype(np.float64), expected.astype(np.float64), rtol=rtol, atol=atol, equal_nan=True)
    return "" if close else f"{found.ravel()[:4]}, expected {expected.ravel()[:4]}"


HERE = threading.local()  # each thread has a runner of its own
RUNNERS = []


def tenon(model, given="-", made="-"):
    if not hasattr(HERE, "runner"):
        HERE.runner = Runner()
        RUNNERS.append(HERE.runner)
    return HERE.runner.run(model, given, made)


def output_names(graph, folder):
    """The elements of a sequence are outputs of their own."""
    if graph.output[0].type.HasField("sequence_type"):
        return [f"{graph.output[0].name}_{i}" for i in range(len(list(folder.glob("output_*.pb"))))]
    return [value.name for value in graph.output]


def refusal(folder):
    """A case that does not pass: an error, no crash."""
    answer = tenon(folder / "model.onnx")
    if answer == "ok" and (folder / "no_tensors").exists():
        return "inputs that are no tensors", ""
    return ("failed", answer) if answer in ("ok", "crashed") else ("refused", "")


def run(folder):
    """The kind of outcome, and what is wrong."""
    if folder.name in NOT_PASSED and NOT_PASSED[folder.name] != WRONG:
        return refusal(folder)
    model = onnx.load(folder / "model.onnx")
    if folder.name in ONLY_WITH_CONSTANTS or folder.name in NOT_PASSED:
        with_constants(model, folder)
    graph = model.graph
    weights = {tensor.name for tensor in graph.initializer}
    try:
        inputs = read(folder, "input", [v.name for v in graph.input])
        expected = read(folder, "output", output_names(graph, folder))
    except Exception as error:  # element types that NumPy lacks
        return "types that .npz files lack", str(error)
    if any(a.dtype not in TYPES for a in [*inputs.values(), *expected.values()]):
        return "types that .npz files lack", ""
    with tempfile.TemporaryDirectory() as scratch:
        given, made, path = (f"{scratch}/{name}" for name in ("in.npz", "out.npz", "model.onnx"))
        onnx.save(model, path)
        fed = {name: a.astype(WIDER.get(a.dtype, a.dtype)) for name, a in inputs.items() if name not in weights}
        np.savez(given, **fed)
        answer = tenon(path, given if fed else "-", made)
        if answer != "ok":
            return "failed", answer
        found = dict(np.load(made))
    wrong = [f"{name}: {text}" for name, value in expected.items()
             if (text := difference(found[name], value, folder))]
    if folder.name in NOT_PASSED:
        return ("contradicts", "") if wrong else ("failed", "passes, and is listed among those that do not")
    return ("wrong" if wrong else "passed"), "; ".join(wrong)


class NodeCases(unittest.TestCase):
    def test_all(self):
        folders = sorted(f for root in (CASES, OWN) for f in root.iterdir()
                         if (f / "model.onnx").exists())[::EVERY]
        counts = collections.Counter()
        with concurrent.futures.ThreadPoolExecutor(max_workers=JOBS) as pool:
            for folder, (kind, text) in zip(folders, pool.map(run, folders)):
                counts[kind] += 1
                with self.subTest(folder.name):
                    self.assertNotIn(kind, ("failed", "wrong"), text)
        for runner in RUNNERS:
            runner.close()
        print(dict(counts))


unittest.main()
