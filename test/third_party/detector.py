"""A detector with plugins of MMDeploy's original library, on the CPU: from pixels to boxes, compared with PyTorch.

    compile.py mmdeploy ~/mmdeploy --cuda out/hostcuda --edit --link libmmdeploy.so
    detector.py FOLDER libmmdeploy.so [--tenon out/bin/tenon]

writes FOLDER/detector.onnx and its input, runs `tenon run` with Tenon's own plugins and with the library, in three
orders of its threads, and fails unless all give what PyTorch and torchvision give. The model is built as MMDeploy
exports a two-stage detector: a backbone with a deformable convolution (MMCVModulatedDeformConv2d), anchors
(GridPriorsTRT), the best proposals (GatherTopk), their regions in four levels (MMCVMultiLevelRoiAlign), classes and
boxes, non-maximum suppression (TRTBatchedNMS); beside it a picture of sampled features (grid_sampler). Weights are
random. Needs PyTorch, torchvision, NumPy and onnx.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import time

import numpy
import onnx
import torch
import torchvision
from onnx import helper, numpy_helper
from torch.nn import functional

import cpu

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "plugins"))
from detections import best_of_image  # noqa: E402

HEIGHT, WIDTH, CHANNELS, CLASSES, PROPOSALS, ROWS = 320, 480, 32, 20, 300, 100
STRIDES, FINEST, OVERLAP, LEAST, CONSIDERED = [4, 8, 16, 32], 56, 0.5, 0.3, 200
generator = torch.Generator().manual_seed(7)


def weights(*shape, gain=1.0):
    fan_in = int(numpy.prod(shape[1:])) if len(shape) > 1 else 16
    return torch.randn(shape, generator=generator) * gain * (2 / fan_in) ** 0.5


def convolution(inputs, outputs, size, gain=1.0):
    return weights(outputs, inputs, size, size, gain=gain), weights(outputs, gain=0.1)


W = {
    "stem": convolution(3, CHANNELS, 7), "down8": convolution(CHANNELS, CHANNELS, 3),
    "down16": convolution(CHANNELS, CHANNELS, 3), "down32": convolution(CHANNELS, CHANNELS, 3),
    "offset": convolution(CHANNELS, 18, 3, 0.7), "mask": convolution(CHANNELS, 9, 3),
    "deform": convolution(CHANNELS, CHANNELS, 3),
    "object": convolution(CHANNELS, 9, 1), "shift": convolution(CHANNELS, 36, 1, 0.5),
    "hidden": (weights(128, CHANNELS * 49), weights(128, gain=0.1)),
    "class": (weights(CLASSES, 128, gain=3.0), weights(CLASSES, gain=0.1)),
    "box": (weights(4, 128), weights(4, gain=0.1)),
}
BASE = torch.tensor([[-size * flat / 2, -size / flat / 2, size * flat / 2, size / flat / 2]
                     for size in (32, 64, 128) for flat in (1, 1.5, 1 / 1.5)])
PLACES = torch.rand((1, 60, 90, 2), generator=generator) * 2.4 - 1.2
LIMIT = torch.tensor([WIDTH, HEIGHT, WIDTH, HEIGHT]).float() - 1


def expected(x):
    """The same with PyTorch and torchvision: rows of boxes with their scores, labels, and the picture."""
    def conv(x, name, stride=1):
        return functional.conv2d(x, *W[name], stride=stride, padding=W[name][0].shape[-1] // 2)

    def moved(boxes, shifts, reach):
        return torch.minimum((boxes + reach * torch.tanh(shifts)).clamp(min=0), LIMIT)

    levels = [functional.relu(conv(x, "stem", 4))]
    for name in ("down8", "down16"):
        levels.append(functional.relu(conv(levels[-1], name, 2)))
    c16 = levels[2]
    levels[2] = torchvision.ops.deform_conv2d(c16, conv(c16, "offset"), W["deform"][0], W["deform"][1], padding=1,
                                              mask=torch.sigmoid(conv(c16, "mask")))
    levels.append(functional.relu(conv(levels[2], "down32", 2)))
    rows, columns = levels[2].shape[2:]
    y, x_ = torch.meshgrid(torch.arange(rows) * 16, torch.arange(columns) * 16, indexing="ij")
    anchors = (torch.stack([x_, y, x_, y], -1).reshape(-1, 1, 4) + BASE).reshape(-1, 4)
    best = conv(levels[2], "object").permute(0, 2, 3, 1).flatten().topk(PROPOSALS).indices
    boxes = moved(anchors, conv(levels[2], "shift").permute(0, 2, 3, 1).reshape(-1, 4), 16)[best]
    size = ((boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])).sqrt()
    level = torch.floor(torch.log2(size / FINEST + 1e-6)).clamp(0, 3)
    regions = torch.zeros(PROPOSALS, CHANNELS, 7, 7)
    for i, stride in enumerate(STRIDES):
        regions[level == i] = torchvision.ops.roi_align(levels[i], [boxes[level == i]], 7, 1 / stride, 2, True)
    hidden = functional.relu(functional.linear(regions.flatten(1), *W["hidden"]))
    scores = torch.sigmoid(functional.linear(hidden, *W["class"])).numpy()
    found = moved(boxes, functional.linear(hidden, *W["box"]), 8).numpy()
    pairs = best_of_image(found[:, None], scores, ROWS, OVERLAP, least=LEAST, considered=CONSIDERED)
    detections, labels = numpy.zeros((1, ROWS, 5), numpy.float32), numpy.full((1, ROWS), -1, numpy.int32)
    for row, (box, kind) in enumerate(pairs):
        detections[0, row], labels[0, row] = [*found[box], scores[box, kind]], kind
    return detections, labels, functional.grid_sample(levels[2], PLACES, align_corners=False).numpy()


class Graph:
    """Nodes as they are added; each has one name for itself and its first output."""

    def __init__(self):
        self.nodes, self.constants = [], {}

    def constant(self, name, value):
        self.constants[name] = numpy.asarray(value)
        return name

    def add(self, kind, inputs, name, domain="", outputs=None, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, outputs or [name], name=name, domain=domain, **attributes))
        return name

    def parameters(self, name):
        return [self.constant(f"{name}.{part}", value.numpy()) for part, value in zip(("weight", "bias"), W[name])]

    def conv(self, x, name, stride=1, after=None):
        pad = W[name][0].shape[-1] // 2
        y = self.add("Conv", [x, *self.parameters(name)], name, strides=[stride] * 2, pads=[pad] * 4)
        return self.add(after, [y], f"{name}.{after}") if after else y

    def moved(self, boxes, shifts, reach, name):
        far = self.add("Mul", [self.add("Tanh", [shifts], f"{name}.tanh"),
                               self.constant(f"{name}.reach", numpy.float32(reach))], f"{name}.far")
        low = self.add("Max", [self.add("Add", [boxes, far], f"{name}.sum"),
                               self.constant("zero", numpy.float32(0))], f"{name}.low")
        return self.add("Min", [low, self.constant("limit", LIMIT.numpy())], name)


def model():
    graph = Graph()
    levels = [graph.conv("image", "stem", 4, "Relu")]
    for name in ("down8", "down16"):
        levels.append(graph.conv(levels[-1], name, 2, "Relu"))
    offset, mask = graph.conv(levels[2], "offset"), graph.conv(levels[2], "mask", 1, "Sigmoid")
    levels[2] = graph.add("MMCVModulatedDeformConv2d", [levels[2], offset, mask, *graph.parameters("deform")], "deform",
                          "mmdeploy", stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=1, deform_groups=1)
    levels.append(graph.conv(levels[2], "down32", 2, "Relu"))
    rows, columns = HEIGHT // 16, WIDTH // 16
    anchors = graph.add("GridPriorsTRT", [graph.constant("anchors.base", BASE.numpy()),
                                          graph.constant("rows", numpy.zeros(rows, numpy.int32)),
                                          graph.constant("columns", numpy.zeros(columns, numpy.int32))], "anchors",
                        "mmdeploy", stride_h=16, stride_w=16)

    def by_anchor(x, shape, name):
        last = graph.add("Transpose", [x], f"{name}.last", perm=[0, 2, 3, 1])
        return graph.add("Reshape", [last, graph.constant(f"{name}.shape", numpy.array(shape, numpy.int64))], name)

    scores = by_anchor(graph.conv(levels[2], "object"), [1, -1], "objects")
    graph.add("TopK", [scores, graph.constant("count", numpy.array([PROPOSALS], numpy.int64))], "best",
              outputs=["best.scores", "best"], axis=1)
    shifts = by_anchor(graph.conv(levels[2], "shift"), [-1, 4], "shifts")
    everywhere = graph.add("Unsqueeze", [graph.moved(anchors, shifts, 16, "everywhere"),
                                         graph.constant("first", numpy.array([0], numpy.int64))], "everywhere.batch")
    best = graph.add("Cast", ["best"], "best.int32", to=onnx.TensorProto.INT32)
    proposals = graph.add("GatherTopk", [everywhere, best], "proposals", "mmdeploy")
    boxes = graph.add("Squeeze", [proposals, "first"], "boxes")
    images = graph.constant("images", numpy.zeros((PROPOSALS, 1), numpy.float32))
    rois = graph.add("Concat", [images, boxes], "rois", axis=1)
    regions = graph.add("MMCVMultiLevelRoiAlign", [rois, *levels], "regions", "mmdeploy", output_height=7,
                        output_width=7, featmap_strides=[float(s) for s in STRIDES], sampling_ratio=2,
                        roi_scale_factor=-1.0, finest_scale=FINEST, aligned=1, pool_mode=1)
    flat = graph.add("Flatten", [regions], "flat")

    def linear(x, name):
        return graph.add("Gemm", [x, *graph.parameters(name)], name, transB=1)

    hidden = graph.add("Relu", [linear(flat, "hidden")], "hidden.relu")
    probabilities = graph.add("Sigmoid", [linear(hidden, "class")], "probabilities")
    classes = graph.add("Unsqueeze", [probabilities, "first"], "scores")
    found = graph.add("Reshape", [graph.moved(boxes, linear(hidden, "box"), 8, "moved"),
                                  graph.constant("one box", numpy.array([1, PROPOSALS, 1, 4], numpy.int64))], "found")
    graph.add("TRTBatchedNMS", [found, classes], "suppression", "mmdeploy", ["detections", "labels"],
              background_label_id=-1, num_classes=CLASSES, topk=CONSIDERED, keep_topk=ROWS, score_threshold=LEAST,
              iou_threshold=OVERLAP, is_normalized=0, clip_boxes=0)
    graph.add("grid_sampler", [levels[2], graph.constant("places", PLACES.numpy())], "picture", "mmdeploy",
              interpolation_mode=0, padding_mode=0, align_corners=0)

    def info(name, kind, *shape):
        return helper.make_tensor_value_info(name, kind, shape)

    numbers = onnx.TensorProto.FLOAT
    outputs = [info("detections", numbers, 1, ROWS, 5), info("labels", onnx.TensorProto.INT32, 1, ROWS),
               info("picture", numbers, 1, CHANNELS, *PLACES.shape[1:3])]
    made = helper.make_graph(graph.nodes, "detector", [info("image", numbers, 1, 3, HEIGHT, WIDTH)], outputs,
                             [numpy_helper.from_array(value, name) for name, value in graph.constants.items()])
    domains = [helper.make_opsetid("", 17), helper.make_opsetid("mmdeploy", 1)]
    return helper.make_model(made, ir_version=8, opset_imports=domains)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("--tenon", type=pathlib.Path, default=ROOT / "out/bin/tenon")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model(), options.folder / "detector.onnx")
    image = torch.rand((1, 3, HEIGHT, WIDTH), generator=generator) * 2 - 1
    numpy.savez(options.folder / "inputs.npz", image=image.numpy())
    wanted = expected(image)
    print(f"PyTorch: {(wanted[1] >= 0).sum()} boxes of {len(set(wanted[1][wanted[1] >= 0].tolist()))} classes")
    failures = 0
    library = [f"--plugins={options.library}"]
    runs = [("Tenon's plugins", "forward", []), *((options.library.name, order, library) for order in cpu.ORDERS)]
    for who, order, more in runs:
        start = time.monotonic()
        arguments = [options.tenon, "run", options.folder / "detector.onnx", f"--inputs={options.folder}/inputs.npz",
                     f"--outputs={options.folder}/outputs.npz", "--target=cpu", *more]
        subprocess.run(arguments, check=True, capture_output=True, env=os.environ | {"TENON_CUDA_ORDER": order})
        seconds = time.monotonic() - start
        outputs = numpy.load(options.folder / "outputs.npz")
        errors = [float((numpy.abs(outputs[name] - want) / (1 + numpy.abs(want))).max())
                  for name, want in zip(("detections", "labels", "picture"), wanted)]
        is_right = max(errors) <= 1e-4 and errors[1] == 0
        print(f"{who}, {order}: {'right' if is_right else 'WRONG'}, detections {errors[0]:.1e}, "
              f"labels {errors[1]:.0f}, picture {errors[2]:.1e} from PyTorch; {seconds:.2f} s")
        failures += not is_right
    sys.exit(failures)


if __name__ == "__main__":
    main()
