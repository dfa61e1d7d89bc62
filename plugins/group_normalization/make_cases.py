"""Writes cases.json: what PyTorch's group_norm gives. Needs PyTorch."""
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

generator = torch.Generator().manual_seed(0)


def sixteenths(*shape):
    # Multiples of 1/16 within 2, so that fp16 holds the inputs exactly.
    return torch.randint(-32, 33, shape, generator=generator).float() / 16


def add(name, shape, groups, epsilon=None):
    x, scale, bias = sixteenths(*shape), sixteenths(shape[1]), sixteenths(shape[1])
    y = torch.nn.functional.group_norm(x.double(), groups, scale.double(), bias.double(), epsilon or 1e-5)
    for plugin in ("GroupNormalizationPlugin", "GroupNormPluginDynamic"):
        case(plugin, name, {"num_groups": groups} | ({"eps": epsilon} if epsilon else {}),
             {"x": x.numpy(), "scale": scale.numpy(), "bias": bias.numpy()}, {"y": y.float().numpy()})


def of_32_groups(name, shape, swish, epsilon=None):
    x, gamma, beta = sixteenths(*shape), sixteenths(shape[1]), sixteenths(shape[1])
    y = torch.nn.functional.group_norm(x.double(), 32, gamma.double(), beta.double(), epsilon or 1e-5)
    y = torch.nn.functional.silu(y) if swish else y
    case("GroupNorm", name, {"bSwish": int(swish)} | ({"epsilon": epsilon} if epsilon else {}),
         {"x": x.numpy(), "gamma": gamma.numpy(), "beta": beta.numpy()}, {"y": y.float().numpy()},
         fixed=("gamma", "beta"), tolerance=(1e-5, 4e-3))


add("two groups", (2, 6, 3, 5), 2)
add("one group", (2, 3, 4, 4), 1)
add("a group per channel", (1, 4, 5, 3), 4)
add("line", (2, 4, 7), 2)
add("volume", (1, 4, 2, 3, 5), 2)
add("no space", (3, 12), 3)
add("channels of one element", (2, 8, 1, 1), 2)
add("epsilon", (1, 4, 3, 3), 2, 0.5)
add("no batch", (0, 4, 3, 3), 2)
of_32_groups("two images", (2, 64, 3, 2), False)
of_32_groups("swish", (1, 96, 2, 2), True, 0.25)
of_32_groups("no images of 32 groups", (0, 32, 2, 2), True)
write(__file__)
