"""Writes cases.json: what PyTorch's activations give. Needs PyTorch."""
import json
import math
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


def gelu_by_tanh(x):
    wide = x.double()
    return (0.5 * wide * (1 + torch.tanh((2 / math.pi) ** 0.5 * (wide + 0.044715 * wide ** 3)))).float()


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
    whole = torch.tensor([-3.0, 3, 0, 100, -100]) if name == "one element" else x
    case("Clip_TRT", name, {"clipMin": -2.0, "clipMax": 3.0}, {"x": whole.numpy()},
         {"y": torch.clamp(whole, -2, 3).numpy()})
    add("CustomGeluPluginDynamic", {"type_id": 0}, gelu_by_tanh(x))
    if x.dim() > 1:
        bias = [(i % 7 - 3) / 4 for i in range(x.shape[-1])]
        add("CustomGeluPluginDynamic", {"type_id": 1, "bias": bias}, gelu_by_tanh(x + torch.tensor(bias)))
        slopes = [(i % 5 - 2) / 4 for i in range(x.shape[1])]
        add("Prelu", {"weights": slopes}, functional.prelu(x, torch.tensor(slopes)))
write(__file__)
