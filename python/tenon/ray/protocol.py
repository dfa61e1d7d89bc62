"""The Open Inference Protocol over HTTP as arrays: requests and responses in JSON, with tensors in binary behind it.

Nothing here knows of Ray, engines or sockets.
"""
import json
import math
import typing

import numpy as np

MAX_TENSORS = 256
_LONGEST_TEXT = 1000  # of an error: names and elements of requests may be of any length
_DATATYPES = {"FP32": "float32", "FP16": "float16", "INT8": "int8", "UINT8": "uint8", "INT32": "int32", "INT64": "int64",
              "BOOL": "bool"}
_NAMES = {numpy: name for name, numpy in _DATATYPES.items()}


class RequestError(Exception):
    """A request that has no answer. `status` is that of HTTP, `text` what was expected and found."""

    def __init__(self, status, text):
        super().__init__(status, text)
        self.status, self.text = status, text

    def __str__(self):
        return self.text


class InferRequest(typing.NamedTuple):
    """`inputs` are arrays by name, which may lie in the body. `outputs` are the names of those that are wanted, in their
    order; empty for all. `timeout` is in seconds, or None. `priority` goes before smaller ones."""
    id: str
    inputs: dict
    outputs: tuple
    timeout: typing.Optional[float]
    priority: int
    binary: typing.Callable  # whether an output is written in binary


def datatype(dtype):
    """The protocol's name of an element type of NumPy, by its name."""
    if dtype not in _NAMES:
        raise RequestError(500, f"the element type {dtype} is not supported yet over HTTP: expected one of {', '.join(_NAMES)}")
    return _NAMES[dtype]


def parse_request(body, json_length=None):
    """The InferRequest of a body. `json_length` is the header Inference-Header-Content-Length, as text: how many bytes in
    front are JSON; None where all are. Raises RequestError (400)."""
    length = _json_length(json_length, len(body))
    request = _parse_json(body[:length])
    if not isinstance(request, dict):
        raise RequestError(400, f"expected a JSON object, found {_kind(request)}")
    parameters = _member(request, "parameters", dict, {})
    tensors = _tensors(request, "inputs")
    if not tensors:
        raise RequestError(400, "the request has no inputs")
    inputs, at = {}, length
    for tensor in tensors:
        name = _member(tensor, "name", str)
        if name in inputs:
            raise RequestError(400, f"input '{_short(name)}' is given twice")
        inputs[name], at = _array(name, tensor, body, at)
    if at != len(body):
        raise RequestError(400, f"the inputs have {at - length} bytes of binary data, and {len(body) - length} came")
    outputs, binary = _outputs(request, parameters)
    timeout = _number(parameters, "timeout", 0, 2**63 - 1)
    # The protocol's priority 1 goes before 2; 0 is none.
    priority = -(_number(parameters, "priority", 0, 2**31 - 1) or 0)
    return InferRequest(_member(request, "id", str, ""), inputs, outputs, timeout / 1e6 if timeout else None, priority, binary)


def write_response(model, version, request, outputs):
    """The body of a response with the arrays `outputs`, by name, and its headers. Raises RequestError."""
    descriptions, parts = [], []
    for name, array in outputs.items():
        array = np.ascontiguousarray(array).reshape(array.shape)
        described = {"name": name, "datatype": datatype(array.dtype.name), "shape": list(array.shape)}
        if request.binary(name):
            parts.append(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())
            described["parameters"] = {"binary_data_size": len(parts[-1])}
        elif array.dtype.name == "float16":
            raise RequestError(400, f"output '{_short(name)}' is FP16, which JSON does not have: ask for it with binary_data")
        else:
            described["data"] = array.ravel().tolist()
        descriptions.append(described)
    response = {"model_name": model, "model_version": version, **({"id": request.id} if request.id else {}),
                "outputs": descriptions}
    try:
        text = json.dumps(response, separators=(",", ":"), allow_nan=False).encode()
    except ValueError:
        raise RequestError(400, "an output has NaN or an infinity, which JSON does not have: ask for it with "
                                "binary_data") from None
    if not parts:
        return text, {"Content-Type": "application/json"}
    return b"".join([text, *parts]), {"Content-Type": "application/octet-stream",
                                      "Inference-Header-Content-Length": str(len(text))}


def error_body(text):
    """The body of an error, in JSON."""
    text = str(text)
    return json.dumps({"error": text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "..."}).encode()


def _json_length(text, size):
    if text is None:
        return size
    if not (text.isascii() and text.isdigit()) or int(text[:20]) > size:
        raise RequestError(400, f"Inference-Header-Content-Length: expected at most the body's {size} bytes, "
                                f"found '{_short(text)}'")
    return int(text)


