"""Writes the models that bench/ measures, as ONNX with repeatable random weights, into a folder.

    python bench/make_models.py --folder models [NAME...]

NAME.onnx has batch 1 (as peers like it best), NAME_dynamic.onnx any batch. srcnn.onnx is the
example's model with its custom operator, srcnn_resize.onnx the same with ONNX's Resize, for engines
without the plugin. It needs torch, torchvision and onnx.
"""

import argparse
import pathlib
import shutil
import sys

import torch
import torchvision

EXAMPLE = pathlib.Path(__file__).resolve().parent.parent / "examples" / "super_resolution"
OPSET = 17
PICTURE = (1, 3, 224, 224)
CLASSIFIERS = {
    "resnet50": torchvision.models.resnet50,
    "mobilenet_v2": torchvision.models.mobilenet_v2,
    "vgg16": torchvision.models.vgg16,
}
DEFAULT = ["resnet50", "mobilenet_v2", "srcnn"]


@torch.no_grad()
def settle(model):
    """The model for inference, with batch-norm statistics from one pass over random numbers.

    Without them random weights overflow or give denormal numbers, and then times mean nothing.
    """
    norms = [module for module in model.modules() if isinstance(module, torch.nn.BatchNorm2d)]
    model.eval()
    for norm in norms:
        norm.momentum = None
        norm.reset_running_stats()
        norm.train()
    model(torch.randn(4, *PICTURE[1:]))
    return model.eval()


@torch.no_grad()
def write_classifier(name, folder):
    """NAME.onnx and NAME_dynamic.onnx: `input` (batch, 3, 224, 224) to `output` (batch, 1000)."""
    torch.manual_seed(0)
    model = settle(CLASSIFIERS[name](weights=None))
    for suffix, axes in (("", None), ("_dynamic", {"input": {0: "batch"}, "output": {0: "batch"}})):
        path = folder / f"{name}{suffix}.onnx"
        torch.onnx.export(
            model,
            (torch.randn(PICTURE),),
            str(path),
            dynamo=False,
            opset_version=OPSET,
            input_names=["input"],
            output_names=["output"],
            dynamic_axes=axes,
        )
        print(f"wrote {path}")


def write_srcnn(folder):
    """srcnn.onnx as it is in the example, srcnn_resize.onnx with the same weights."""
    sys.path.insert(0, str(EXAMPLE))
    import evaluate
    import export
    import onnx

    source = EXAMPLE / "srcnn.onnx"
    shutil.copy(source, folder / "srcnn.onnx")
    state = evaluate.load(source).state_dict()
    onnx.save(export.make_model(state, custom=False), folder / "srcnn_resize.onnx")
    print(f"wrote {folder / 'srcnn.onnx'} and {folder / 'srcnn_resize.onnx'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=pathlib.Path, default="models", help="where to write")
    known = ", ".join([*CLASSIFIERS, "srcnn"])
    parser.add_argument("names", nargs="*", default=DEFAULT, help=f"any of {known}")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in known.split(", ")]
    if unknown:
        parser.error(f"unknown model {', '.join(unknown)}; there are {known}")

    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.names:
        if name == "srcnn":
            write_srcnn(options.folder)
        else:
            write_classifier(name, options.folder)


if __name__ == "__main__":
    main()
