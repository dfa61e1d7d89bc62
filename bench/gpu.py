"""Measures Tenon and PyTorch on an NVIDIA GPU, fp16, in turn, in one run: medians of the replay of a CUDA graph.

    python bench/gpu.py [--models resnet50,mobilenet_v2,vit_b_16] [--batches 1,8,32,128] [--compile] [--autotune]

Runs where tools/gpu_check does, and unpacks its archive if it is there. It needs torch with CUDA, torchvision and
onnx. PyTorch runs the model eagerly in a CUDA graph (convolutions with channels last), and with --compile also as
torch.compile makes it, with --autotune as its mode max-autotune does (minutes for each batch). Weights are random; `error` is Tenon's largest distance from what PyTorch computes with the
same weights in float32, as a part of the range, and `of torch` that of PyTorch's own fp16. Memory is what PyTorch's
allocator reserves (weights, graph, input), and what the GPU has less of with Tenon's engine (cuDNN's and cuBLAS's own
code included, the CUDA context not). `fp32` is how far the CUDA target is from the CPU target in float32 without TF32,
as a part of the range, for small batches; of a quantized model, with float32 between its layers. With --int8 or --fp8 Tenon runs what `tenon quantize` makes of the float32 model, with fp16
between the quantized layers, and PyTorch still fp16.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
from gpu_tenon import ROOT, Tenon, gpu_names, unpack
from run import difference, keep

LARGEST_IN_FLOAT32 = 8  # batch; the CPU target takes long for more


class Torch:
    """PyTorch's process for a model. It exports the model at once, and touches the GPU when it is told to."""

    def __init__(self, model, folder, options):
        self.process = subprocess.Popen([sys.executable, pathlib.Path(__file__).with_name("gpu_torch.py"), model, folder,
                                         ",".join(map(str, options.batches)), *options.compilers],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def answer(self):
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError("PyTorch's process ended")  # it has said why
        return json.loads(answer)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.answer()

    def prepare(self):
        self.reserved_mb = self.ask("go")["reserved_mb"]

    def measure(self, peer, batch, seconds):
        return self.ask(f"{peer} {batch} {seconds}")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def with_batch(path, batch):
    """The model for one batch, beside it."""
    import onnx
    model = onnx.load(path)
    for value in [*model.graph.input, *model.graph.output]:
        value.type.tensor_type.shape.dim[0].dim_value = batch
    fixed = path.with_name(f"{path.stem}_{batch}.onnx")
    onnx.save(model, fixed)
    return fixed


def between_targets(path, batch, values, tenon, folder):
    """How far the CUDA target is from the CPU target with a model of float32, or quantized."""
    fixed = with_batch(path, batch)
    inputs = folder / "inputs_float32.npz"
    np.savez(inputs, input=as_float32(values))
    cuda, cpu = (tenon.compute(fixed, target, inputs, folder / f"outputs_{target}.npz") for target in ("cuda", "cpu"))
    fixed.unlink()
    return difference(cuda, cpu)


def quantized(model, kind, values, tenon, folder):
    """The float32 model in int8 or fp8, calibrated with one batch; made once."""
    path = folder / f"{model}_{kind}.onnx"
    if not path.exists():
        samples = folder / f"{model}_samples.npz"
        np.savez(samples, input=as_float32(values)[:32])
        shape = "x".join(map(str, (1, *values.shape[1:])))
        tenon.command("quantize", folder / f"{model}_float32.onnx", f"--calibData={samples}", f"--shapes=input:{shape}", "-o", path,
                      *(["--fp8"] if kind == "fp8" else []))
    return path


def as_float32(values):
    return values.astype(np.float32) if values.dtype == np.float16 else values


def measure(model, batch, torch, tenon, folder, options):
    """A row: medians, memory, seconds to build, and how far the results are apart."""
    arrays = dict(np.load(folder / f"{model}_{batch}.npz"))
    inputs, outputs = folder / "inputs.npz", folder / "outputs.npz"
    measured, exact = folder / f"{model}.onnx", folder / f"{model}_float32.onnx"
    if options.quantized:
        arrays["input"] = as_float32(arrays["input"])
        samples = np.load(folder / f"{model}_{options.batches[-1]}.npz")["input"]
        measured = exact = quantized(model, options.quantized, samples, tenon, folder)
    fixed = with_batch(measured, batch)
    np.savez(inputs, input=arrays["input"])
    plan, cold = tenon.compile(fixed, folder)
    warm = tenon.compile(fixed, folder)[1] if batch == options.batches[0] else None
    worker = tenon.start(plan, inputs, outputs)
    peers = ["torch", *options.compilers]
    times = {peer: [] for peer in peers}
    for _ in range(options.rounds):
        worker.measure(options.block)
        for peer in peers:
            times[peer] += torch.measure(peer, batch, options.block)
    worker.close()
    if options.profile:
        (options.profile / f"{model}_{batch}.txt").write_text(tenon.profile(plan))
    for path in (plan, fixed):
        path.unlink()
    row = {"model": f"{model}_{options.quantized}" if options.quantized else model, "batch": batch, "tenon": statistics.median(worker.times)}
    row |= {peer: statistics.median(list_) for peer, list_ in times.items()}
    return row | {"build_s": cold, "warm_s": warm, "device_mb": worker.facts["device_mb"],
                  "torch_mb": torch.reserved_mb[str(batch)],
                  "error": difference(dict(np.load(outputs)), {"output": arrays["exact"]}),
                  "torch_error": difference({"output": arrays["output"]}, {"output": arrays["exact"]}),
                  "float32_error": between_targets(exact, batch, arrays["input"], tenon, folder) if batch <= LARGEST_IN_FLOAT32 else None}


def show(row):
    def column(name, form):
        """Not all rows have all columns."""
        return f"{row[name]:{form}}" if row.get(name) is not None else " " * int(form.split(".")[0])

    print(f"{row['model']:14}{row['batch']:5}{row['tenon']:9.3f}{row['torch']:9.3f}{column('compile', '9.3f')}{column('autotune', '9.3f')}"
          f"{row['torch'] / row['tenon']:7.2f}x{row['build_s']:8.1f}{column('warm_s', '7.1f')}{row['device_mb']:9.0f}{row['torch_mb']:9.0f}"
          f"{row['error']:10.1e}{row['torch_error']:10.1e}{column('float32_error', '10.1e')}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="resnet50,mobilenet_v2,vit_b_16", type=lambda text: text.split(","))
    parser.add_argument("--batches", default="1,8,32,128", type=lambda text: [int(b) for b in text.split(",")])
    for compiler, mode in (("compile", "torch.compile"), ("autotune", "torch.compile's max-autotune")):
        parser.add_argument(f"--{compiler}", dest="compilers", action="append_const", const=compiler, default=[], help=f"{mode}, too (minutes)")
    for kind in ("int8", "fp8"):
        parser.add_argument(f"--{kind}", dest="quantized", action="store_const", const=kind, help=f"the models in {kind} (PyTorch's stay fp16)")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--block", type=float, default=0.1, help="seconds per peer and round")
    parser.add_argument("--build", type=pathlib.Path, help="the build's folder (default: what gpu_check packed, else build/cuda)")
    parser.add_argument("--tenon-build", default=[], type=str.split, help="options for `tenon build`: \"--maxAuxStreams=3\"")
    parser.add_argument("--profile", type=pathlib.Path, help="write the times of layers into this folder")
    parser.add_argument("--json", type=pathlib.Path, help="write the rows to this file, in the place of those of the same models and batches")
    options = parser.parse_args()
    print(f"{'; '.join(gpu_names())}\n\n{'milliseconds':14}{'batch':>5}{'Tenon':>9}{'eager':>9}"
          f"{'compiled':>9}{'autotune':>9}{'':>8}{'build s':>8}{'warm':>7}{'MB':>9}{'torch MB':>9}{'error':>10}{'of torch':>10}{'fp32':>10}",
          flush=True)
    manifest = unpack()
    precision = [f"--{options.quantized}", "--fp16"] if options.quantized else []
    tenon = Tenon(options.build or ROOT / manifest["build"], [*precision, *options.tenon_build])
    failed = False
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        peers = {model: Torch(model, folder, options) for model in options.models}
        for torch in peers.values():
            torch.answer()  # its model is exported
        for model, torch in peers.items():
            torch.prepare()
            for batch in options.batches:
                try:
                    row = measure(model, batch, torch, tenon, folder, options)
                    show(row)
                    if options.json:
                        keep([row], options.json, "model", "batch")  # at once: a run may be ended before its last
                except RuntimeError as error:
                    failed = True
                    print(f"{model}, batch {batch}: {error}", file=sys.stderr, flush=True)
            torch.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
