"""Writes cases.json: what PyTorch's adaptive pooling gives. Needs PyTorch."""
import pathlib
import sys

import numpy
import torch
import torch.nn.functional as functional

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

generator = torch.Generator().manual_seed(0)


def add(name, shape, size, second=False):
    # Multiples of 1/16 within 2, so that fp16 holds the inputs exactly.
    x = torch.randint(-32, 33, shape, generator=generator).float() / 16
    wanted = [s if s > 0 else shape[len(shape) - len(size) + i] for i, s in enumerate(size)]
    for number, kind in enumerate(("max", "avg")):
        y = getattr(functional, f"adaptive_{kind}_pool{len(size)}d")(x, wanted)
        for spelled in (number, kind):
            inputs = {"x": x.numpy(), **({"size": numpy.zeros(wanted)} if second else {})}
            attributes = {"pooling_type": spelled, **({} if second else {"output_size": list(size)})}
            case("AdaptivePoolPluginDynamic", f"{name}, {spelled}", attributes, inputs, {"y": y.numpy()},
                 any_type=("size",))


add("planes", (2, 3, 7, 5), (3, 2))
add("larger", (1, 2, 3, 4), (5, 9))
add("one axis as it is", (1, 2, 5, 6), (0, 4))
add("a row", (2, 3, 11), (4,))
add("volumes", (1, 2, 4, 5, 6), (2, 3, 1))
add("one element", (1, 1, 6, 6), (1, 1))
add("by a second input", (2, 3, 7, 5), (3, 2), True)
add("no images", (0, 2, 4, 4), (2, 2))
x = torch.zeros(1, 1, 4, 4)
x[0, 0, 1, 2] = float("nan")
case("AdaptivePoolPluginDynamic", "NaN", {"output_size": [2, 2], "pooling_type": 0}, {"x": x.numpy()},
     {"y": functional.adaptive_max_pool2d(x, 2).numpy()})
write(__file__)
