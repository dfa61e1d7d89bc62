"""Writes the models that bench/ measures, as ONNX with repeatable random weights, into a folder.

    python bench/make_models.py --folder models [NAME...]

NAME.onnx has batch 1 (as peers like it best), NAME_dynamic.onnx any batch. NAME_int8.onnx is NAME.onnx quantised by ONNX
Runtime, NAME_int8_tenon.onnx by `tenon quantize`, with the same random inputs to calibrate, NAME_int4.onnx with `--weightOnly=int4`. srcnn.onnx is the example's model with its custom
operator, srcnn_resize.onnx the same with ONNX's Resize, for engines without the plugin. Models that are there already
stay. It needs torch, torchvision, onnx and onnxruntime.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

import torch
import torchvision

import networks

EXAMPLE = pathlib.Path(__file__).resolve().parent.parent / "examples" / "super_resolution"
TENON = pathlib.Path(__file__).resolve().parent.parent / "out/bin/tenon"
OPSET = 17
PICTURE = (1, 3, 224, 224)
CLASSIFIERS = {
    "resnet50": torchvision.models.resnet50,
    "mobilenet_v2": torchvision.models.mobilenet_v2,
    "vgg16": torchvision.models.vgg16,
}
QUANTIZED = ("resnet50", "mobilenet_v2", "yolov8n", "bert_base")
# From a picture of that many rows and columns to one tensor.
FROM_PICTURES = {
    "unet": (networks.UNet, 256),
    "yolov5s": (networks.yolov5s, 640),
    "yolov8n": (networks.yolov8n, 640),
    "vit_b_16": (torchvision.models.vit_b_16, 224),
}


@torch.no_grad()
def settle(model, shape=(4, *PICTURE[1:])):
    """The model for inference, with batch-norm statistics from one pass over random numbers of that shape.

    Without them random weights overflow or give denormal numbers, and then times mean nothing.
    """
    norms = [module for module in model.modules() if isinstance(module, torch.nn.BatchNorm2d)]
    model.eval()
    for norm in norms:
        norm.momentum = None
        norm.reset_running_stats()
        norm.train()
    if norms:
        model(torch.randn(shape))
    return model.eval()


@torch.no_grad()
def export(model, inputs, path, **names):
    torch.backends.mha.set_fastpath_enabled(False)  # ONNX has no operator for it
    torch.onnx.export(model, inputs, str(path), dynamo=False, opset_version=OPSET, **names)
    print(f"wrote {path}")


def write_classifier(name, folder):
    """NAME.onnx and NAME_dynamic.onnx: `input` (batch, 3, 224, 224) to `output` (batch, 1000)."""
    torch.manual_seed(0)
    model = settle(CLASSIFIERS[name](weights=None))
    picture = torch.randn(PICTURE)
    names = {"input_names": ["input"], "output_names": ["output"]}
    axes = {"input": {0: "batch"}, "output": {0: "batch"}}
    export(model, (picture,), folder / f"{name}_dynamic.onnx", dynamic_axes=axes, **names)
    export(model, (picture,), folder / f"{name}.onnx", **names)


def write_from_picture(name, folder):
    """NAME.onnx: `input` (1, 3, size, size) to `output`; of yolov8n NAME_dynamic.onnx, too, whose axis 0 is `batch`."""
    torch.manual_seed(0)
    make, size = FROM_PICTURES[name]
    model = settle(make(), (2, 3, size, size))
    if name == "vit_b_16":  # its head is zeros
        torch.nn.init.normal_(model.heads.head.weight, std=0.02)
    picture = torch.randn(1, 3, size, size)
    names = {"input_names": ["input"], "output_names": ["output"]}
    export(model, (picture,), folder / f"{name}.onnx", **names)
    if name == "yolov8n":
        axes = {"input": {0: "batch"}, "output": {0: "batch"}}
        export(model, (picture,), folder / f"{name}_dynamic.onnx", dynamic_axes=axes, **names)


def write_bert(folder):
    """bert_base.onnx: 128 tokens, their mask and segments (1, 128), int64, to `hidden` and `pooled`."""
    torch.manual_seed(0)
    model = networks.Bert().eval()
    tokens = torch.randint(0, 30522, (1, 128))
    export(model, (tokens, torch.ones_like(tokens), torch.zeros_like(tokens)), folder / "bert_base.onnx",
           input_names=["input_ids", "attention_mask", "token_type_ids"], output_names=["hidden", "pooled"])


def write_faster_rcnn(folder):
    """faster_rcnn.onnx: `input` (3, 320, 320) to boxes, labels and scores of what it finds."""
    torch.manual_seed(0)
    model = torchvision.models.detection.fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None)
    settle(model.backbone, (2, 3, 320, 320))
    torch.nn.init.normal_(model.roi_heads.box_predictor.cls_score.weight, std=0.02)  # some classes are likely
    export(model.eval(), ([torch.rand(3, 320, 320)],), folder / "faster_rcnn.onnx", input_names=["input"],
           output_names=["boxes", "labels", "scores"])


def calibration_inputs(name):
    """Eight random inputs of the model."""
    import numpy

    generator = numpy.random.default_rng(0)
    if name == "bert_base":
        names = ("input_ids", "attention_mask", "token_type_ids")
        return [dict(zip(names, (generator.integers(0, 30522, (1, 128)), numpy.ones((1, 128), numpy.int64),
                                 numpy.zeros((1, 128), numpy.int64)))) for _ in range(8)]
    extent = FROM_PICTURES[name][1] if name in FROM_PICTURES else PICTURE[2]
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
    **{name: lambda folder, name=name: write_classifier(name, folder) for name in CLASSIFIERS},
    **{name: lambda folder, name=name: write_from_picture(name, folder) for name in FROM_PICTURES},
    "bert_base": write_bert,
    "faster_rcnn": write_faster_rcnn,
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
