"""Measures PyTorch on a GPU for bench/gpu.py: one model in fp16, in a CUDA graph and, if asked for, compiled.

    python gpu_torch.py MODEL FOLDER BATCHES [compile] [autotune]

Writes FOLDER/MODEL.onnx (fp16, any batch) and FOLDER/MODEL_float32.onnx with the same weights, prints a line and waits
for one on standard input, since a GPU that is not quiet would choose other algorithms. Then writes MODEL_BATCH.npz for each batch, with `input`, what PyTorch computes
(`output`) and what it computes with the same weights in float32 (`exact`), and prints a line of JSON with the
megabytes that PyTorch reserves for each batch. Then it answers each line "PEER BATCH SECONDS" with a JSON list of milliseconds. It needs torch with CUDA, torchvision and onnx.
"""
import copy
import json
import pathlib
import sys
import time
import warnings

import numpy as np
import onnx
import torch

import networks
from make_models import FROM_PICTURES, OPSET, settle

# The reference's layout: convolutions in half precision are fastest with channels last.
LAYOUTS = {"vit_b_16": torch.contiguous_format, "bert_base": torch.contiguous_format}
TOKENS, WORDS = 128, 30522  # of bert_base
MODES = {"compile": "reduce-overhead", "autotune": "max-autotune"}  # of torch.compile; both with CUDA graphs


def network(name):
    """The model with random weights that keep numbers within what fp16 holds."""
    torch.manual_seed(0)
    if name == "bert_base":
        return networks.BertOfTokens().eval().half().cuda()
    model = settle(FROM_PICTURES[name][0](), *values_for(name, 4).shape)
    if name == "vit_b_16":  # its head is zeros
        torch.nn.init.normal_(model.heads.head.weight, std=0.02)
    return model.half().cuda()


def values_for(name, batch):
    """Random pictures in float16, or tokens, as an array."""
    generator = np.random.default_rng(batch)
    if name == "bert_base":
        return generator.integers(0, WORDS, (batch, TOKENS))
    size = FROM_PICTURES[name][1]
    return generator.standard_normal((batch, 3, size, size), np.float32).astype(np.float16)


def input_on_gpu(name, values):
    """As the model likes it best."""
    values = torch.from_numpy(values).cuda()
    return values.contiguous(memory_format=LAYOUTS.get(name, torch.channels_last))


@torch.no_grad()
def export(model, name, path):
    """The model as ONNX: `input` to `output`, whose first axis is the batch, of its weights' type.

    Batch norms stay: the exporter would fold them into convolutions in float16, which rounds twice.
    """
    has_norms = any(isinstance(module, torch.nn.BatchNorm2d) for module in model.modules())
    mode = torch.onnx.TrainingMode
    torch.backends.mha.set_fastpath_enabled(False)  # ONNX has no operator for it
    example = torch.from_numpy(values_for(name, 2)).cuda()
    if example.is_floating_point():
        example = example.to(next(model.parameters()).dtype)
    torch.onnx.export(model, (example,), str(path), dynamo=False,
                      opset_version=OPSET, input_names=["input"], output_names=["output"],
                      training=mode.PRESERVE if has_norms else mode.EVAL,
                      dynamic_axes={"input": {0: "batch"}, "output": {0: "batch"}})
    torch.backends.mha.set_fastpath_enabled(True)
    onnx.checker.check_model(str(path))


def captured(call):
    """`call` in a CUDA graph; returns its replay."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = call()
    return graph.replay, result


def milliseconds(call, seconds):
    """What each call takes on the GPU."""
    times, end = [], time.monotonic() + seconds
    while len(times) < 5 or time.monotonic() < end:
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop))
    return times


def compiled(model, picture, mode):
    """The model as torch.compile makes it, with CUDA graphs of its own."""
    torch._dynamo.reset()
    quick = torch.compile(model, mode=mode, dynamic=False)
    for _ in range(3):
        quick(picture)
    torch.cuda.synchronize()
    return lambda: quick(picture)


def exactly(model, picture):
    """What the model computes in float32."""
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    return copy.deepcopy(model).float()(picture.float() if picture.is_floating_point() else picture)


def reserved_bytes():
    """What PyTorch's allocator holds and needs."""
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    return torch.cuda.memory_reserved()


@torch.inference_mode()
def prepare(model, name, folder, batches, compilers):
    """The calls to measure, by peer and batch, and the megabytes reserved for each batch."""
    model = model.to(memory_format=LAYOUTS.get(name, torch.channels_last))
    calls, reserved = {}, {}
    weights = sum(p.numel() * p.element_size() for p in [*model.parameters(), *model.buffers()])
    for batch in batches:
        values = values_for(name, batch)
        before = reserved_bytes()
        picture = input_on_gpu(name, values)
        replay, result = captured(lambda picture=picture: model(picture))
        calls["torch", batch] = lambda replay=replay, picture=picture: replay()  # the graph reads the picture
        calls["torch", batch]()
        reserved[batch] = round((weights + reserved_bytes() - before) / 2**20, 1)
        np.savez(folder / f"{name}_{batch}.npz", input=values, output=result.cpu().numpy(),
                 exact=exactly(model, picture).cpu().numpy())
    for compiler in compilers:
        for batch in batches:
            values = np.load(folder / f"{name}_{batch}.npz")["input"]
            calls[compiler, batch] = compiled(model, input_on_gpu(name, values), MODES[compiler])
    return calls, reserved


def main():
    name, folder, batches = sys.argv[1], pathlib.Path(sys.argv[2]), [int(b) for b in sys.argv[3].split(",")]
    warnings.simplefilter("ignore")  # the exporter warns of itself
    torch.backends.cudnn.benchmark = True
    model = network(name)
    export(model, name, folder / f"{name}.onnx")
    export(copy.deepcopy(model).float(), name, folder / f"{name}_float32.onnx")
    print("{}", flush=True)
    sys.stdin.readline()
    calls, reserved = prepare(model, name, folder, batches, sys.argv[4:])
    print(json.dumps({"reserved_mb": reserved}), flush=True)
    with torch.inference_mode():
        for line in sys.stdin:
            peer, batch, seconds = line.split()
            print(json.dumps(milliseconds(calls[peer, int(batch)], float(seconds))), flush=True)


if __name__ == "__main__":
    main()
