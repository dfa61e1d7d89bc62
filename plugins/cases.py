"""Writes cases.json: what a plugin must compute, as another implementation computes it.

A plugin's make_cases.py calls case() for each case and write(__file__) at the end. Needs NumPy; the
expected values come from PyTorch, torchvision or NumPy.
"""
import json
import math
import pathlib

import numpy

_CASES = []


def _number(value):
    """A number as JSON has it; it has no NaN and no infinities, so these are strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _values(array):
    """The elements in row-major order; float32 with as many digits as it needs."""
    if array.dtype == numpy.float32:
        return [_number(int(v) if v.is_integer() else float(str(v))) for v in array.flatten()]
    if array.dtype == bool:
        array = array.astype(int)
    return [_number(v) for v in array.flatten().tolist()]


def _attribute(value):
    """int is int32, float is float32, str is a string; an array says its type."""
    if isinstance(value, numpy.ndarray):
        return {"type": str(value.dtype), "values": _values(value)}
    if isinstance(value, bool):
        return int(value)
    return value


def _tensor(name, array, kind, scale):
    array = numpy.asarray(array)
    tensor = {"name": name, "type": kind or str(array.dtype), "dims": list(array.shape)}
    if scale is not None:
        tensor["scale"] = scale
    if kind != "any":
        tensor["values"] = _values(array)
    return tensor


def case(plugin, name, attributes, inputs, outputs, version="1", namespace="",
         tolerance=(1e-5, 2e-3), any_type=(), fixed=(), shape_inputs=(), scales=None):
    """Adds one case.

    inputs, outputs: name -> array, in the plugin's order. A float32 array is of the plugin's type T
    (the case runs for each of its types), unless `fixed` has its name; every other array is of its
    own type. Of the inputs in `any_type` only the shape counts.
    shape_inputs: the elements of each shape input.
    scales: what a step of an int8 array is worth, by name, where the plugin asks for it.
    tolerance: |got - expected| <= tolerance * (1 + |expected|), for float32 and for float16.
    """
    def kind(key, array):
        if key in any_type:
            return "any"
        return "T" if numpy.asarray(array).dtype == numpy.float32 and key not in fixed else None

    _CASES.append({
        "plugin": plugin, "version": version, "namespace": namespace, "name": name,
        "attributes": {key: _attribute(value) for key, value in attributes.items()},
        "inputs": [_tensor(key, array, kind(key, array), (scales or {}).get(key)) for key, array in inputs.items()],
        "outputs": [_tensor(key, array, kind(key, array), (scales or {}).get(key)) for key, array in outputs.items()],
        **({"shape_inputs": [list(values) for values in shape_inputs]} if shape_inputs else {}),
        "tolerance": list(tolerance),
    })


def write(script):
    """Writes the cases to cases.json beside the script, a line each."""
    lines = ",\n".join(json.dumps(one, separators=(",", ":"), allow_nan=False) for one in _CASES)
    pathlib.Path(script).with_name("cases.json").write_text(f"[\n{lines}\n]\n")
