"""Activations, element by element."""
import torch
import torch.nn.functional as functional

from plugin_formulas.registry import formula, images, of


@formula("HSwish")
def hard_swish(numbers):
    return of("HSwish", images(numbers), {}, lambda x: functional.hardswish(x))


@formula("HSigmoid")
def hard_sigmoid(numbers):
    return of("HSigmoid", images(numbers), {}, lambda x: functional.hardsigmoid(x))


@formula("MYSELU")
def silu(numbers):
    return of("MYSELU", images(numbers), {"attr1": "", "attr2": [1, 2, 3], "attr3": 222.0}, lambda x: functional.silu(x))


@formula("LReLU_TRT", "LeakyReluPlugin")
def leaky_relu(numbers):
    return of("LReLU_TRT", images(numbers), {"negSlope": 0.25}, lambda x: functional.leaky_relu(x, 0.25))


@formula("Prelu")
def prelu(numbers):
    slopes = numbers.normal(64)
    return of("Prelu", images(numbers), {"weights": slopes.tolist()}, lambda x: functional.prelu(x, torch.from_numpy(slopes)))


@formula("Clip_TRT")
def clip(numbers):
    return of("Clip_TRT", images(numbers), {"clipMin": -1.0, "clipMax": 1.5}, lambda x: x.clamp(-1, 1.5))


@formula("CustomGeluPluginDynamic")
def gelu(numbers):
    return of("CustomGeluPluginDynamic", images(numbers), {"type_id": 0}, lambda x: functional.gelu(x, approximate="tanh"))


@formula("SplitGeLU")
def split_gelu(numbers):
    def by_torch(x):
        value, gate = x.chunk(2, 2)
        return value * functional.gelu(gate)

    return of("SplitGeLU", {"x": numbers.normal(1, 1024, 2560)}, {}, by_torch)
