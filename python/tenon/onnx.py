"""ONNX models looked at and edited in memory: what `tenon onnx` and C++'s <tenon/onnx.h> do.

    model = tenon.onnx.load("detector.onnx")
    tenon.onnx.set_batch(model, "batch")
    for id in model.nodes():                     # safe while the model changes
        if model.node(id).op_type == "Dropout":
            model.remove_node(id, relink=True)
    tenon.onnx.fold_constants(model)
    print(model.patch_text())
    model.save("detector_dynamic.onnx")

What no edit touches keeps its bytes; `model.undo()` gives the file back. An extent is an int, a name,
or None where it is not known. Errors are tenon.Error, with a code, and leave the model as it was.
"""
from tenon._native.onnx import *  # noqa: F403
from tenon._native.onnx import Model


def load(path):
    """The model in a file; external data stays in its files until it is needed."""
    return Model.load(str(path))


def parse(data, path=""):
    """The model in bytes. `path` is where they came from: the folder of external data."""
    return Model.parse(bytes(data), str(path))
