"""Writes cases.json: rows of length 1, as PyTorch's sums of squares give them. Needs PyTorch."""
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

generator = torch.Generator().manual_seed(0)


def add(name, shape, across, shared, epsilon=None):
    # Multiples of 1/16 within 2, so that fp16 holds the inputs exactly.
    x = torch.randint(-32, 33, shape, generator=generator).float() / 16
    weights = torch.randint(-32, 33, (1 if shared else shape[1],), generator=generator).float() / 16
    squares = (x.double() ** 2).sum((1, 2, 3) if across else 1, keepdim=True)
    y = x.double() / (squares + (epsilon or 1e-10)).sqrt() * weights.reshape(1, -1, 1, 1)
    attributes = {"weights": weights.tolist(), "acrossSpatial": int(across), "channelShared": int(shared),
                  "nbWeights": 1, **({"eps": epsilon} if epsilon else {})}
    case("Normalize_TRT", name, attributes, {"x": x.numpy()}, {"y": y.float().numpy()})


for across in (False, True):
    for shared in (False, True):
        suffix = f", across {across}, shared {shared}"
        add("two images" + suffix, (2, 5, 3, 4), across, shared)
        add("many pixels" + suffix, (1, 3, 20, 21), across, shared, 0.5)
add("one element", (1, 1, 1, 1), False, True, 0.25)
add("no images", (0, 3, 2, 2), False, False)
add("no pixels", (1, 3, 0, 2), True, False)
write(__file__)
