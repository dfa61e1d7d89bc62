"""Writes cases.json: CARAFE as windows that PyTorch's unfold gives, weighed. Needs PyTorch."""
import pathlib
import sys

import torch
import torch.nn.functional as functional

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

generator = torch.Generator().manual_seed(0)


def sixteenths(*shape):
    # Multiples of 1/16 within 1, so that fp16 holds the inputs exactly.
    return torch.randint(-16, 17, shape, generator=generator).float() / 16


def add(name, shape, kernel, groups, scale):
    n, c, h, w = shape
    x = sixteenths(*shape)
    masks = sixteenths(n, groups * kernel * kernel, h * scale, w * scale)
    windows = functional.unfold(x.reshape(n * c, 1, h, w), kernel, padding=(kernel - 1) // 2)
    windows = windows.reshape(n, groups, c // groups, kernel * kernel, h, w)
    windows = windows.repeat_interleave(scale, 4).repeat_interleave(scale, 5)
    weights = masks.reshape(n, groups, 1, kernel * kernel, h * scale, w * scale)
    y = (windows.double() * weights).sum(3).reshape(n, c, h * scale, w * scale).float()
    tensors = {"features": x.numpy(), "masks": masks.numpy()}, {"output": y.numpy()}
    case("CarafeFeatureReassemblePluginDynamic", name,
         {"scale_factor": scale, "up_kernel": kernel, "up_group": groups}, *tensors)
    for plugin in ("MMCVCARAFE", "MMCVCARAFENaive"):
        case(plugin, name, {"kernel_size": kernel, "group_size": groups, "scale_factor": float(scale)}, *tensors)


add("twice", (2, 4, 3, 4), 5, 1, 2)
add("two groups", (1, 4, 4, 3), 3, 2, 2)
add("three times", (1, 2, 2, 2), 3, 1, 3)
add("one element of a window", (1, 2, 3, 3), 1, 1, 1)
write(__file__)
