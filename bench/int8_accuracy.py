"""What int8 costs in accuracy: Tenon's calibrators and quantizer, ONNX Runtime's and NNCF's on the same samples.

    PYTHONPATH=build/release/python python int8_accuracy.py [--models digits,direction,text,scanned,apart] [--tenon PROGRAM]

Digits and lines of text are drawn, so their right answers are known: 100 are calibrated with, 400 others are read.
`digits` is the share of digits read right, `direction` that of lines whose direction is told, `text` that of characters
(1 - edit distance / length); `scanned` is that of scikit-learn's digits, which a small mobilenet is trained on, and `apart` is this
network with channels of ranges far apart. `same` is how often the answer is that of the model in float32 by the same engine.
Runs in .cache/bench/venv; models are those of ./dev models. NNCF's rows need nncf<3, and scanned digits scikit-learn, in the
environment; they are left out without.
"""
import argparse
import pathlib
import subprocess
import tempfile
import time

import numpy as np
import onnx
import onnx.version_converter
import onnxruntime
from onnxruntime import quantization
from PIL import Image, ImageDraw, ImageFont

import scanned_digits

ROOT = pathlib.Path(__file__).resolve().parents[1]
MODELS = ROOT / ".cache/models"
FONTS = sorted(pathlib.Path("/usr/share/fonts/truetype/dejavu").glob("DejaVuS*.ttf"))
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
CALIBRATED, TESTED = 100, 400
ALGORITHMS = ("entropy2", "minmax", "percentile", "mse")


def font(random, size):
    return ImageFont.truetype(str(FONTS[random.integers(len(FONTS))]), size)


def noisy(random, picture, strength):
    return np.clip(picture + random.normal(0, strength, picture.shape), 0, 255).astype(np.float32)


class Digits:
    model, input, shape = "mnist_cnn", "Input3", (1, 1, 28, 28)

    def sample(self, random):
        answer = int(random.integers(10))
        picture = Image.new("L", (28, 28))
        at = (14 + random.integers(-3, 4), 14 + random.integers(-3, 4))
        ImageDraw.Draw(picture).text(at, str(answer), fill=255, anchor="mm", font=font(random, int(random.integers(16, 25))))
        picture = picture.rotate(float(random.uniform(-20, 20)), Image.BILINEAR)
        return noisy(random, np.asarray(picture, np.float32), 20)[None, None], answer

    def answers(self, outputs):
        return list(outputs.reshape(len(outputs), -1).argmax(1))

    def right(self, found, answer):
        return float(found == answer)


def line(random, words, width):
    ground, ink = int(random.integers(200, 256)), int(random.integers(0, 80))
    picture = Image.new("RGB", (width, 48), (ground,) * 3)
    ImageDraw.Draw(picture).text((6, 24), words, fill=(ink,) * 3, anchor="lm", font=font(random, int(random.integers(24, 32))))
    return picture


def normalized(random, picture):
    pixels = noisy(random, np.asarray(picture, np.float32), 8)
    return (pixels.transpose(2, 0, 1)[None] / 127.5 - 1).astype(np.float32)


def words(random, count):
    return "".join(random.choice(list(LETTERS), count))


class Direction:
    model, input, shape = "ppocr_cls", "x", (1, 3, 48, 192)

    def sample(self, random):
        answer = int(random.integers(2))
        picture = line(random, words(random, 10), 192)
        return normalized(random, picture.rotate(180) if answer else picture), answer

    answers = Digits.answers
    right = Digits.right


