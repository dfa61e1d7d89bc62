"""Writes cases.json: what PyTorch's scaled_dot_product_attention gives, and its weights. Needs PyTorch."""
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

generator = torch.Generator().manual_seed(0)


def eighths(*shape):
    # Multiples of 1/8 within 1, so that fp16 holds the inputs exactly.
    return torch.randint(-8, 9, shape, generator=generator).float() / 8


def add(name, batch, queries, keys, features, mask=None):
    q, k, v = eighths(batch, queries, features), eighths(batch, keys, features), eighths(batch, keys, features)
    bias = torch.zeros(queries, keys) if mask is None else mask
    y = torch.nn.functional.scaled_dot_product_attention(q.double(), k.double(), v.double(), bias.double())
    # The weights are what attention makes of a v that is the identity.
    identity = torch.eye(keys).expand(batch, keys, keys)
    weights = torch.nn.functional.scaled_dot_product_attention(q.double(), k.double(), identity.double(), bias.double())
    inputs = {"q": q, "k": k, "v": v} | ({} if mask is None else {"mask": mask})
    case("ScaledDotProductAttentionTRT", name, {}, {key: value.numpy() for key, value in inputs.items()},
         {"y": y.float().numpy(), "weights": weights.float().numpy()})


add("no mask", 2, 3, 5, 4)
add("mask of two dimensions", 2, 3, 5, 4, eighths(3, 5))
add("mask of three dimensions", 2, 3, 5, 4, eighths(2, 3, 5))
hidden = torch.zeros(3, 5)
hidden[:, 2:] = float("-inf")
add("hidden keys", 1, 3, 5, 4, hidden)
add("one of everything", 1, 1, 1, 1)
add("more queries than a block", 1, 35, 3, 2)
add("more keys than a panel", 1, 2, 70, 3)
add("more features than a panel", 1, 2, 3, 75)
add("no batch", 0, 2, 3, 4)
add("no queries", 1, 0, 3, 4)
write(__file__)
