"""Prints what SRCNN gains over bicubic on given photos, as the table in README.md.

    python evaluate.py srcnn.onnx photos/astronaut.jpg …
"""

import argparse
import pathlib

import torch

import srcnn


def load(path):
    """The network with the weights of a .pt file of train.py or of the exported .onnx."""
    model = srcnn.Srcnn()
    if pathlib.Path(path).suffix == ".onnx":
        import onnx
        from onnx import numpy_helper

        initializers = onnx.load(path).graph.initializer
        state = {i.name: torch.from_numpy(numpy_helper.to_array(i).copy()) for i in initializers}
    else:
        state = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(state)
    return model.eval()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", help="srcnn.onnx or the .pt file of train.py")
    parser.add_argument("photos", nargs="+")
    options = parser.parse_args()

    model = load(options.model)
    print("| photo | factor | Pillow bicubic | bicubic (A = -0.75) | SRCNN | gain |")
    print("|---|---|---|---|---|---|")
    for path in options.photos:
        for factor in (2, 3):
            dB = srcnn.score(model, path, factor)
            values = f"{dB['pillow']:.2f} | {dB['bicubic']:.2f} | {dB['srcnn']:.2f}"
            gain = f"{dB['srcnn'] - dB['bicubic']:+.2f}"
            print(f"| {pathlib.Path(path).stem} | x{factor} | {values} | {gain} |")


if __name__ == "__main__":
    main()
