"""Writes the models that bench/ measures, as ONNX with repeatable random weights, into a folder.

    python bench/make_models.py --folder models [NAME...]

NAME.onnx has batch 1 (as peers like it best), NAME_dynamic.onnx any batch; source_of(NAME) is the module that it is exported from, which
peers.py runs, too. NAME_int8.onnx is NAME.onnx quantised by ONNX
Runtime, NAME_int8_tenon.onnx by `tenon quantize`, with the same random inputs to calibrate, NAME_int4.onnx with `--weightOnly=int4`. srcnn.onnx is the example's model with its custom
operator, srcnn_resize.onnx the same with ONNX's Resize, for engines without the plugin. Models that are there already
stay. It needs torch, torchvision, onnx and onnxruntime.
"""

import argparse
import dataclasses
import functools
import pathlib
import shutil
import subprocess
import sys
import tempfile

import torch
import torchvision

import networks
import sequence_networks

EXAMPLE = pathlib.Path(__file__).resolve().parent.parent / "examples" / "super_resolution"
TENON = pathlib.Path(__file__).resolve().parent.parent / "out/bin/tenon"
OPSET = 17
QUANTIZED = ("resnet50", "mobilenet_v2", "yolov8n", "bert_base")
# From a picture of that many rows and columns to one tensor.
FROM_PICTURES = {
    "resnet50": (torchvision.models.resnet50, 224),
    "mobilenet_v2": (torchvision.models.mobilenet_v2, 224),
    "vgg16": (torchvision.models.vgg16, 224),
    "efficientnet_b0": (torchvision.models.efficientnet_b0, 224),
    "convnext_tiny": (torchvision.models.convnext_tiny, 224),
    "swin_t": (torchvision.models.swin_t, 224),
    "unet": (networks.UNet, 256),
    "yolov5s": (networks.yolov5s, 640),
    "yolov8n": (networks.yolov8n, 640),
    "vit_b_16": (torchvision.models.vit_b_16, 224),
}
# Those that are written with any batch, too.
DYNAMIC = ("resnet50", "mobilenet_v2", "vgg16", "yolov8n")
MINILM_LENGTHS = (16, 64, 128, 256)
# Frames of one step, and of a second.
DENOISER_FRAMES = {"gru_denoiser_step": 1, "gru_denoiser": 100}


@dataclasses.dataclass
class Source:
    """A module for inference, inputs that it takes, and what inputs and outputs are called in the ONNX model."""

    module: torch.nn.Module
    inputs: tuple
    input_names: list = dataclasses.field(default_factory=lambda: ["input"])
    output_names: list = dataclasses.field(default_factory=lambda: ["output"])
    opset: int = OPSET


@torch.no_grad()
def settle(model, *shape):
    """The model for inference, with batch-norm statistics from one pass over random numbers of that shape.

    Without them random weights overflow or give denormal numbers, and then times mean nothing.
    """
    norms = [module for module in model.modules() if isinstance(module, torch.nn.modules.batchnorm._BatchNorm)]
    model.eval()
    for norm in norms:
        norm.momentum = None
        norm.reset_running_stats()
        norm.train()
    if norms:
        model(torch.randn(shape))
    return model.eval()


@torch.no_grad()
def export(source, path, **options):
    torch.backends.mha.set_fastpath_enabled(False)  # ONNX has no operator for it
    torch.onnx.export(source.module, source.inputs, str(path), dynamo=False, opset_version=source.opset,
                      input_names=source.input_names, output_names=source.output_names, **options)
    print(f"wrote {path}")


def from_picture(name):
    make, size = FROM_PICTURES[name]
    model = settle(make(), 4 if size == 224 else 2, 3, size, size)
    if name == "vit_b_16":  # its head is zeros
        torch.nn.init.normal_(model.heads.head.weight, std=0.02)
    if name == "convnext_tiny":  # its blocks begin as next to nothing
        for parameter in (p for n, p in model.named_parameters() if n.endswith("layer_scale")):
            torch.nn.init.constant_(parameter, 0.5)
    return Source(model, (torch.randn(1, 3, size, size),))