def _parse_json(text):
    def no_number(name):
        raise ValueError(f"{name} is no number of JSON")

    try:
        return json.loads(bytes(text), parse_constant=no_number)
    except RecursionError:
        raise RequestError(400, "the request's JSON is nested too deep") from None
    except ValueError as error:  # of UTF-8, too
        raise RequestError(400, f"the request is not the JSON of an inference request: {error}") from None


def _tensors(request, name):
    """The list of objects that a request has by that name."""
    tensors = _member(request, name, list, [])
    if len(tensors) > MAX_TENSORS:
        raise RequestError(400, f"{name}: expected at most {MAX_TENSORS}, found {len(tensors)}")
    for tensor in tensors:
        if not isinstance(tensor, dict):
            raise RequestError(400, f"{name}: expected objects, found {_kind(tensor)}")
    return tensors


def _array(name, tensor, body, at):
    """An input's array, and where the binary data of the next one begins."""
    shape, label = _member(tensor, "shape", list), f"input '{_short(name)}'"
    if len(shape) > 64 or not all(type(extent) is int and 0 <= extent < 2**63 for extent in shape):
        raise RequestError(400, f"{label}: expected a shape of at most 64 integers that are not negative, found "
                                f"{_short(json.dumps(shape))}")
    type_name = _member(tensor, "datatype", str)
    if type_name not in _DATATYPES:
        raise RequestError(400, f"{label}: expected a datatype of {', '.join(_DATATYPES)}, found '{_short(type_name)}'")
    dtype, count = np.dtype(_DATATYPES[type_name]).newbyteorder("<"), math.prod(shape)
    size = _number(_member(tensor, "parameters", dict, {}), "binary_data_size", 0, 2**63 - 1)
    if size is None:
        return _array_of_json(label, tensor, shape, dtype, count), at
    if "data" in tensor:
        raise RequestError(400, f"{label} has both data and binary_data_size")
    if size != count * dtype.itemsize or at + size > len(body):
        raise RequestError(400, f"{label} has the shape {shape}, which is {count * dtype.itemsize} bytes; binary_data_size says "
                                f"{size}, and {len(body) - at} are there")
    return np.frombuffer(body, dtype, count, at).reshape(shape), at + size


def _array_of_json(label, tensor, shape, dtype, count):
    if "data" not in tensor:
        raise RequestError(400, f"{label} has no data")
    if dtype == np.float16:
        raise RequestError(400, f"{label} is FP16, which is sent in binary alone")
    try:
        values = np.asarray(_member(tensor, "data", list))
    except ValueError:
        raise RequestError(400, f"{label}: its data is a list whose parts differ in shape") from None
    kinds = {"f": "fiu", "b": "b"}.get(dtype.kind, "iu")
    if values.size != count:
        raise RequestError(400, f"{label} has the shape {shape}, which is {count} elements; its data has {values.size}")
    if values.size and values.dtype.kind not in kinds:
        raise RequestError(400, f"{label}: its data is not of the datatype {_NAMES[dtype.name]}")
    with np.errstate(over="ignore"):
        array = values.astype(dtype).reshape(shape)
    if not (np.isfinite(array).all() if dtype.kind == "f" else (array.ravel() == values.ravel()).all()):
        raise RequestError(400, f"{label}: its data has numbers beyond {_NAMES[dtype.name]}")
    return array


def _outputs(request, parameters):
    """Names of the outputs that are wanted, and a function that says whether one is in binary."""
    default, binary = _flag(parameters, "binary_data_output"), {}
    for tensor in _tensors(request, "outputs"):
        name, of_output = _member(tensor, "name", str), _member(tensor, "parameters", dict, {})
        if name in binary:
            raise RequestError(400, f"output '{_short(name)}' is asked for twice")
        if "classification" in of_output:
            raise RequestError(400, f"output '{_short(name)}': classification is not supported yet")
        binary[name] = _flag(of_output, "binary_data", default)
    return tuple(binary), lambda name: binary.get(name, default)


_REQUIRED = object()


def _member(of, name, kind, default=_REQUIRED):
    if name not in of and default is not _REQUIRED:
        return default
    if name not in of or not isinstance(of[name], kind):
        expected = {dict: "an object", list: "a list", str: "a string"}[kind]
        raise RequestError(400, f"{name}: expected {expected}, found {_kind(of[name]) if name in of else 'nothing'}")
    return of[name]


def _number(parameters, name, low, high):
    value = parameters.get(name)
    if value is not None and not (type(value) is int and low <= value <= high):
        raise RequestError(400, f"{name}: expected an integer from {low} to {high}, found {_short(json.dumps(value))}")
    return value


def _flag(parameters, name, default=False):
    value = parameters.get(name, default)
    if not isinstance(value, bool):
        raise RequestError(400, f"{name}: expected true or false, found {_kind(value)}")
    return value


def _kind(value):
    return {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}.get(type(value), "a number")


def _short(text):
    return text if len(text) <= 100 else text[:100] + "..."
