"""Measures single operators on an NVIDIA GPU: Tenon's plugins against PyTorch's functions, in turn, in one run.

    python bench/gpu_operators.py [--operators roi_align,nms_1000] [--json FILE]

Runs where bench/gpu.py does, and unpacks gpu_check's archive if it is there. Times are medians of replays of CUDA graphs, in
float32 and float16 where the operator's numbers may be either; PyTorch's non-maximum suppression waits for the GPU, and is
called as it is. `copy` is what copying as many bytes takes as the operator reads and writes: half of them each. `error`
is Tenon's largest distance from PyTorch's result in float32, `of torch` that of PyTorch in the same type, both as a
part of the range.
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
import torch

from gpu_tenon import ROOT, Tenon, gpu_names, unpack
from operators import OPERATORS, Numbers
from run import difference

WHOLE = {"nms_1000", "nms_5000", "nms_10000"}  # outputs that are indices; boxes are float32


def converted(node, dtype):
    """The node with its real numbers in this type."""
    node.inputs = {name: a.astype(dtype) if a is not None and a.dtype == np.float32 else a for name, a in node.inputs.items()}
    return node


def graphed(call):
    """A replay of the call in a CUDA graph, or the call itself where it cannot be captured."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            call()
    except RuntimeError:
        torch.cuda.synchronize()
        return call
    return graph.replay


def times_of(call, seconds):
    """Milliseconds of each call, by events."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    times, until = [], time.perf_counter() + seconds
    while len(times) < 2 or time.perf_counter() < until:
        start.record()
        call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return times


def arrays_of(results, names):
    results = results if isinstance(results, tuple) else (results,)
    return {name: r.cpu().numpy() for name, r in zip(names, results)}


def measure(name, dtype, tenon, folder, options):
    made = OPERATORS[name](Numbers())
    exact_inputs = {k: torch.from_numpy(a).cuda() for k, a in made.plugin.arrays().items()}
    exact = made.comparable(arrays_of(made.torch(**exact_inputs), made.plugin.outputs))
    node = converted(made.plugin, dtype)
    inputs = {k: torch.from_numpy(a).cuda() for k, a in node.arrays().items()}
    own = arrays_of(made.torch(**inputs), node.outputs)
    model, given, found = folder / f"{name}.onnx", folder / "inputs.npz", folder / "outputs.npz"
    node.write(model)
    np.savez(given, **node.arrays())
    plan, _ = tenon.compile(model, folder)
    worker = tenon.start(plan, given, found)
    outputs = dict(np.load(found))
    moved = sum(a.nbytes for a in [*node.inputs.values(), *outputs.values()] if a is not None)
    source = torch.empty(max(moved // 2, 1), dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    calls = {"torch": graphed(lambda: made.torch(**inputs)), "copy": graphed(lambda: target.copy_(source))}
    times = {peer: [] for peer in calls}
    for _ in range(options.rounds):
        worker.measure(options.block)
        for peer, call in calls.items():
            times[peer] += times_of(call, options.block)
    worker.close()
    row = {"operator": name, "type": np.dtype(dtype).name, "tenon": statistics.median(worker.times)}
    row |= {peer: statistics.median(list_) for peer, list_ in times.items()}
    return row | {"error": difference(made.comparable(outputs), exact), "torch_error": difference(made.comparable(own), exact)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operators", default=list(OPERATORS), type=lambda text: text.split(","))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--block", type=float, default=0.1, help="seconds per peer and round")
    parser.add_argument("--build", type=pathlib.Path, help="the build's folder (default: what gpu_check packed, else build/cuda)")
    parser.add_argument("--json", type=pathlib.Path, help="write the rows to this file")
    options = parser.parse_args()
    print(f"{'; '.join(gpu_names())}\n\n{'milliseconds':22}{'Tenon':>9}{'PyTorch':>9}{'':>8}{'copy':>9}{'':>8}{'error':>10}{'of torch':>10}", flush=True)
    manifest = unpack()
    tenon = Tenon(options.build or ROOT / manifest["build"], [])
    rows, failed = [], False
    with tempfile.TemporaryDirectory() as folder:
        for name in options.operators:
            for dtype in (np.float32,) if name in WHOLE else (np.float32, np.float16):
                try:
                    row = measure(name, dtype, tenon, pathlib.Path(folder), options)
                except (RuntimeError, subprocess.SubprocessError) as error:
                    failed = True
                    print(f"{name} {np.dtype(dtype).name}: {error}", file=sys.stderr, flush=True)
                    continue
                rows.append(row)
                print(f"{name:14}{row['type']:8}{row['tenon']:9.4f}{row['torch']:9.4f}{row['torch'] / row['tenon']:7.2f}x{row['copy']:9.4f}"
                      f"{row['tenon'] / row['copy']:7.2f}x{row['error']:10.1e}{row['torch_error']:10.1e}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
