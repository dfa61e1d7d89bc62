"""Writes cases.json: what PyTorch's grid_sample, inverse and sums give. Needs NumPy and PyTorch."""
import math
import pathlib
import sys

import numpy
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

random = numpy.random.RandomState(0)


def sixteenths(*shape):
    # Multiples of 1/16 within 2, so that fp16 holds them exactly.
    return random.randint(-32, 33, shape).astype("float32") / 16


def rotate(name, shape, angle, center, interpolation):
    x = sixteenths(*shape)
    height, width = shape[1:]
    turn = -math.radians(angle)
    cx, cy = center[0] - width * 0.5, center[1] - height * 0.5
    cosine, sine = math.cos(turn), math.sin(turn)
    theta = torch.tensor([[cosine, sine, -cx * cosine - cy * sine + cx],
                          [-sine, cosine, cx * sine - cy * cosine + cy]], dtype=torch.float64)
    columns = torch.arange(width, dtype=torch.float64) + 0.5 - width * 0.5
    rows = torch.arange(height, dtype=torch.float64) + 0.5 - height * 0.5
    places = torch.stack([columns.expand(height, width), rows[:, None].expand(height, width),
                          torch.ones(height, width, dtype=torch.float64)], -1)
    grid = places @ theta.T / torch.tensor([width * 0.5, height * 0.5])
    y = torch.nn.functional.grid_sample(torch.from_numpy(x).double()[None], grid[None],
                                        ("bilinear", "nearest")[interpolation], "zeros", False)[0].float()
    for plugin in ("RotateTRT", "RotateTRT2"):
        case(plugin, name, {"interpolation": interpolation},
             {"img": x, "angle": numpy.float32([angle]), "center": numpy.float32(center)}, {"y": y.numpy()})


rotate("bilinear", (2, 6, 7), 30.0, (3.5, 2.5), 0)
rotate("bilinear, about a corner", (1, 5, 5), -45.0, (0.0, 0.0), 0)
rotate("nearest", (3, 5, 8), 17.0, (4.0, 2.0), 1)
rotate("nearest, not turned", (1, 4, 4), 0.0, (2.0, 2.0), 1)
rotate("a quarter", (1, 4, 4), 90.0, (2.0, 2.0), 0)
rotate("no channels", (0, 3, 3), 10.0, (1.0, 1.0), 0)


def inverse(name, x):
    case("InverseTRT", name, {}, {"x": x.astype("float32")},
         {"y": torch.inverse(torch.from_numpy(x).double()).float().numpy()}, tolerance=(1e-4, 1e-2))


inverse("four by four", random.randint(-32, 33, (2, 3, 4, 4)) / 16 + 3 * numpy.eye(4))
inverse("a pivot of zero", numpy.array([[[0.0, 1, 0], [2, 0, 0], [0, 0, 4]]]))
inverse("one element", numpy.array([[4.0]]))
inverse("larger", random.randint(-32, 33, (9, 9)) / 16 + 8 * numpy.eye(9))
case("InverseTRT", "no matrices", {}, {"x": numpy.zeros((0, 3, 3), "float32")}, {"y": numpy.zeros((0, 3, 3), "float32")})


def bev_pool(name, cameras, depths, extents, channels, size, points):
    depth, features = sixteenths(cameras, depths, *extents), sixteenths(cameras, *extents, channels)
    cells = numpy.sort(random.randint(0, size[0] * size[1], points))
    depth_ranks = random.randint(0, depth.size, points)
    feature_ranks = random.randint(0, cameras * extents[0] * extents[1], points)
    starts = numpy.flatnonzero(numpy.diff(cells, prepend=-1)) if points else numpy.zeros(0, int)
    lengths = numpy.diff(starts, append=points) if points else numpy.zeros(0, int)
    y = torch.zeros(size[0] * size[1], channels, dtype=torch.float64)
    values = depth.flatten()[depth_ranks][:, None] * features.reshape(-1, channels)[feature_ranks]
    y.index_add_(0, torch.from_numpy(cells), torch.from_numpy(values).double())
    for plugin in ("BEVPoolV2TRT", "BEVPoolV2TRT2"):
        case(plugin, name, {"out_height": size[0], "out_width": size[1]},
             {"depth": depth, "feat": features,
              **{key: numpy.int32(value) for key, value in
                 [("ranks_depth", depth_ranks), ("ranks_feat", feature_ranks), ("ranks_bev", cells),
                  ("interval_starts", starts), ("interval_lengths", lengths)]}},
             {"y": y.reshape(1, *size, channels).float().numpy()})


bev_pool("two cameras", 2, 3, (2, 4), 5, (4, 3), 40)
bev_pool("few points", 1, 2, (2, 2), 3, (3, 3), 4)
bev_pool("no points", 1, 2, (2, 2), 3, (2, 2), 0)
write(__file__)
