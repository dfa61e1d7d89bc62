"""ONNX's own node tests through the whole engine: `tenon run` on each, against the expected outputs.

src/import/onnx_cases_test.cc runs the same cases layer by layer; here they pass the optimizer, the planner and
the CPU target's kernels.
"""
import collections
import concurrent.futures
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy as np
import onnx
from onnx import numpy_helper

TENON = os.environ["TENON"]
CASES = pathlib.Path(os.environ["TENON_ONNX_CASES"])
EVERY = int(os.environ.get("TENON_EVERY", "1"))  # sanitizers take a part, to stay within minutes
TYPES = {np.dtype(t) for t in ("float32", "float16", "int8", "uint8", "int32", "int64", "bool")}
# What the command line says where an operator needs constants, or is not there: the importer's test lists them.
REFUSALS = ("not supported", "must be constant", "must be a constant", "is not constant", "give the axes",
            "a tensor has one rank")
RANDOM = ("bernoulli",)
CONTRADICTIONS = ("test_resize_downsample_scales_cubic_align_corners",
                  "test_resize_downsample_scales_linear_align_corners")


def tensors(folder, kind, names):
    return {name: numpy_helper.to_array(onnx.load_tensor(str(folder / f"{kind}_{i}.pb")))
            for i, name in enumerate(names)}


def difference(found, expected, name):
    if found.shape != expected.shape:
        return f"shape {found.shape}, expected {expected.shape}"
    if any(word in name for word in RANDOM):
        return ""
    half = expected.dtype == np.float16
    close = np.allclose(found.astype(np.float64), expected.astype(np.float64), rtol=4e-3 if half else 1e-3,
                        atol=1e-3 if half else 1e-5, equal_nan=True)
    return "" if close else f"{found.ravel()[:4]}, expected {expected.ravel()[:4]}"


def run(folder):
    """The kind of outcome, and what is wrong."""
    graph = onnx.load(folder / "model.onnx").graph
    weights = {tensor.name for tensor in graph.initializer}
    try:
        inputs = tensors(folder, "input", [v.name for v in graph.input if v.name not in weights])
        expected = tensors(folder, "output", [v.name for v in graph.output])
    except Exception as error:  # element types that NumPy lacks
        return "other types", str(error)
    if any(a.dtype not in TYPES for a in [*inputs.values(), *expected.values()]):
        return "other types", ""
    with tempfile.TemporaryDirectory() as scratch:
        given, made = f"{scratch}/in.npz", f"{scratch}/out.npz"
        np.savez(given, **inputs)
        command = [TENON, "run", folder / "model.onnx", f"--outputs={made}"]
        answer = subprocess.run(command + ([f"--inputs={given}"] if inputs else []), capture_output=True, text=True,
                                timeout=300)
        text = (answer.stdout + answer.stderr).strip()
        if answer.returncode != 0:
            refused = answer.returncode == 1 and any(refusal in text for refusal in REFUSALS)
            return "refused" if refused else "failed", text[-300:]
        found = dict(np.load(made))
    wrong = [f"{name}: {text}" for name, value in expected.items()
             if (text := difference(found[name], value, folder.name))]
    return ("wrong" if wrong else "passed"), "; ".join(wrong)


class NodeCases(unittest.TestCase):
    def test_all(self):
        folders = sorted(f for f in CASES.iterdir() if (f / "model.onnx").exists()
                         and not (f / "no_tensors").exists() and f.name not in CONTRADICTIONS)[::EVERY]
        counts = collections.Counter()
        with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
            for folder, (kind, text) in zip(folders, pool.map(run, folders)):
                counts[kind] += 1
                with self.subTest(folder.name):
                    self.assertNotIn(kind, ("failed", "wrong"), text)
        print(dict(counts))
        self.assertGreaterEqual(counts["passed"], 1270 // EVERY - 30)


unittest.main()
