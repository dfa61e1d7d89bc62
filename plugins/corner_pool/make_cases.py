"""Writes cases.json: what torch.cummax gives of the turned input. Needs PyTorch."""
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

generator = torch.Generator().manual_seed(0)
# Axis, and whether the maximum runs against it.
MODES = {"top": (2, True), "bottom": (2, False), "left": (3, True), "right": (3, False)}


def add(name, x):
    for number, (mode, (axis, backwards)) in enumerate(MODES.items()):
        turned = x.flip(axis) if backwards else x
        y = torch.cummax(turned, axis).values
        y = y.flip(axis) if backwards else y
        for spelled in (number, mode):
            case("MMCVCornerPool", f"{name}, {spelled}", {"mode": spelled}, {"x": x.numpy()}, {"y": y.numpy()})


for name, shape in {"plane": (2, 3, 5, 4), "row": (1, 1, 1, 9), "column": (1, 2, 7, 1),
                    "wide": (1, 1, 3, 70), "no batch": (0, 2, 3, 3)}.items():
    # Multiples of 1/16 within 2, so that fp16 holds the inputs exactly.
    add(name, torch.randint(-32, 33, shape, generator=generator).float() / 16)
nan = torch.zeros(1, 1, 3, 3)
nan[0, 0, 1, 1] = float("nan")
add("NaN", nan)
write(__file__)
