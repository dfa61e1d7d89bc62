"""Writes cases.json: what PyTorch's instance_norm gives. Needs PyTorch."""
import pathlib
import sys

import torch
import torch.nn.functional as functional

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

generator = torch.Generator().manual_seed(0)


def sixteenths(*shape):
    # Multiples of 1/16 within 2, so that fp16 holds the inputs exactly.
    return torch.randint(-32, 33, shape, generator=generator).float() / 16


def expected(x, scale=None, bias=None, epsilon=1e-5):
    # instance_norm refuses channels of one element; in double, they are their bias.
    mean = x.double().flatten(2).mean(2).reshape(*x.shape[:2], *[1] * (x.dim() - 2))
    if x[0, 0].numel() == 1:
        y = x.double() - mean
        scale, bias = (p if p is None else p.reshape(-1, *[1] * (x.dim() - 2)) for p in (scale, bias))
        return (y if scale is None else y * scale + bias).float().numpy()
    to_double = lambda p: None if p is None else p.double()
    return functional.instance_norm(x.double(), weight=to_double(scale), bias=to_double(bias), eps=epsilon).float().numpy()


SHAPES = {
    "plane": (2, 3, 5, 7),
    "line": (2, 3, 9),
    "volume": (1, 2, 3, 4, 5),
    "one channel": (1, 1, 4, 4),
    "one element": (2, 3, 1, 1),
    "five axes of space": (1, 2, 2, 2, 2, 2, 3),
    "longer than vectors": (1, 2, 11, 13),
}
for name, shape in SHAPES.items():
    x, scale, bias = sixteenths(*shape), sixteenths(shape[1]), sixteenths(shape[1])
    inputs = {"x": x.numpy(), "scale": scale.numpy(), "bias": bias.numpy()}
    y = {"y": expected(x, scale, bias)}
    case("TRTInstanceNormalization", name, {}, inputs, y, fixed=("scale", "bias"))
    case("MMCVInstanceNormalization", name, {"epsilon": 1e-5}, inputs, y)
    parameters = {"scales": scale.tolist(), "bias": bias.tolist()}
    for version in "123":
        case("InstanceNormalization_TRT", name, parameters, {"x": x.numpy()}, y, version=version)
    case("InstanceNorm", name, {}, {"x": x.numpy()}, {"y": expected(x)})

# An epsilon that matters.
x, scale, bias = sixteenths(1, 2, 3, 4), sixteenths(2), sixteenths(2)
inputs = {"x": x.numpy(), "scale": scale.numpy(), "bias": bias.numpy()}
y = expected(x, scale, bias, 0.5)
case("TRTInstanceNormalization", "epsilon", {"epsilon": 0.5}, inputs, {"y": y}, fixed=("scale", "bias"))
case("MMCVInstanceNormalization", "epsilon", {"epsilon": 0.5}, inputs, {"y": y})
case("InstanceNorm", "epsilon", {"epsilon": 0.5}, {"x": x.numpy()}, {"y": expected(x, epsilon=0.5)})
parameters = {"epsilon": 0.5, "scales": scale.tolist(), "bias": bias.tolist()}
for version in "123":
    leaky = torch.nn.functional.leaky_relu(torch.from_numpy(y), 0.25).numpy()
    run = lambda name, extra, y: case("InstanceNormalization_TRT", name, {**parameters, **extra},
                                      {"x": x.numpy()}, {"y": y}, version=version)
    run("epsilon", {}, y)
    run("alpha without relu", {"relu": 0, "alpha": 0.25}, y)
    run("relu", {"relu": 1}, torch.from_numpy(y).relu().numpy())
    run("leaky relu", {"relu": 1, "alpha": 0.25}, leaky)

# A mean that is large beside the variance, a channel of one value, nothing at all.
x = 1024 + sixteenths(1, 2, 8, 8) * 16
case("InstanceNorm", "large mean", {}, {"x": x.numpy()}, {"y": expected(x)})
x = torch.full((1, 1, 3, 5), 5.0625)
case("InstanceNorm", "one value", {}, {"x": x.numpy()}, {"y": torch.zeros_like(x).numpy()})
x = torch.zeros(0, 2, 3, 3)
case("InstanceNorm", "no batch", {}, {"x": x.numpy()}, {"y": x.numpy()})
x = torch.zeros(2, 2, 0, 3)
case("InstanceNorm", "no elements", {}, {"x": x.numpy()}, {"y": x.numpy()})
write(__file__)
