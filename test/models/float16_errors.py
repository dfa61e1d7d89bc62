"""How far models in float16 are from float32, in ONNX Runtime: `tenon onnx float16` and other converters, as a table.

    .cache/bench/venv/bin/python test/models/float16_errors.py [--others FOLDER] [MODEL…]

By hand, as it needs ONNX Runtime; FOLDER holds onnxconverter-common (pip install --no-deps --target FOLDER).
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / ".cache" / "models"
TENON = ROOT / "build" / "release" / "tools" / "tenon" / "tenon"


def run(model, arrays):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # As the file says, without the casts that a CPU's optimizer takes out again.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    types = {i.name: np.float16 if i.type == "tensor(float16)" else None for i in session.get_inputs()}
    names = [o.name for o in session.get_outputs()]
    feeds = {name: arrays[name].astype(types[name] or arrays[name].dtype) for name in types}
    return dict(zip(names, session.run(names, feeds), strict=True))


def inputs_of(path):
    return {name.removeprefix("in:"): array for name, array in np.load(path).items() if name.startswith("in:")}


def errors(expected, found):
    """The largest and the mean square difference of the worst output, in parts of its range; None where shapes differ."""
    largest, mean = 0.0, 0.0
    for name, array in expected.items():
        other = found[name]
        if array.dtype.kind not in "fiu" or array.size == 0 and other.size == 0:
            continue
        if array.shape != other.shape:
            return None
        a, b = array.astype(np.float64), other.astype(np.float64)
        span = (a.max() - a.min()) or max(abs(a).max(), 1e-30)
        difference = np.where(a == b, 0, abs(a - b)) / span
        largest, mean = max(largest, np.nan_to_num(difference.max(), nan=np.inf)), max(mean, np.sqrt((difference**2).mean()))
    return largest, mean


def tenon(model, to):
    subprocess.run([TENON, "onnx", "float16", model, "-o", to], check=True, capture_output=True)


def converter_common(model, to):
    from onnxconverter_common import float16
    onnx.save(float16.convert_float_to_float16(onnx.load(model), keep_io_types=True), to)


def runtime(model, to):
    from onnxruntime.transformers import float16
    onnx.save(float16.convert_float_to_float16(onnx.load(model), keep_io_types=True), to)


CONVERTERS = {"tenon": tenon, "converter-common": converter_common, "onnxruntime": runtime}


def result(convert, model, inputs, references, folder):
    to = Path(folder) / "half.onnx"
    try:
        convert(model, to)
    except Exception as e:  # whatever a converter throws is its result
        return "fails to convert: " + (str(e).splitlines() or [type(e).__name__])[0][:60]
    worst = (0.0, 0.0)
    for arrays, expected in zip(inputs, references, strict=True):
        try:
            found = errors(expected, run(to, arrays))
        except Exception as e:
            return "does not run: " + str(e).splitlines()[0][:150]
        if found is None:
            return "other shapes"
        worst = tuple(map(max, worst, found))
    return f"{worst[0]:.1e} / {worst[1]:.1e}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--others", help="folder of onnxconverter-common; onnxruntime's is run with it")
    parser.add_argument("models", nargs="*")
    arguments = parser.parse_args()
    if arguments.others:
        sys.path.append(arguments.others)
    converters = CONVERTERS if arguments.others else {"tenon": tenon}
    print("| model | " + " | ".join(converters) + " |\n|---|" + "---|" * len(converters))
    for model in sorted(MODELS.glob("*.onnx")):
        if arguments.models and model.stem not in arguments.models:
            continue
        inputs = [inputs_of(path) for path in sorted((MODELS / model.stem).glob("*.npz"))]
        try:
            references = [run(model, arrays) for arrays in inputs]
        except Exception as e:
            print(f"| {model.stem} | float32 does not run: {str(e).splitlines()[0][:80]} |")
            continue
        with tempfile.TemporaryDirectory() as folder:
            results = [result(convert, model, inputs, references, folder) for convert in converters.values()]
        print(f"| {model.stem} | " + " | ".join(results) + " |", flush=True)


if __name__ == "__main__":
    main()
