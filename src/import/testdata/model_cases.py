"""A case of a small model in the layout of ONNX's test suites (model.onnx, test_data_set_0/input_0.pb, …), with the results of ONNX Runtime (of ONNX's
reference implementation for integers that ONNX Runtime does not move or compute with)."""
import math
import pathlib

import numpy as np
import onnxruntime
from onnx import numpy_helper, parser
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

FOLDER = pathlib.Path(__file__).parent / "models"
random = np.random.default_rng(1)


class Erf(OpRun):
    """ONNX's own is of float32."""
    def _run(self, x):
        return (np.vectorize(math.erf)(x).astype(x.dtype),)


def floats(*shape):
    return (random.integers(-32, 32, shape, endpoint=True) / 16).astype(np.float32)


def results_of(model, fed, reference):
    if reference:
        return ReferenceEvaluator(model, new_ops=[Erf]).run(None, fed)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    return session.run(None, fed)


def case(name, text, *inputs, opset=21, reference=False, tolerance=None):
    """A graph in ONNX's text form; what it makes of the inputs is computed by ONNX Runtime, or by
    ONNX's reference implementation. `tolerance` is relative and absolute."""
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> {text}')
    folder = FOLDER / name
    (folder / "test_data_set_0").mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    if tolerance:
        (folder / "tolerance").write_text("{} {}\n".format(*tolerance))
    fed = {i.name: np.asarray(a) for i, a in zip(model.graph.input, inputs, strict=True)}
    for kind, arrays in (("input", fed.values()), ("output", results_of(model, fed, reference))):
        for i, array in enumerate(arrays):
            tensor = numpy_helper.from_array(np.asarray(array))
            (folder / "test_data_set_0" / f"{kind}_{i}.pb").write_bytes(tensor.SerializeToString())