class Text:
    model, input, shape = "ppocrv4_rec", "x", (1, 3, 48, 320)

    def __init__(self):
        metadata = onnx.load(MODELS / "ppocrv4_rec.onnx").metadata_props
        self.characters = [""] + next(p.value for p in metadata if p.key == "character").splitlines() + [" "]

    def sample(self, random):
        answer = words(random, int(random.integers(6, 12)))
        return normalized(random, line(random, answer, 320)), answer

    def answers(self, outputs):
        texts = []
        for row in outputs.argmax(2):
            kept = [c for i, c in enumerate(row) if c and (i == 0 or c != row[i - 1])]
            texts.append("".join(self.characters[c] for c in kept).strip())
        return texts

    def right(self, found, answer):
        distances = list(range(len(found) + 1))
        for i, c in enumerate(answer, 1):
            before, distances[0] = distances[0], i
            for k, d in enumerate(found, 1):
                before, distances[k] = distances[k], min(distances[k] + 1, distances[k - 1] + 1, before + (c != d))
        return max(0.0, 1 - distances[-1] / len(answer))


class Scanned:
    """Pictures come one after the other; what was trained on is never read."""
    input, shape = "x", (1, 1, 8, 8)
    trained_on = 1797 - CALIBRATED - TESTED
    is_apart = False

    def __init__(self, folder):
        data = scanned_digits.pictures()
        self.model = folder / "scanned.onnx"
        scanned_digits.trained(self.model, data, self.trained_on)
        if self.is_apart:
            scanned_digits.with_channels_apart(self.model, folder / "apart.onnx")
            self.model = folder / "apart.onnx"
        self.rest = iter(zip(*(part[self.trained_on:] for part in data)))

    def sample(self, random):
        picture, digit = next(self.rest)
        return picture[None], int(digit)

    answers = Digits.answers
    right = Digits.right


class Apart(Scanned):
    is_apart = True


TASKS = {"digits": Digits, "direction": Direction, "text": Text, "scanned": Scanned, "apart": Apart}
# Options of `tenon quantize`, by what the table calls them.
QUANTIZED = {"quantize": (), "equalize": ("--equalize",), "equalize+bias": ("--equalize", "--biasCorrection"),
             "int8 weights": ("--weightOnly=int8",), "int4 weights": ("--weightOnly=int4",)}
REDUCED = ("--bf16", "--fp16")  # of `tenon build`; what the target is not fast in stays float32


class Reader(quantization.CalibrationDataReader):
    def __init__(self, name, samples):
        self.samples = iter([{name: sample} for sample in samples])

    def get_next(self):
        return next(self.samples, None)


def run_tenon(task, samples, plan):
    import tenon

    engine = tenon.load(plan)
    return np.concatenate([np.asarray(engine(sample)) for sample in samples])


def build_tenon(program, task, model, plan, calibration, algorithm, flags=()):
    command = [program, "build", model, "-o", plan, "--target=cpu", *flags]
    if not all(isinstance(d, int) and d > 0 for d in declared(model, task.input)):
        command.append(f"--shapes={task.input}:" + "x".join(map(str, task.shape)))
    if algorithm is not None:
        command += ["--int8", f"--calibData={calibration}", f"--calibAlgorithm={algorithm}"]
    start = time.perf_counter()
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def quantize_tenon(program, task, model, quantized, calibration, options):
    """Models of before opset 10, which has QuantizeLinear, are converted first."""
    loaded = onnx.load(model)
    if loaded.opset_import[0].version < 10:
        model = quantized.with_name("upgraded.onnx")
        onnx.save(onnx.version_converter.convert_version(loaded, 17), model)
    command = [program, "quantize", model, "-o", quantized, "--target=cpu", *options]
    if not any(option.startswith("--weightOnly") for option in options):
        command.append(f"--calibData={calibration}")
    if not all(isinstance(d, int) and d > 0 for d in declared(model, task.input)):
        command.append(f"--shapes={task.input}:" + "x".join(map(str, task.shape)))
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def run_openvino(task, samples, model):
    import openvino

    compiled = openvino.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return np.concatenate([np.asarray(compiled(sample)[0]) for sample in samples])


def declared(model, name):
    value = next(i for i in onnx.load(model).graph.input if i.name == name)
    return [d.dim_value if d.HasField("dim_value") else d.dim_param for d in value.type.tensor_type.shape.dim]


