"""What the make_..._cases.py scripts of this folder share: numbers, ONNX Runtime, and JSON files for
the tests of src/ops. A script calls case() for each case, then write().
"""
import json
import pathlib

import numpy as np
import onnxruntime
from onnx import helper

FOLDER = pathlib.Path(__file__).parent
random = np.random.default_rng(1)
files = {}


def floats(*shape, low=-4.0, high=4.0):
    """Random multiples of 1/16: exact in every float type and short in JSON."""
    sixteenths = random.integers(int(low * 16), int(high * 16), shape, endpoint=True)
    return (sixteenths / 16).astype(np.float32)


def integers(*shape, low=-9, high=9, dtype=np.int64):
    return random.integers(low, high, shape, endpoint=True).astype(dtype)


def as_json(array, kind=None):
    if array is None:
        return None
    array = np.asarray(array)
    def number(v):
        if isinstance(v, (np.floating, float)):
            v = float(v)
            return v if np.isfinite(v) else str(v)
        return int(v)
    if array.dtype in (np.float32, np.float16):
        values = [float(f"{v:.9g}") if np.isfinite(v) else str(float(v)) for v in array.ravel()]
        values = [int(v) if not isinstance(v, str) and v == int(v) and v != 0 else v
                  for v in values]
    else:
        values = [number(v) for v in array.ravel()]
    out = {"type": str(array.dtype), "shape": list(array.shape), "data": values}
    if kind:
        out["kind"] = kind
    return out


def constant(array):
    return (array, "constant")


def shape_input(values):
    return (np.array(values, np.int64), "shape")


def case(file, op, name, attributes, inputs, outputs, **more):
    """Inputs are arrays, None, or (array, kind). static=True: extents cannot be symbols."""
    listed = [as_json(*i) if isinstance(i, tuple) else as_json(i) for i in inputs]
    if not isinstance(outputs, (list, tuple)):
        outputs = [outputs]
    files.setdefault(file, []).append(
        {"name": name, "op": op, "attributes": attributes, "inputs": listed,
         "outputs": [as_json(o) for o in outputs], **more})


def onnx_run(op, inputs, opset=19, domain="", outputs=1, **attributes):
    """One node through ONNX Runtime; None leaves an input out. A list for several outputs."""
    results = [f"y{i}" for i in range(outputs)]
    names = [f"x{i}" if a is not None else "" for i, a in enumerate(inputs)]
    feeds = {n: np.asarray(a) for n, a in zip(names, inputs) if n}
    node = helper.make_node(op, names, results, domain=domain, **attributes)
    graph = helper.make_graph(
        [node], "case",
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
         for n, a in feeds.items()],
        [helper.make_empty_tensor_value_info(r) for r in results])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 10
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    computed = session.run(None, feeds)
    return computed if outputs > 1 else computed[0]


def write():
    for name, cases in files.items():
        lines = ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases)
        (FOLDER / f"{name}.json").write_text(f"[\n{lines}\n]\n")
        print(name, len(cases))
