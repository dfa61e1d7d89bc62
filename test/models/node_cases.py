"""ONNX's node tests as their folders hold them, and how what was computed is compared with them. TENON_ONNX_CASES is where they are."""
import json
import os
import pathlib

import numpy as np
import onnx
from onnx import numpy_helper

CASES = pathlib.Path(os.environ["TENON_ONNX_CASES"])
ROOT = pathlib.Path(__file__).parents[2]
OWN = ROOT / "src/import/testdata/models"  # models of several nodes, with the results of ONNX Runtime
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


def output_names(graph, folder):
    """The elements of a sequence are outputs of their own."""
    if graph.output[0].type.HasField("sequence_type"):
        return [f"{graph.output[0].name}_{i}" for i in range(len(list(folder.glob("output_*.pb"))))]
    return [value.name for value in graph.output]


def all_folders():
    return sorted(f for root in (CASES, OWN) for f in root.iterdir() if (f / "model.onnx").exists())


class LacksTypes(Exception):
    """A case with element types that .npz files or NumPy lack."""


def case_of(folder):
    """The model, what the engine is to be fed with, and the outputs that are expected. Throws LacksTypes."""
    model = onnx.load(folder / "model.onnx")
    if folder.name in ONLY_WITH_CONSTANTS or folder.name in NOT_PASSED:
        with_constants(model, folder)
    weights = {tensor.name for tensor in model.graph.initializer}
    try:
        inputs = read(folder, "input", [v.name for v in model.graph.input])
        expected = read(folder, "output", output_names(model.graph, folder))
    except Exception as error:  # of whatever kind: element types that NumPy lacks
        raise LacksTypes(str(error)) from error
    if any(a.dtype not in TYPES for a in [*inputs.values(), *expected.values()]):
        raise LacksTypes
    return model, {name: a.astype(WIDER.get(a.dtype, a.dtype)) for name, a in inputs.items() if name not in weights}, expected
