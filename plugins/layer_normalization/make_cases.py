"""Writes cases.json: what PyTorch's layer_norm gives. Needs PyTorch."""
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

generator = torch.Generator().manual_seed(0)


def sixteenths(*shape):
    # Multiples of 1/16 within 2, so that fp16 holds the inputs exactly.
    return torch.randint(-32, 33, shape, generator=generator).float() / 16


def add(name, shape, normalized, epsilon=None, gamma_shape=None):
    """`normalized` is torch's normalized_shape; the plugin's gamma may have more axes of one."""
    x, skip = sixteenths(*shape), sixteenths(*shape)
    gamma, beta = sixteenths(*normalized), sixteenths(*normalized)

    def of(value):
        return torch.nn.functional.layer_norm(value.double(), normalized, gamma.double(), beta.double(),
                                              epsilon or 1e-5).float().numpy()

    attributes = {"epsilon": epsilon} if epsilon else {}
    parameters = {key: p.reshape(gamma_shape or normalized).numpy() for key, p in
                  (("gamma", gamma), ("beta", beta))}
    case("LayerNorm", name, attributes, {"x": x.numpy(), **parameters}, {"y": of(x)})
    inputs = {"x": x.numpy(), "skip": skip.numpy(), **parameters}
    case("SkipLayerNormV1", name, attributes, inputs, {"y": of(x + skip)})
    case("SkipLayerNormV2", name, attributes, inputs, {"y": of(x + skip), "sum": (x + skip).numpy()})


add("rows", (2, 3, 40), (40,))
add("two axes", (3, 4, 5), (4, 5))
add("gamma with leading ones", (2, 3, 9), (9,), gamma_shape=(1, 1, 9))
add("one row", (7,), (7,))
add("rows of one element", (2, 3, 1), (1,))
add("epsilon", (4, 6), (6,), 0.5)
add("longer than vectors", (2, 1, 131), (131,))
add("no rows", (0, 8), (8,))
write(__file__)
