"""Compares builds tensor by tensor."""
import json
import os
import pathlib
import subprocess
import tempfile

import numpy as np

from tenon._native import Error

_PROGRAM = pathlib.Path(__file__).with_name("bin") / "tenon"


def compare(model, other=None, inputs=None, *, layers=None, options=(), page=None):
    """How far a model's build is from float32, or from another model, tensor by tensor.

    model: an ONNX file (path), the bytes of one or an onnx.ModelProto, built as `options` say; or a
        plan (path), of which only outputs are compared.
    other: the same for what it is compared with: an ONNX model is built in float32. None is `model`
        again.
    inputs: {input: array}; None gives noise from 0 to 1 to inputs of floats.
    layers: whether tensors within the network are compared, too: what each layer adds to the error
        is then known apart from what it inherits. None is True, but for plans, which cannot.
    options: of `tenon build`, as ["--bf16", "--shapes=images:1x3x224x224"].
    page: a file for an HTML page with the network in the colours of its errors.

    Returns a dictionary of what `tenon compare --exportJson` writes: lists "outputs" and "tensors", in
    which each tensor has "total", and where they are known "own" and "inherited", each with "of_range"
    (the largest error in parts of the range of the expected values), "max", "rms", "cosine" and more;
    and "left_out", with what could not be compared. Numbers that are not finite are texts: "inf".

    The command line of this package does it, in a process of its own. Raises tenon.Error with its
    message, FileNotFoundError for a model that is not there, TypeError for a model of another kind.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        command = ["compare", _path_of(model, folder, "model"), f"--exportJson={report}", *options]
        if other is not None:
            command.insert(2, _path_of(other, folder, "other"))
        if inputs is not None:
            data = pathlib.Path(folder) / "inputs.npz"
            np.savez(data, **{f"in:{name}": np.asarray(array) for name, array in inputs.items()})
            command.append(f"--inputs={data}")
        if layers is None:
            layers = not any(_is_plan(path) for path in command[1:3] if os.path.isfile(path))
        if layers:
            command.append("--layers")
        if page is not None:
            command.append(f"--exportHtml={os.fspath(page)}")
        done = subprocess.run([str(_PROGRAM), *map(str, command)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Error(done.stderr.strip().removeprefix("tenon: "))
        return json.loads(report.read_text())


def _is_plan(path):
    with open(path, "rb") as file:
        return file.read(16) == b"ftrt\0\0\0\0TENONPLN"


def _path_of(model, folder, name):
    if isinstance(model, (str, os.PathLike)):
        path = os.fspath(model)
        if not os.path.isfile(path):
            raise FileNotFoundError(f"there is no model '{path}'")
        return os.path.abspath(path)
    if hasattr(model, "SerializeToString"):
        model = model.SerializeToString()
    if not isinstance(model, (bytes, bytearray, memoryview)):
        raise TypeError("expected an ONNX file, its bytes, an onnx.ModelProto or a plan file, found "
                        + type(model).__name__)
    path = pathlib.Path(folder) / f"{name}.onnx"
    path.write_bytes(model)
    return path
