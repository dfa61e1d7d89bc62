"""Writes ONNX's node tests as folders of protobuf files: write_onnx_cases.py FOLDER."""
import pathlib
import sys
import warnings

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests


def write_case(folder, case):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    (folder / "tolerance").write_text(f"{case.rtol} {case.atol}\n")
    inputs, outputs = case.data_sets[0]
    # The elements of a sequence leave a network as outputs of their own.
    elements = [e for value in outputs for e in (value if isinstance(value, list) else [value])]
    for kind, values in (("input", inputs), ("output", elements)):
        for index, value in enumerate(values):
            if not isinstance(value, (np.ndarray, np.generic, onnx.TensorProto)):
                (folder / "no_tensors").touch()  # sequences and optionals
                return
            tensor = value if isinstance(value, onnx.TensorProto) else numpy_helper.from_array(np.asarray(value))
            (folder / f"{kind}_{index}.pb").write_bytes(tensor.SerializeToString())


def main():
    root = pathlib.Path(sys.argv[1])
    warnings.simplefilter("ignore")
    for case in load_model_tests(kind="node"):
        if case.data_sets:
            write_case(root / case.name, case)
    (root / "done").touch()


main()