def bert(model, length):
    """From tokens, their mask and segments (1, length), int64, to `hidden` and `pooled`."""
    tokens = torch.randint(0, 30522, (1, length))
    return Source(model.eval(), (tokens, torch.ones_like(tokens), torch.zeros_like(tokens)),
                  ["input_ids", "attention_mask", "token_type_ids"], ["hidden", "pooled"])


def minilm(length):
    """MiniLM's encoder of six layers (Wang et al., 2020)."""
    return bert(networks.Bert(width=384, layers=6, inner=1536), length)


def faster_rcnn():
    """From `input` (3, 320, 320) to boxes, labels and scores of what it finds."""
    model = torchvision.models.detection.fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None)
    settle(model.backbone, 2, 3, 320, 320)
    torch.nn.init.normal_(model.roi_heads.box_predictor.cls_score.weight, std=0.02)  # some classes are likely
    return Source(model.eval(), ([torch.rand(3, 320, 320)],), output_names=["boxes", "labels", "scores"])


def denoiser(frames):
    states = ["speech", "noise", "clean"]
    units = sequence_networks.Denoiser.UNITS
    return Source(sequence_networks.Denoiser().eval(),
                  (torch.rand(1, frames, 42), *(torch.rand(1, 1, n) for n in units)), ["input", *states],
                  ["gains", "speaks", *(f"{name}_after" for name in states)])


def dcn_head():
    register_deformable_convolution()
    return Source(settle(networks.DeformableHead(), 2, 512, 16, 16), (torch.rand(1, 512, 16, 16),),
                  output_names=["classes", "extents", "offsets"], opset=19)


def register_deformable_convolution():
    """Torchvision's operator as ONNX's DeformConv of opset 19, which the exporter lacks."""

    @torch.onnx.symbolic_helper.parse_args("v", "v", "v", "v", "v", *"iiiiiiiii")
    def symbolic(g, x, weight, offset, mask, bias, stride_y, stride_x, pad_y, pad_x, dilation_y, dilation_x, groups,
                 offset_groups, has_mask):
        return g.op("DeformConv", x, weight, offset, bias, *([mask] if has_mask else []), strides_i=[stride_y, stride_x],
                    pads_i=[pad_y, pad_x] * 2, dilations_i=[dilation_y, dilation_x], group_i=groups,
                    offset_group_i=offset_groups)

    torch.onnx.register_custom_op_symbolic("torchvision::deform_conv2d", symbolic, 19)


def llm_step(before=256):
    """A token behind so many."""
    decoder = sequence_networks.Decoder
    cache = [f"{kind}_{layer}" for layer in range(decoder.LAYERS) for kind in ("keys", "values")]
    return Source(decoder().eval(),
                  (torch.zeros(1, 1, dtype=torch.int64), torch.full((1, 1), before),
                   *(torch.rand(1, decoder.KEY_HEADS, before, decoder.SIZE) for _ in cache)),
                  ["token", "position", *cache], ["scores", *(f"{name}_after" for name in cache)])


SOURCES = {
    **{name: functools.partial(from_picture, name) for name in FROM_PICTURES},
    "bert_base": lambda: bert(networks.Bert(), 128),
    "faster_rcnn": faster_rcnn,
    **{f"minilm_s{length}": functools.partial(minilm, length) for length in MINILM_LENGTHS},
    **{name: functools.partial(denoiser, frames) for name, frames in DENOISER_FRAMES.items()},
    "lstm_tagger": lambda: Source(sequence_networks.Tagger().eval(), (torch.randint(0, 20000, (1, 40)),), ["words"]),
    "conformer_block": lambda: Source(settle(sequence_networks.ConformerBlock(), 4, 200, 256), (torch.randn(1, 200, 256),)),
    "dcn_head": dcn_head,
    "llm_step": llm_step,
}


def source_of(name):
    """The same at each call."""
    torch.manual_seed(0)
    return SOURCES[name]()


def write_source(name, folder):
    source = source_of(name)
    export(source, folder / f"{name}.onnx")
    if name in DYNAMIC:
        axes = {key: {0: "batch"} for key in source.input_names + source.output_names}
        export(source, folder / f"{name}_dynamic.onnx", dynamic_axes=axes)


