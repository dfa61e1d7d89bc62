"""Writes the models and the expected outputs of this folder, with PyTorch (fp32, CPU).

    python test/golden/make_goldens.py [NAME...]

README.md says what the files hold. It needs torch, torchvision, onnx and Pillow.
"""

import argparse
import os
import pathlib
import sys

import numpy as np
import onnx
import torch

import models
import plugin_models

GOLDEN = pathlib.Path(__file__).resolve().parent
EXAMPLE = GOLDEN.parent.parent / "examples" / "super_resolution"
sys.path.insert(0, str(EXAMPLE))
import evaluate
import pictures
import srcnn

STRIDE = 7
TILE = 64

BATCH = {0: "batch"}
PICTURES = {0: "batch", 2: "height", 3: "width"}

# name: (network, opset, dynamic axes of the input, of the output, input shapes of the cases). The
# opsets differ on purpose: Clip, Resize, Softmax and others are written in another way in each.
NETWORKS = {
    "mini_resnet": (models.MiniResnet, 17, PICTURES, BATCH, [(1, 3, 64, 64), (3, 3, 97, 80)]),
    "mini_mobilenet": (models.mini_mobilenet, 9, PICTURES, BATCH, [(1, 3, 64, 64), (2, 3, 50, 75)]),
    "mini_mobilenet_opset13": (
        models.mini_mobilenet,
        13,
        PICTURES,
        BATCH,
        [(1, 3, 64, 64), (2, 3, 50, 75)],
    ),
    "mini_vgg": (models.MiniVgg, 11, BATCH, BATCH, [(1, 3, 65, 65), (4, 3, 65, 65)]),
    "mlp": (models.Mlp, 12, BATCH, BATCH, [(1, 1, 12, 12), (5, 1, 12, 12)]),
    "mini_unet": (models.MiniUnet, 17, PICTURES, PICTURES, [(1, 3, 32, 32), (2, 3, 40, 24)]),
}

# name: (network, whether its weights, inputs and outputs are fp16). Their expected outputs are fp32
# all the same.
PLUGIN_NETWORKS = {
    "two_stage_head": (plugin_models.TwoStageHead, False),
    "two_stage_head_fp16": (plugin_models.ClearTwoStageHead, True),
    "retinanet_head": (plugin_models.RetinanetHead, False),
    "retinanet_head_fp16": (plugin_models.ClearRetinanetHead, True),
    "deformable_detr_layer": (plugin_models.DeformableDetrLayer, False),
    "deformable_detr_layer_fp16": (plugin_models.DeformableDetrLayer, True),
    "dcn_block": (plugin_models.DcnBlock, False),
    "dcn_block_fp16": (plugin_models.DcnBlock, True),
}

# Networks whose batch norms the exporter folds into the convolutions; the others keep the nodes.
FOLDED = ["mini_mobilenet_opset13"]

# Input and output sizes, (height, width); srcnn.onnx itself is in examples/super_resolution.
SRCNN_CASES = [((256, 256), (768, 768)), ((320, 200), (961, 599))]


def shape_name(shape):
    """(1, 3, 64, 64) as 1x3x64x64."""
    return "x".join(str(size) for size in shape)


def export(model, inputs, path, **options):
    """Writes an ONNX model; its inputs' values do not matter."""
    torch.onnx.export(model, tuple(inputs), str(path), dynamo=False, **options)


def write_case(path, model, inputs, other_inputs, input_names, output_names):
    """Writes inputs and what the model gives for them; other inputs must give something else."""
    results, others = model(*inputs), model(*other_inputs)
    outputs, others = ([x] if isinstance(x, torch.Tensor) else x for x in (results, others))
    change, size = (outputs[0] - others[0]).abs().mean(), outputs[0].abs().mean()
    assert change > 0.02 * size, f"{path}: outputs hardly depend on inputs"
    case = {f"in:{name}": value.numpy() for name, value in zip(input_names, inputs)}
    case |= {f"out:{name}": value.numpy() for name, value in zip(output_names, outputs)}
    np.savez_compressed(path, **case)
    print(
        f"{path.parent.name} {path.stem} -> {shape_name(outputs[0].shape)}, mean size {size:.3f}, "
        f"change with the inputs {change:.3f}, {path.stat().st_size} bytes"
    )


