"""Measures how fast ONNX models are edited: verbs over many nodes, and a model of 1 GB beside onnxslim.

    python bench/edit.py [--nodes 100000] [--large] [--rounds 3] [--tool build/release/tools/tenon/tenon]

The first part makes a model of that many nodes and times each verb of `tenon onnx` on it, less what a run takes that only
loads the model. The second (--large) makes a BERT of 1 GB, and has it loaded, folded, cleaned and saved by `tenon onnx` and by
onnxslim, in turns, each in a process of its own; then ONNX Runtime says by how much the two results differ. It needs onnx,
and for --large torch, onnxslim and onnxruntime.
"""

import argparse
import os
import pathlib
import statistics
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

VERBS = ["infer-shapes", "float16", "set-batch=4", "set-batch=batch", "fold", "clean", "unused", "share", "clear-shapes", "inline",
         "resolve-if", "opset=18", "remove-quantization", "rename=x:z"]
SLIM = "import sys, onnxslim; onnxslim.slim(sys.argv[1], sys.argv[2])"


def many_nodes(count):
    """A chain of blocks of nine nodes: arithmetic with weights, a branch, Transpose, in every hundredth Reshape with a constant."""
    generator = np.random.default_rng(1)
    tensors = [numpy_helper.from_array(generator.random((8, 8), np.float32), f"weight_{i}") for i in range(50)]
    tensors.append(numpy_helper.from_array(generator.random(8, np.float32), "bias"))
    tensors.append(numpy_helper.from_array(np.array([1, 4, 8], np.int64), "shape"))
    nodes = []

    def node(op_type, *inputs, **attributes):
        output = f"/model/layers.{len(nodes) // 9}/{op_type}_output_{len(nodes)}"
        nodes.append(helper.make_node(op_type, inputs, [output], name=f"/model/{op_type}_{len(nodes)}", **attributes))
        return output

    last = "x"
    for block in range(count // 9):
        product = node("Add", node("MatMul", last, f"weight_{block % 50}"), "bias")
        gated = node("Mul", node("Sigmoid", product), product)
        back = node("Transpose", node("Transpose", gated, perm=[0, 2, 1]), perm=[0, 2, 1])
        shaped = node("Reshape", back, "shape") if block % 100 == 0 else node("Relu", back)
        last = node("Softmax", node("Add", shaped, last), axis=-1)
    nodes.append(helper.make_node("Identity", [last], ["y"], name="last"))
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4, 8]) for name in "xy"]
    graph = helper.make_graph(nodes, "many", values[:1], values[1:], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def write_large(path):
    """BERT of 18 layers of width 1024: 1 GB of weights, with the shapes that an exporter leaves to be computed."""
    import torch

    import networks

    torch.manual_seed(1)
    model = networks.Bert(width=1024, layers=18, heads=16, inner=4096).eval()
    inputs = tuple(torch.ones(1, 64, dtype=torch.int64) for _ in range(3))
    torch.onnx.export(model, inputs, str(path), dynamo=False, opset_version=17, do_constant_folding=False,
                      input_names=["tokens", "mask", "segments"], output_names=["states", "pooled"])


def measured(command):
    """Seconds, CPU seconds and MB of the peak resident set of a process."""
    start = time.perf_counter()
    child = os.posix_spawnp(command[0], command, os.environ,
                            file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
    _, status, usage = os.wait4(child, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)} failed")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def median(runs):
    return [statistics.median(column) for column in zip(*runs)]


def time_verbs(tool, folder, nodes, rounds):
    model, output = str(folder / "many.onnx"), str(folder / "out.onnx")
    onnx.save(many_nodes(nodes), model)
    none = median(measured([tool, "onnx", "rename-node=last:end", model, "-o", output]) for _ in range(rounds))
    print(f"{nodes} nodes, {os.path.getsize(model) >> 20} MB: loaded and saved in {none[0]:.2f} s")
    print("| verb | s beyond that | MB |\n|---|---|---|")
    for verb in VERBS:
        wall, _, memory = median(measured([tool, "onnx", verb, model, "-o", output]) for _ in range(rounds))
        print(f"| `{verb}` | {wall - none[0]:.2f} | {memory:.0f} |", flush=True)


def largest_difference(paths):
    import onnxruntime

    generator = np.random.default_rng(2)
    feeds = {"tokens": generator.integers(0, 30000, (1, 64)), "mask": np.ones((1, 64), np.int64),
             "segments": np.zeros((1, 64), np.int64)}
    results = []
    for path in paths:
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        given = {value.name: feeds[value.name] for value in session.get_inputs()}
        results.append(session.run(["states", "pooled"], given))
    return [max(float(np.abs(a - b).max()) for a, b in zip(results[0], other)) for other in results[1:]]


def time_large(tool, folder, rounds):
    model = str(folder / "large.onnx")
    if not os.path.exists(model):
        write_large(model)
    ours, theirs = str(folder / "ours.onnx"), str(folder / "theirs.onnx")
    commands = {"tenon onnx fold clean": [tool, "onnx", "fold", "clean", model, "-o", ours],
                "onnxslim": [sys.executable, "-c", SLIM, model, theirs]}
    runs = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            runs[name].append(measured(command))
    print(f"\n{os.path.getsize(model) / 1e9:.2f} GB\n| | s | CPU s | MB | nodes |\n|---|---|---|---|---|")
    for (name, of), path in zip(runs.items(), (ours, theirs)):
        wall, cpu, memory = median(of)
        nodes = len(onnx.load(path, load_external_data=False).graph.node)
        print(f"| {name} | {wall:.2f} | {cpu:.2f} | {memory:.0f} | {nodes} |")
    for name, difference in zip(commands, largest_difference([model, ours, theirs])):
        print(f"{name}: outputs differ from the model's by {difference:.3g}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tool", default="build/release/tools/tenon/tenon")
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--folder", help="where the models are kept; a temporary folder otherwise")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(arguments.folder or temporary)
        folder.mkdir(exist_ok=True)
        time_verbs(arguments.tool, folder, arguments.nodes, arguments.rounds)
        if arguments.large:
            time_large(arguments.tool, folder, arguments.rounds)


if __name__ == "__main__":
    main()