def calibration_inputs(name):
    """Eight random inputs of the model."""
    import numpy

    generator = numpy.random.default_rng(0)
    if name == "bert_base":
        names = ("input_ids", "attention_mask", "token_type_ids")
        return [dict(zip(names, (generator.integers(0, 30522, (1, 128)), numpy.ones((1, 128), numpy.int64),
                                 numpy.zeros((1, 128), numpy.int64)))) for _ in range(8)]
    extent = FROM_PICTURES[name][1]
    return [{"input": generator.random((1, 3, extent, extent), dtype=numpy.float32)} for _ in range(8)]


def write_int8(name, folder):
    """NAME_int8.onnx: QuantizeLinear and DequantizeLinear around the layers of NAME.onnx, made if need be."""
    from onnxruntime import quantization

    class Inputs(quantization.CalibrationDataReader):
        def __init__(self):
            self.left = iter(calibration_inputs(name))

        def get_next(self):
            return next(self.left, None)

    if not (folder / f"{name}.onnx").exists():
        WRITERS[name](folder)
    path = folder / f"{name}_int8.onnx"
    quantization.quantize_static(folder / f"{name}.onnx", path, Inputs(), per_channel=True)
    print(f"wrote {path}")


def write_int8_of_tenon(name, folder):
    """NAME_int8_tenon.onnx, by the program that ./dev build installs."""
    import numpy

    if not (folder / f"{name}.onnx").exists():
        WRITERS[name](folder)
    inputs, path = calibration_inputs(name), folder / f"{name}_int8_tenon.onnx"
    with tempfile.TemporaryDirectory() as samples:
        data = pathlib.Path(samples) / "samples.npz"
        numpy.savez(data, **{key: numpy.concatenate([one[key] for one in inputs]) for key in inputs[0]})
        subprocess.run([TENON, "quantize", folder / f"{name}.onnx", "-o", path, f"--calibData={data}"], check=True)
    print(f"wrote {path}")


def write_int4(name, folder):
    """NAME_int4.onnx: weights of products in int4, by the program that ./dev build installs."""
    if not (folder / f"{name}.onnx").exists():
        WRITERS[name](folder)
    path = folder / f"{name}_int4.onnx"
    subprocess.run([TENON, "quantize", folder / f"{name}.onnx", "-o", path, "--weightOnly=int4"], check=True)
    print(f"wrote {path}")


def write_srcnn(folder):
    """srcnn.onnx as it is in the example, srcnn_resize.onnx with the same weights."""
    sys.path.insert(0, str(EXAMPLE))
    import evaluate
    import export as example
    import onnx

    source = EXAMPLE / "srcnn.onnx"
    state = evaluate.load(source).state_dict()
    onnx.save(example.make_model(state, custom=False), folder / "srcnn_resize.onnx")
    shutil.copy(source, folder / "srcnn.onnx")
    print(f"wrote {folder / 'srcnn.onnx'} and {folder / 'srcnn_resize.onnx'}")


WRITERS = {
    **{name: functools.partial(write_source, name) for name in SOURCES},
    **{f"{name}_int8": lambda folder, name=name: write_int8(name, folder) for name in QUANTIZED},
    **{f"{name}_int8_tenon": lambda folder, name=name: write_int8_of_tenon(name, folder) for name in QUANTIZED},
    "bert_base_int4": lambda folder: write_int4("bert_base", folder),
    "srcnn": write_srcnn,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=pathlib.Path, default="models", help="where to write")
    default = [name for name in WRITERS if name != "vgg16"]
    parser.add_argument("names", nargs="*", default=default, help=f"any of {', '.join(WRITERS)}")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in WRITERS]
    if unknown:
        parser.error(f"unknown model {', '.join(unknown)}; there are {', '.join(WRITERS)}")

    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.names:
        path = options.folder / f"{name}.onnx"
        if path.exists():
            continue
        try:
            WRITERS[name](options.folder)
        except BaseException:
            path.unlink(missing_ok=True)  # half a file
            raise


if __name__ == "__main__":
    main()
