"""Simplifies ONNX models by `tenon onnx fold clean`, by onnxslim and by onnxsim, and compares what comes out.

    python test/clients/run_onnxslim.py [MODEL ...] [--tool build/release/tools/tenon/tenon] [--seconds 300]

Without MODEL: the real models that `./dev models` fetches. The interpreter needs onnx and onnxruntime, and onnxslim, onnxsim and
openvino as far as they are to be compared. Ours must pass onnx.checker's full check, and compute in ONNX Runtime and OpenVINO what
the model does; the nodes of the others stand beside, with "fails" where one of them does not.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOLERANCE = 1e-4  # of an output's range: folded products are added up in another order
OTHERS = {"onnxslim": "import sys, onnxslim; onnxslim.slim(sys.argv[1], sys.argv[2])",
          "onnxsim": "import sys, onnx, onnxsim\nm, ok = onnxsim.simplify(sys.argv[1])\nassert ok\nonnx.save(m, sys.argv[2])"}
TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16, "tensor(int64)": np.int64,
         "tensor(int32)": np.int32, "tensor(uint8)": np.uint8, "tensor(bool)": np.bool_}


def session(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def noise(path):
    """Inputs of the model; what is open is 1, or 64 beyond the batch of a picture's four axes."""
    generator, feeds = np.random.default_rng(3), {}
    for value in session(path).get_inputs():
        shape = [e if isinstance(e, int) and e > 0 else 64 if len(value.shape) == 4 and axis > 0 else 1
                 for axis, e in enumerate(value.shape)]
        kind = TYPES[value.type]
        feeds[value.name] = generator.random(shape).astype(kind) if np.issubdtype(kind, np.floating) else np.ones(shape, kind)
    return feeds


def by_onnx_runtime(path, feeds):
    return session(path).run(None, feeds)


def by_openvino(path, feeds):
    import openvino

    compiled = openvino.compile_model(openvino.Core().read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    given = {name: value for name, value in feeds.items() if any(name in each.get_names() for each in compiled.inputs)}
    results = compiled(given)
    return [np.array(results[each]) for each in compiled.outputs]


def difference(expected, found):
    """The largest, as a part of an output's range; infinite where shapes or the number of outputs differ."""
    if len(expected) != len(found):
        return float("inf")
    worst = 0.0
    for a, b in zip(map(np.asarray, expected), map(np.asarray, found)):
        if a.shape != b.shape:
            return float("inf")
        if a.size:
            a, b = a.astype(np.float64), b.astype(np.float64)
            worst = max(worst, float(np.max(np.abs(a - b)) / max(np.ptp(a), 1e-6)))
    return worst


def nodes_of(path):
    return len(onnx.load(path, load_external_data=False).graph.node)


def compared(run, model, path, feeds):
    """What a runtime makes of both, as a text, and whether it is fine."""
    try:
        expected = run(model, feeds)
    except Exception as e:  # of whatever kind: the model before cannot be run
        return f"not run: {type(e).__name__}", True
    try:
        worst = difference(expected, run(path, feeds))
    except Exception as e:
        return str(e).splitlines()[0][:60], False
    return f"{worst:.1e}", worst <= TOLERANCE


def row_of(options, folder, model):
    ours = folder / "ours.onnx"
    done = subprocess.run([options.tool, "onnx", "fold", "clean", model, "-o", ours], capture_output=True, text=True,
                          timeout=options.seconds)
    if done.returncode != 0:
        return [model.stem, nodes_of(model), done.stderr.strip()[:60]], False
    counts = [nodes_of(model), nodes_of(ours)]
    for name, program in OTHERS.items():
        theirs = folder / f"{name}.onnx"
        theirs.unlink(missing_ok=True)
        try:
            subprocess.run([sys.executable, "-c", program, model, theirs], capture_output=True, timeout=options.seconds)
            counts.append(nodes_of(theirs))
        except (OSError, subprocess.TimeoutExpired):
            counts.append("fails")
    try:
        onnx.checker.check_model(str(ours), full_check=True)
        checked = "ok"
    except Exception as e:
        # What the model had wrong before is none of ours.
        try:
            onnx.checker.check_model(str(model), full_check=True)
            checked = str(e).splitlines()[0][:60]
        except Exception:
            checked = "as before"
    feeds = noise(model)
    runs = [compared(run, model, ours, feeds) for run in (by_onnx_runtime, by_openvino)]
    is_fine = checked in ("ok", "as before") and all(fine for _, fine in runs)
    return [model.stem, *counts, checked, *(text for text, _ in runs)], is_fine


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=pathlib.Path, nargs="*")
    parser.add_argument("--tool", type=pathlib.Path, default=ROOT / "build/release/tools/tenon/tenon")
    parser.add_argument("--seconds", type=int, default=300, help="that one program may take")
    options = parser.parse_args()
    models = options.models or sorted((ROOT / ".cache/models").glob("*.onnx"))
    if not models:
        sys.exit("there are no models: ./dev models fetches them")
    print("| model | nodes | ours | onnxslim | onnxsim | checker | ONNX Runtime | OpenVINO |\n|---|---|---|---|---|---|---|---|")
    wrong = []
    for model in models:
        with tempfile.TemporaryDirectory() as folder:
            row, is_fine = row_of(options, pathlib.Path(folder), model)
        print("| " + " | ".join(map(str, row)) + " |", flush=True)
        if not is_fine:
            wrong.append(model.stem)
    print(f"{len(models) - len(wrong)} of {len(models)} models are as they should be" + (f"; not: {', '.join(wrong)}" if wrong else ""))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
