"""Errors of convolutions against float64, with their times: Tenon and its peers on the same random numbers.

    python accuracy.py [--layers 3x3_64,srcnn,...] [--peers tenon,tenon_tf32,ort,ov] [--rounds 6]

`largest` and `rms` are parts of the range of the exact result, in units of 1e-7; `bound` is what the rms may be by
default: 5e-7 times the root of a 64th of the products in a sum. The exact result is PyTorch's in float64.
"""
import argparse
import dataclasses
import json
import math
import pathlib
import sys
import tempfile

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

import run

PEERS = ["tenon", "tenon_tf32", "ort", "ov"]


@dataclasses.dataclass
class Convolutions:
    """Convolutions in a row, with ReLU between them: (output channels, window, stride) each."""

    input: tuple
    layers: list

    def weights(self):
        random = np.random.default_rng(11)
        channels, result = self.input[1], []
        for count, window, _ in self.layers:
            fan_in = channels * window * window
            result.append((random.standard_normal((count, channels, window, window)) * math.sqrt(2 / fan_in)).astype(np.float32))
            channels = count
        return result

    def data(self):
        return np.random.default_rng(12).standard_normal(self.input).astype(np.float32)

    def products(self):
        """In the longest sum."""
        return max(w.shape[1] * w.shape[2] * w.shape[3] for w in self.weights())

    def exact(self):
        x = torch.from_numpy(self.data()).double()
        for i, (w, (_, window, stride)) in enumerate(zip(self.weights(), self.layers)):
            x = torch.relu(x) if i else x
            x = torch.nn.functional.conv2d(x, torch.from_numpy(w).double(), stride=stride, padding=window // 2)
        return x.numpy()

    def write(self, path):
        nodes, constants, x = [], [], "x"
        for i, (w, (_, window, stride)) in enumerate(zip(self.weights(), self.layers)):
            constants.append(numpy_helper.from_array(w, f"w{i}"))
            if i:
                nodes.append(helper.make_node("Relu", [x], [f"r{i}"]))
                x = f"r{i}"
            last = "y" if i + 1 == len(self.layers) else f"c{i}"
            nodes.append(helper.make_node("Conv", [x, f"w{i}"], [last], pads=[window // 2] * 4, strides=[stride] * 2))
            x = last
        graph = helper.make_graph(nodes, "convolutions", [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.input)],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


LAYERS = {
    "3x3_64": Convolutions((1, 64, 56, 56), [(64, 3, 1)]),
    "3x3_128": Convolutions((1, 128, 28, 28), [(128, 3, 1)]),
    "3x3_256": Convolutions((1, 256, 14, 14), [(256, 3, 1)]),
    "3x3_512": Convolutions((1, 512, 7, 7), [(512, 3, 1)]),
    "3x3_128_stride2": Convolutions((1, 128, 56, 56), [(128, 3, 2)]),
    "5x5_64": Convolutions((1, 64, 256, 256), [(32, 5, 1)]),
    "7x7_3_stride2": Convolutions((1, 3, 224, 224), [(64, 7, 2)]),
    "9x9_3": Convolutions((1, 3, 256, 256), [(64, 9, 1)]),
    "1x1_256": Convolutions((1, 256, 28, 28), [(256, 1, 1)]),
    "srcnn": Convolutions((1, 3, 768, 768), [(64, 9, 1), (32, 5, 1), (3, 5, 1)]),
}


def start(peer, layers, model, folder, options):
    inputs, outputs = folder / "inputs.npz", folder / f"{peer}.npz"
    if peer.startswith("tenon"):
        allowed = ("--tf32",) if peer == "tenon_tf32" else ()
        return run.start_tenon("tenon", allowed, model, {"x": layers.data()}, inputs, outputs, options)
    return run.start_peer(peer, model, inputs, outputs, options)


def measure(name, options):
    layers = LAYERS[name]
    exact = layers.exact()
    extent = np.ptp(exact)
    with tempfile.TemporaryDirectory() as folder, run.Progress(name) as progress:
        folder = pathlib.Path(folder)
        layers.write(folder / "model.onnx")
        np.savez(folder / "inputs.npz", x=layers.data())
        workers = {peer: start(peer, layers, folder / "model.onnx", folder, options) for peer in options.peers.split(",")}
        rows, noise = run.take_turns(workers, options, progress)
        for peer, row in rows.items():
            with np.load(folder / f"{peer}.npz") as stored:
                errors = (next(iter(stored.values())).astype(np.float64) - exact) / extent
            row["largest_error"], row["rms_error"] = float(np.abs(errors).max()), float(np.sqrt((errors**2).mean()))
    return {"layer": name, "busy": noise, "bound": 5e-7 * math.sqrt(layers.products() / 64), "peers": rows}


def show(result):
    print(f"\n{result['layer']}  (rms bound {1e7 * result['bound']:.1f}; others used {100 * result['busy']:.0f} % of the machine)")
    for peer, row in result["peers"].items():
        print(f"  {peer:12}{row['median_ms']:9.3f} ms   largest {1e7 * row['largest_error']:8.2f}   rms {1e7 * row['rms_error']:7.3f}",
              flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--layers", default=",".join(LAYERS))
    parser.add_argument("--peers", default=",".join(PEERS))
    run.add_options(parser)
    options = parser.parse_args()
    run.check_peers(parser, options, PEERS)
    results = [measure(name, options) for name in options.layers.split(",")]
    for result in results:
        show(result)
    run.save(results, options)


if __name__ == "__main__":
    sys.exit(main())
