"""Converts networks of ncnn that enlarge pictures to ONNX: convert(bytes) -> onnx.ModelProto.

    python ncnn_to_onnx.py NAME.param NAME.bin NAME.onnx

It knows the layers of Real-ESRGAN's compact networks: convolutions (weights in float16 or float32), PReLU, pixel
shuffle, resizing and sums. Pictures are `data` (batch, 3, height, width), RGB from 0 to 1. Needs numpy and onnx.
"""
import pathlib
import struct
import sys

import numpy as np
import onnx
from onnx import helper

# The options of layers, by ncnn's numbers, that are understood.
OPTIONS = {"Input": {0, 1, 2}, "Split": set(), "Convolution": {0, 1, 4, 5, 6}, "PReLU": {0}, "PixelShuffle": {0},
           "Interp": {0, 1, 2}, "BinaryOp": {0}}
HALF = 0x01306B47  # what ncnn writes before weights in float16; 0 before float32
MODES = {1: ("nearest", {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}),
         3: ("cubic", {"coordinate_transformation_mode": "half_pixel", "cubic_coeff_a": -0.75})}


class Weights:
    def __init__(self, data):
        self.data, self.at = data, 0

    def floats(self, count):
        self.at += 4 * count
        return np.frombuffer(self.data, "<f4", count, self.at - 4 * count)

    def tagged(self, count):
        tag, = struct.unpack_from("<I", self.data, self.at)
        self.at += 4
        if tag == 0:
            return self.floats(count)
        if tag != HALF:
            raise ValueError(f"weights at byte {self.at - 4} are neither float16 nor float32: tag {tag:#x}")
        values = np.frombuffer(self.data, "<f2", count, self.at)
        self.at += 2 * (count + count % 2)  # whole words
        return values.astype(np.float32)


class Network:
    """Layers of ncnn as nodes; each method has the name of a layer's type."""

    def __init__(self, weights):
        self.weights, self.nodes, self.constants, self.alias = weights, [], [], {}

    def constant(self, name, values):
        self.constants.append(onnx.numpy_helper.from_array(np.ascontiguousarray(values, np.float32), name))
        return name

    def add(self, operator, inputs, outputs, **attributes):
        self.nodes.append(helper.make_node(operator, inputs, outputs, **attributes))

    def Input(self, name, inputs, outputs, options):
        pass

    def Split(self, name, inputs, outputs, options):
        self.alias |= dict.fromkeys(outputs, inputs[0])

    def Convolution(self, name, inputs, outputs, options):
        channels, kernel, count = int(options[0]), int(options[1]), int(options[6])
        weights = self.constant(f"{name}.weight", self.weights.tagged(count).reshape(channels, -1, kernel, kernel))
        biases = [self.constant(f"{name}.bias", self.weights.floats(channels))] if options.get(5) == "1" else []
        self.add("Conv", [*inputs, weights, *biases], outputs, pads=[int(options.get(4, 0))] * 4)

    def PReLU(self, name, inputs, outputs, options):
        slopes = self.weights.floats(int(options[0])).reshape(-1, 1, 1)
        self.add("PRelu", [*inputs, self.constant(f"{name}.slope", slopes)], outputs)

    def PixelShuffle(self, name, inputs, outputs, options):
        self.add("DepthToSpace", inputs, outputs, blocksize=int(options[0]), mode="CRD")

    def Interp(self, name, inputs, outputs, options):
        if int(options[0]) not in MODES:
            raise ValueError(f"{name}: expected resizing by one of {sorted(MODES)}, found {options[0]}")
        mode, attributes = MODES[int(options[0])]
        scales = self.constant(f"{name}.scales", [1, 1, float(options[1]), float(options[2])])
        self.add("Resize", [*inputs, "", scales], outputs, mode=mode, **attributes)

    def BinaryOp(self, name, inputs, outputs, options):
        if options.get(0, "0") != "0":
            raise ValueError(f"{name}: of binary operators sums alone are known, and this is number {options[0]}")
        self.add("Add", inputs, outputs)


def convert(data):
    """The model of what NAME.param and NAME.bin hold, one behind the other."""
    magic, counts, rest = data.split(b"\n", 2)
    if magic.strip() != b"7767517":
        raise ValueError(f"expected ncnn's text, which begins with 7767517, found {magic[:20]!r}")
    *lines, weights = rest.split(b"\n", int(counts.split()[0]))
    network = Network(Weights(weights))
    for line in lines:
        kind, name, inputs, outputs, *words = line.decode().split()
        blobs = words[: int(inputs) + int(outputs)]
        options = {int(key): value for key, value in (word.split("=") for word in words[len(blobs) :])}
        if kind not in OPTIONS or not OPTIONS[kind].issuperset(options):
            raise ValueError(f"{name}: layers of type {kind} with options {options} are not supported")
        sources = [network.alias.get(blob, blob) for blob in blobs[: int(inputs)]]
        getattr(network, kind)(name, sources, blobs[int(inputs) :], options)
    if network.weights.at != len(weights):
        raise ValueError(f"expected {network.weights.at} bytes of weights, found {len(weights)}")
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        network.nodes, "upscale", [value("data", onnx.TensorProto.FLOAT, ["batch", 3, "height", "width"])],
        [value("output", onnx.TensorProto.FLOAT, ["batch", 3, "rows", "columns"])], network.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    onnx.save(convert(b"".join(pathlib.Path(path).read_bytes() for path in sys.argv[1:3])), sys.argv[3])
