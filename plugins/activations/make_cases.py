"""Writes cases.json: what PyTorch's activations give. Needs PyTorch."""
import json
import pathlib
import sys

import torch
import torch.nn.functional as functional

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

generator = torch.Generator().manual_seed(0)


def eighths(*shape):
    # Multiples of 1/8 within 8, so that fp16 holds the inputs exactly, and all parts are met.
    return torch.randint(-64, 65, shape, generator=generator).float() / 8


INPUTS = {
    "plane": eighths(2, 3, 5, 7),
    "one element": torch.tensor([-1.0]),
    "longer than vectors": eighths(3, 50),
    "nothing": torch.zeros(0, 3),
    "special": torch.tensor([-3, 3, 0, -0.0, 60000, -60000, float("nan")]),
}
NOTES = {"attr1": "这个是字符串 – übermäßig", "attr2": [1, 2, 3], "attr3": 222.0}
for name, x in INPUTS.items():
    def add(plugin, attributes, y, **more):
        case(plugin, name, attributes, {"x": x.numpy(), **more}, {"y": y.numpy()}, any_type=tuple(more))

    add("HSwish", {}, functional.hardswish(x))
    add("HSigmoid", {}, functional.hardsigmoid(x))
    extra = {"p": torch.zeros(5).numpy(), "constant": torch.zeros(3, 2, 1).numpy()}
    add("MYSELU", NOTES, functional.silu(x), **extra)
    add("MYSELU", {"info": json.dumps(NOTES, ensure_ascii=False)}, functional.silu(x))
    add("LReLU_TRT", {"negSlope": 0.25}, functional.leaky_relu(x, 0.25))
    add("LReLU_TRT", {}, functional.relu(x))
    add("LeakyReluPlugin", {}, functional.leaky_relu(x, 0.1))
    add("Prelu", {"weights": [0.25], "nbWeight": 1}, functional.prelu(x, torch.tensor([0.25])))
    if x.dim() > 1:
        slopes = [(i % 5 - 2) / 4 for i in range(x.shape[1])]
        add("Prelu", {"weights": slopes}, functional.prelu(x, torch.tensor(slopes)))
write(__file__)
