"""Writes cases.json: multi-scale deformable attention as sums of PyTorch's grid_sample. Needs NumPy
and PyTorch.
"""
import pathlib
import sys

import numpy
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402
from quantized import quantized_case  # noqa: E402


def attention(value, shapes, starts, locations, weights):
    batch, _, heads, channels = value.shape
    queries, levels, points = locations.shape[1], locations.shape[3], locations.shape[4]
    y = torch.zeros(batch * heads, channels, queries, dtype=torch.from_numpy(value).dtype)
    for level in range(levels):
        height, width = shapes[level]
        part = value[:, starts[level]:starts[level] + height * width]
        maps = torch.from_numpy(part).permute(0, 2, 3, 1).reshape(batch * heads, channels, height, width)
        grid = torch.from_numpy(locations[:, :, :, level]).permute(0, 2, 1, 3, 4)
        grid = 2 * grid.reshape(batch * heads, queries, points, 2) - 1
        samples = torch.nn.functional.grid_sample(maps, grid, "bilinear", "zeros", False)
        share = torch.from_numpy(weights[:, :, :, level]).permute(0, 2, 1, 3)
        y += (samples * share.reshape(batch * heads, 1, queries, points)).sum(-1)
    return y.reshape(batch, heads, channels, queries).permute(0, 3, 1, 2).contiguous().numpy()


def add(name, batch, heads, channels, queries, points, shapes, seed, integer="int32"):
    random = numpy.random.RandomState(seed)
    shapes = numpy.array(shapes, integer).reshape(-1, 2)
    sizes = [int(h * w) for h, w in shapes]
    starts = numpy.cumsum([0] + sizes[:-1]).astype(integer) if sizes else numpy.zeros(0, integer)

    def draw(least, most, *shape):
        # Multiples of 1/16, so that fp16 holds them exactly.
        return (random.randint(least, most, shape) / 16).astype("float32")

    value = draw(-32, 33, batch, sum(sizes), heads, channels)
    locations = draw(-3, 20, batch, queries, heads, len(sizes), points, 2)
    weights = draw(0, 9, batch, queries, heads, len(sizes), points)
    y = attention(value, shapes, starts, locations, weights)
    inputs = {"value": value, "value_spatial_shapes": shapes, "value_level_start_index": starts,
              "sampling_locations": locations, "attention_weights": weights}
    flat = y.reshape(batch, queries, heads * channels)
    case("MMCVMultiScaleDeformableAttention", name, {}, inputs, {"output": flat})
    for version in ("1", "2"):
        if version == "1" or name in ("two levels", "long indices"):
            case("MultiscaleDeformableAttnPlugin_TRT", name, {}, inputs, {"output": y}, version=version)


def of_query(name, batch, heads, channels, queries, points, groups, shapes, seed, largest=None):
    """What leads to locations and weights, as BEVFormer's module has it."""
    random = numpy.random.RandomState(seed)
    shapes = numpy.array(shapes, "int32").reshape(-1, 2)
    sizes = [int(h * w) for h, w in shapes]
    starts = numpy.cumsum([0] + sizes[:-1])

    def draw(least, most, *shape):
        return (random.randint(least, most, shape) / 16).astype("float32")

    levels = len(sizes)
    value = draw(-32, 33, batch, sum(sizes), heads, channels)
    reference = draw(0, 17, batch, queries, 1, groups * 2)
    offsets = draw(-32, 33, batch, queries, heads, levels * points * 2)
    logits = draw(-32, 33, batch, queries, heads, levels * points)
    inputs = {"value": value, "value_spatial_shapes": shapes, "reference_points": reference, "sampling_offsets": offsets,
              "attention_weights": logits}

    def attended(inputs):
        value, reference, offsets = inputs["value"], inputs["reference_points"], inputs["sampling_offsets"]
        places = reference.reshape(batch, queries, 1, 1, 1, groups, 2) + (
            offsets.reshape(batch, queries, heads, levels, points // groups, groups, 2)
            / shapes[:, ::-1].reshape(1, 1, 1, levels, 1, 1, 2))
        weights = torch.from_numpy(inputs["attention_weights"]).softmax(-1).reshape(batch, queries, heads, levels, points)
        places = places.reshape(batch, queries, heads, levels, points, 2).astype(value.dtype)
        return attention(value, shapes, starts, places, weights.numpy())

    names = ("MultiScaleDeformableAttnTRT", "MultiScaleDeformableAttnTRT2")
    if largest is not None:
        return quantized_case(names, name, {}, inputs, attended, "output", real=("reference_points",), largest=largest)
    for plugin in names:
        case(plugin, name, {}, inputs, {"output": attended(inputs)}, tolerance=(1e-5, 4e-3))


of_query("two levels", 2, 2, 3, 3, 4, 1, [(3, 5), (2, 2)], 20)
of_query("groups of points", 1, 2, 4, 3, 8, 4, [(4, 4)], 21)
of_query("one of each", 1, 1, 1, 1, 1, 1, [(1, 1)], 22)
of_query("no queries", 1, 2, 3, 0, 2, 1, [(2, 2)], 23)
add("two levels", 2, 2, 3, 3, 2, [(3, 5), (2, 2)], 1)
add("one element", 1, 1, 1, 1, 1, [(1, 1)], 2)
add("long indices", 1, 2, 4, 2, 2, [(2, 3), (1, 2)], 3, "int64")
add("many channels", 1, 1, 71, 1, 2, [(2, 3)], 4)
add("many points", 1, 1, 2, 1, 70, [(2, 3), (3, 2)], 5)
add("no batch", 0, 2, 3, 2, 2, [(2, 2)], 6)
add("no queries", 1, 2, 3, 0, 2, [(2, 2)], 7)
of_query("int8", 2, 2, 4, 3, 4, 1, [(3, 5), (2, 2)], 24, 127)
of_query("int8 that saturates, groups of points", 1, 2, 3, 3, 6, 2, [(4, 4)], 25, 180)
write(__file__)
