"""Writes cases.json: sums over the points of cells by their definition. Needs NumPy."""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

random = numpy.random.RandomState(0)


def sixteenths(*shape):
    # Multiples of 1/16 within 2, so that fp16 holds them exactly.
    return random.randint(-32, 33, shape).astype("float32") / 16


def bev_pool(name, cameras, depths, extents, channels, size, points):
    depth, features = sixteenths(cameras, depths, *extents), sixteenths(cameras, *extents, channels)
    cells = numpy.sort(random.randint(0, size[0] * size[1], points))
    depth_ranks = random.randint(0, depth.size, points)
    feature_ranks = random.randint(0, cameras * extents[0] * extents[1], points)
    starts = numpy.flatnonzero(numpy.diff(cells, prepend=-1)) if points else numpy.zeros(0, int)
    lengths = numpy.diff(starts, append=points) if points else numpy.zeros(0, int)
    y = numpy.zeros((size[0] * size[1], channels))
    values = depth.flatten()[depth_ranks][:, None] * features.reshape(-1, channels)[feature_ranks]
    numpy.add.at(y, cells, values)
    for plugin in ("BEVPoolV2TRT", "BEVPoolV2TRT2"):
        case(plugin, name, {"out_height": size[0], "out_width": size[1]},
             {"depth": depth, "feat": features,
              **{key: numpy.int32(value) for key, value in
                 [("ranks_depth", depth_ranks), ("ranks_feat", feature_ranks), ("ranks_bev", cells),
                  ("interval_starts", starts), ("interval_lengths", lengths)]}},
             {"y": y.reshape(1, *size, channels).astype("float32")})


bev_pool("two cameras", 2, 3, (2, 4), 5, (4, 3), 40)
bev_pool("few points", 1, 2, (2, 2), 3, (3, 3), 4)
bev_pool("no points", 1, 2, (2, 2), 3, (2, 2), 0)
write(__file__)