@torch.no_grad()
def make_network(name):
    """Writes NAME/model.onnx and one case for each shape."""
    network, opset, input_axes, output_axes, shapes = NETWORKS[name]
    folder = GOLDEN / name
    folder.mkdir(exist_ok=True)
    torch.manual_seed(0)
    model = models.settle(network(), lambda: [torch.randn(4, *shapes[0][1:])])
    path = folder / "model.onnx"
    training = torch.onnx.TrainingMode.EVAL if name in FOLDED else torch.onnx.TrainingMode.PRESERVE
    export(
        model,
        [torch.randn(shapes[0])],
        path,
        training=training,
        opset_version=opset,
        input_names=["input"],
        output_names=["output"],
        dynamic_axes={"input": input_axes, "output": output_axes},
    )
    onnx.checker.check_model(str(path))
    for shape in shapes:
        inputs = [torch.randn(shape)], [torch.randn(shape)]
        case = folder / f"case_{shape_name(shape)}.npz"
        write_case(case, model, *inputs, ["input"], ["output"])


def draw_clear(model, network, case, is_half):
    """Inputs for which rounding decides nothing, and which have something to show."""
    while True:
        inputs = network.inputs(*case)
        try:
            with plugin_models.KeepBest.require_apart(*((2**-7, 0.02) if is_half else (1e-6, 1e-5))):
                outputs = model(*inputs)
        except plugin_models.Unclear:
            continue
        if network.OUTPUTS != plugin_models.DETECTIONS or (outputs[2] >= 0).sum(1).min() >= 3:
            return inputs


@torch.no_grad()
def make_plugin_network(name):
    """Writes NAME/model.onnx, with plugins, and one case for each of the network's."""
    network, is_half = PLUGIN_NETWORKS[name]
    folder = GOLDEN / name
    folder.mkdir(exist_ok=True)
    torch.manual_seed(0)
    model = models.settle(network(), lambda: network.inputs(*network.CASES[0]))
    if is_half:
        model = model.half()
    export(
        model,
        [x.half() if is_half else x for x in network.inputs(*network.CASES[1])],
        folder / "model.onnx",
        opset_version=17,
        input_names=network.INPUTS,
        output_names=network.OUTPUTS,
        dynamic_axes=network.DYNAMIC,
    )
    model = model.float()
    for case in network.CASES:
        inputs = draw_clear(model, network, case, is_half), network.inputs(*case)
        path = folder / f"case_{shape_name(inputs[0][0].shape)}.npz"
        write_case(path, model, *inputs, network.INPUTS, network.OUTPUTS)


def sampled(name, output):
    """What a case keeps of an output (N, C, H, W) that is too large to be kept whole."""
    rows, columns = output.shape[2:]
    top, left = (rows - TILE) // 2, (columns - TILE) // 2
    wide = output.astype(np.float64)
    return {
        f"shape:{name}": np.array(output.shape, np.int64),
        f"sample:{name}": output[:, :, ::STRIDE, ::STRIDE],
        f"tile:{name}": output[:, :, top : top + TILE, left : left + TILE],
        f"tile_at:{name}": np.array([top, left], np.int64),
        f"stats:{name}": np.array([wide.mean(), wide.std(), wide.min(), wide.max()]),
    }


@torch.no_grad()
def make_srcnn():
    """Writes srcnn/case_*.npz from the committed model and photo."""
    folder = GOLDEN / "srcnn"
    folder.mkdir(exist_ok=True)
    model = evaluate.load(EXAMPLE / "srcnn.onnx")
    photo = pictures.read_photo(EXAMPLE / "photos" / "astronaut.jpg")
    for (height, width), (out_height, out_width) in SRCNN_CASES:
        small = srcnn.to_tensor(photo.crop((100, 0, 100 + width, height)))
        factor = torch.zeros(1, 1, out_height, out_width)
        output = model(small, factor).numpy()
        case = {"in:input": small.numpy(), "in:factor": factor.numpy(), **sampled("output", output)}
        name = f"case_{height}x{width}_to_{out_height}x{out_width}.npz"
        np.savez_compressed(folder / name, **case)
        print(f"srcnn {name}: {os.path.getsize(folder / name)} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    makers = {"srcnn": lambda name: make_srcnn()}
    makers |= dict.fromkeys(NETWORKS, make_network)
    makers |= dict.fromkeys(PLUGIN_NETWORKS, make_plugin_network)
    parser.add_argument("names", nargs="*", help=f"any of {', '.join(makers)}")
    options = parser.parse_args()
    torch.set_num_threads(2)
    for name in options.names or makers:
        makers[name](name)


if __name__ == "__main__":
    main()
