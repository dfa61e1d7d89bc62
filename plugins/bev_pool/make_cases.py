"""Writes cases.json: sums over the points of cells by their definition. Needs NumPy."""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402
from quantized import quantized_case  # noqa: E402

random = numpy.random.RandomState(0)


def sixteenths(*shape):
    # Multiples of 1/16 within 2, so that fp16 holds them exactly.
    return random.randint(-32, 33, shape).astype("float32") / 16


def bev_pool(name, cameras, depths, extents, channels, size, points, largest=None):
    depth, features = sixteenths(cameras, depths, *extents), sixteenths(cameras, *extents, channels)
    cells = numpy.sort(random.randint(0, size[0] * size[1], points))
    depth_ranks = random.randint(0, depth.size, points)
    feature_ranks = random.randint(0, cameras * extents[0] * extents[1], points)
    starts = numpy.flatnonzero(numpy.diff(cells, prepend=-1)) if points else numpy.zeros(0, int)
    lengths = numpy.diff(starts, append=points) if points else numpy.zeros(0, int)
    names, attributes = ("BEVPoolV2TRT", "BEVPoolV2TRT2"), {"out_height": size[0], "out_width": size[1]}
    inputs = {"depth": depth, "feat": features,
              **{key: numpy.int32(value) for key, value in
                 [("ranks_depth", depth_ranks), ("ranks_feat", feature_ranks), ("ranks_bev", cells),
                  ("interval_starts", starts), ("interval_lengths", lengths)]}}

    def pooled(inputs):
        y = numpy.zeros((size[0] * size[1], channels))
        values = inputs["depth"].flatten()[depth_ranks][:, None] * inputs["feat"].reshape(-1, channels)[feature_ranks]
        numpy.add.at(y, cells, values)
        return y.reshape(1, *size, channels)

    if largest is not None:
        return quantized_case(names, name, attributes, inputs, pooled, "y", largest=largest)
    for plugin in names:
        case(plugin, name, attributes, inputs, {"y": pooled(inputs).astype("float32")})


bev_pool("two cameras", 2, 3, (2, 4), 5, (4, 3), 40)
bev_pool("few points", 1, 2, (2, 2), 3, (3, 3), 4)
bev_pool("no points", 1, 2, (2, 2), 3, (2, 2), 0)
bev_pool("int8", 2, 3, (2, 4), 5, (4, 3), 40, 127)
bev_pool("int8 that saturates", 1, 3, (2, 3), 6, (2, 3), 30, 200)


def summed(name, extents, channels, points):
    """extents: batches, layers, rows, columns. Points of a cell lie side by side."""
    cells = numpy.sort(random.randint(0, int(numpy.prod(extents)), points))
    batch, layer, row, column = numpy.unravel_index(cells, extents)
    x = sixteenths(points, channels)
    starts = numpy.flatnonzero(numpy.diff(cells, prepend=-1)) if points else numpy.zeros(0, int)
    y = numpy.zeros((int(numpy.prod(extents)), channels))
    numpy.add.at(y, cells, x)
    case("QuickCumsumCuda", name, dict(zip(("batch_size", "dimension", "height", "width"), extents)),
         {"x": x, "geom_feats": numpy.int32(numpy.stack([row, column, layer, batch], 1)),
          "interval_lengths": numpy.int32(numpy.diff(starts, append=points)), "interval_starts": numpy.int32(starts)},
         {"y": y.reshape(*extents, channels).astype("float32")})


summed("two batches", (2, 2, 4, 3), 5, 60)
summed("many channels", (1, 1, 3, 2), 270, 9)
summed("no points", (1, 2, 2, 2), 3, 0)
write(__file__)
