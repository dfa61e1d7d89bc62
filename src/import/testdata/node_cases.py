"""Single nodes with the results of ONNX Runtime, written as JSON for src/import/node_cases_test.cc.

A make_….py script of this folder calls case() for each node, then write("its_file").
"""
import json
import pathlib

import numpy as np
import onnxruntime
from onnx import helper

FOLDER = pathlib.Path(__file__).parent
random = np.random.default_rng(1)
cases = []


def floats(*shape, low=-2.0, high=2.0, dtype=np.float32):
    """Random multiples of 1/16: exact in every float type and short in JSON."""
    return (random.integers(int(low * 16), int(high * 16), shape, endpoint=True) / 16).astype(dtype)


def integers(*shape, low=0, high=9, dtype=np.int64):
    return random.integers(low, high, shape, endpoint=True).astype(dtype)


class Constant:
    """An input that is an initializer."""
    def __init__(self, array):
        self.array = np.asarray(array)


def as_json(array, constant=False):
    if array is None:
        return None
    def number(v):
        if isinstance(v, (np.floating, float)):
            return float(f"{float(v):.7g}") if np.isfinite(v) else str(float(v))
        return int(v)
    out = {"type": str(array.dtype), "shape": list(array.shape),
           "data": [number(v) for v in array.ravel()]}
    return {**out, "constant": True} if constant else out


def model_of(op, inputs, outputs, domain, opset, attributes):
    """A model of one node, and what to feed it."""
    arrays = [i.array if isinstance(i, Constant) else i for i in inputs]
    names = [f"x{i}" if a is not None else "" for i, a in enumerate(arrays)]
    node = helper.make_node(op, names, outputs, name="node", domain=domain, **attributes)
    def info(name, a):
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
    def weight(name, a):
        return helper.make_tensor(name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape,
                                  a.tobytes(), raw=True)
    fed = {n: a for n, a, i in zip(names, arrays, inputs) if n and not isinstance(i, Constant)}
    graph = helper.make_graph(
        [node], "case", [info(n, a) for n, a in fed.items()],
        [helper.make_empty_tensor_value_info(o) for o in outputs if o],
        [weight(n, i.array) for n, i in zip(names, inputs) if isinstance(i, Constant)])
    opsets = [helper.make_opsetid("", opset)]
    if domain:
        opsets.append(helper.make_opsetid(domain, 1))
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), fed


def case(op, name, inputs, outputs=1, domain="com.microsoft", opset=21, tolerance=1e-5, expected=None,
         static=None, more=None, **attributes):
    """Inputs are arrays, None, or Constant; `outputs` is how many, or a list of flags (False: left
    out). static: True if extents cannot be symbols, "heads" if only batch and length can, "lists" if
    those of one axis cannot. `expected` stands for ONNX Runtime's results where it has no such
    kernel. `more` holds attributes that are named as a parameter here."""
    attributes.update(more or {})
    flags = [True] * outputs if isinstance(outputs, int) else outputs
    names = [f"y{i}" if wanted else "" for i, wanted in enumerate(flags)]
    if expected is None:
        model, fed = model_of(op, inputs, names, domain, opset, attributes)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                               providers=["CPUExecutionProvider"])
        expected = session.run(None, fed)
    listed = [as_json(i.array, True) if isinstance(i, Constant) else as_json(i) for i in inputs]
    cases.append({"name": f"{op} {name}", "op": op, "domain": domain, "opset": opset,
                  "attributes": attributes, "inputs": listed, "output_names": names,
                  "outputs": [as_json(np.asarray(o)) for o in expected], "tolerance": tolerance,
                  **({"static": static} if static else {})})


def write(file):
    lines = ",\n".join(json.dumps(c) for c in cases)
    (FOLDER / f"{file}.json").write_text(f"[\n{lines}\n]\n")
    print(file, len(cases), "cases")