def run_ort(task, samples, model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return np.concatenate([session.run(None, {task.input: sample})[0] for sample in samples])


def quantize_ort(task, model, quantized, samples, method, folder):
    """Weights by channel, where ONNX Runtime's quantizer takes the model so; else by tensor."""
    upgraded, prepared = folder / "upgraded.onnx", folder / "prepared.onnx"
    onnx.save(onnx.version_converter.convert_version(onnx.load(model), 17), upgraded)
    quantization.shape_inference.quant_pre_process(str(upgraded), str(prepared), skip_symbolic_shape=True)
    for per_channel in (True, False):
        try:
            quantization.quantize_static(str(prepared), str(quantized), Reader(task.input, samples),
                                         quant_format=quantization.QuantFormat.QDQ, per_channel=per_channel,
                                         calibrate_method=method, activation_type=quantization.QuantType.QUInt8,
                                         weight_type=quantization.QuantType.QInt8)
            return
        except ValueError:
            continue


def measure(name, options, folder):
    kind, random = TASKS[name], np.random.default_rng(30)
    task = kind(folder) if issubclass(kind, Scanned) else kind()
    model = MODELS / f"{task.model}.onnx" if isinstance(task.model, str) else task.model
    calibration = [task.sample(random)[0] for _ in range(CALIBRATED)]
    samples, answers = zip(*[task.sample(random) for _ in range(TESTED)])
    data = folder / f"{name}.npz"
    np.savez(data, **{task.input: np.concatenate(calibration)})

    exact = {}

    def row(engine, what, outputs):
        found = task.answers(outputs)
        right = np.mean([task.right(f, a) for f, a in zip(found, answers)])
        same = np.mean([f == e for f, e in zip(found, exact.setdefault(engine, found))])
        print(f"{name:10} {engine:13} {what:12} {100 * right:7.2f} % {100 * same:9.2f} %", flush=True)

    for algorithm in (None, *ALGORITHMS):
        plan = folder / f"{name}.plan"
        build_tenon(options.tenon, task, model, plan, data, algorithm)
        row("Tenon", algorithm or "float32", run_tenon(task, samples, plan))
    for flag in REDUCED:
        build_tenon(options.tenon, task, model, plan, data, None, (flag,))
        row("Tenon", flag.lstrip("-"), run_tenon(task, samples, plan))
    for what, extra in QUANTIZED.items():
        quantized = folder / f"{name}_int8.onnx"
        try:
            quantize_tenon(options.tenon, task, model, quantized, data, extra)
        except subprocess.CalledProcessError:
            print(f"{name:10} Tenon         {what:12} refused", flush=True)  # no product has constant weights, say
            continue
        build_tenon(options.tenon, task, quantized, plan, data, None)
        row("Tenon", what, run_tenon(task, samples, plan))
    row("ONNX Runtime", "float32", run_ort(task, samples, model))
    for method in (quantization.CalibrationMethod.MinMax, quantization.CalibrationMethod.Entropy):
        quantized = folder / f"{name}_ort.onnx"
        quantize_ort(task, model, quantized, calibration, method, folder)
        row("ONNX Runtime", method.name.lower(), run_ort(task, samples, quantized))
    try:
        import nncf
        import openvino
    except ImportError:
        return
    read = openvino.Core().read_model(str(model))
    read.reshape({task.input: task.shape})
    row("OpenVINO", "float32", run_openvino(task, samples, read))
    try:
        quantized = nncf.quantize(read, nncf.Dataset(calibration), subset_size=CALIBRATED)
    except RuntimeError as error:  # as with mnist_cnn, whose product follows a reshape of weights
        print(f"{name:10} OpenVINO      nncf         {str(error).strip().splitlines()[-1]}")
        return
    row("OpenVINO", "nncf", run_openvino(task, samples, quantized))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=",".join(TASKS))
    parser.add_argument("--tenon", default=ROOT / "build/release/tools/tenon/tenon")
    options = parser.parse_args()
    print(f"{'':10} {'engine':13} {'ranges':12} {'right':>9} {'same':>11}")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models.split(","):
            measure(name, options, pathlib.Path(folder))


if __name__ == "__main__":
    main()
