"""Clouds of points, voxels and birds' eye views."""
import itertools

import numpy as np
import torch

from plugin_formulas.registry import formula, of


@formula("BEVPoolV2TRT", "BEVPoolV2TRT2")
def bev_pool(numbers):
    cells, points, channels = 128 * 128, 100000, 80
    depth, feat = numbers.uniform(6, 59, 16, 44), numbers.normal(6, 16, 44, channels)
    bev = np.sort(numbers.state.randint(0, cells, points))
    starts = np.flatnonzero(np.diff(bev, prepend=-1))
    ranks = {"ranks_depth": numbers.state.randint(0, depth.size, points), "ranks_feat": numbers.state.randint(0, 6 * 16 * 44, points),
             "ranks_bev": bev, "interval_starts": starts, "interval_lengths": np.diff(starts, append=points)}

    def by_torch(depth, feat, ranks_depth, ranks_feat, ranks_bev, **_):
        values = depth.flatten()[ranks_depth][:, None] * feat.reshape(-1, channels)[ranks_feat]
        return torch.zeros(cells, channels).index_add_(0, ranks_bev, values).reshape(1, 128, 128, channels)

    return of("BEVPoolV2TRT", {"depth": depth, "feat": feat, **{k: v.astype(np.int32) for k, v in ranks.items()}},
              {"out_height": 128, "out_width": 128}, by_torch)


def _surfaces(numbers, shape, count):
    """Voxels as a laser finds them: on the ground, and on walls."""
    depth, height, width = shape
    ground = np.stack([np.full(count, depth // 8), numbers.state.randint(0, height // 2, count), numbers.state.randint(0, width // 2, count)],
                      1)
    wall = np.stack([numbers.state.randint(0, depth, count), numbers.state.randint(0, 10, count) * (height // 10),
                     numbers.state.randint(0, width // 4, count)], 1)
    rows = np.unique(np.concatenate([ground, wall]), axis=0)
    rows = numbers.state.permutation(rows)[:count]
    return np.concatenate([np.zeros((count, 1)), rows], 1).astype(np.int32)


def _pairs_of(indices, shape):
    """(27, N): the row of each neighbour, or -1, by a search among sorted numbers of cells."""
    cell = (indices[:, 1] * shape[1] + indices[:, 2]) * shape[2] + indices[:, 3]
    ordered, order = cell.sort()
    table = []
    for z, y, x in itertools.product((-1, 0, 1), repeat=3):
        at = indices[:, 1:] + torch.tensor([z, y, x])
        inside = ((at >= 0) & (at < torch.tensor(shape))).all(1)
        wanted = (at[:, 0] * shape[1] + at[:, 1]) * shape[2] + at[:, 2]
        found = torch.searchsorted(ordered, wanted).clamp(max=len(cell) - 1)
        table.append(torch.where(inside & (ordered[found] == wanted), order[found], -1))
    return torch.stack(table).int()


_GRID = (41, 360, 360)


@formula("GetIndicePairsImplicitGemm", "GetIndicePairs")
def indice_pairs(numbers):
    """Of a submanifold convolution."""
    names = ("out_indices", "pair_fwd", "pair_mask", "mask_argsort", "num_act_out")

    def by_torch(indices):
        table = _pairs_of(indices.long(), _GRID)
        masks = ((table >= 0).int() << torch.arange(27, dtype=torch.int32)[:, None]).sum(0).int()
        order = masks.argsort(stable=True)
        return indices, table, masks[order][:, None], order.int(), torch.tensor(len(indices), dtype=torch.int32)

    return of("GetIndicePairsImplicitGemm", {"indices": _surfaces(numbers, _GRID, 40000)},
              {"batch_size": 1, "algo": 1, "is_train": 0, "ksize": [3, 3, 3], "stride": [1, 1, 1], "padding": [1, 1, 1],
               "dilation": [1, 1, 1], "out_padding": [0, 0, 0], "spatial_shape": list(_GRID), "subm": 1, "transpose": 0},
              by_torch, outputs=names, whole=names)


@formula("ImplicitGemm", "IndiceConv")
def sparse_convolution(numbers):
    indices, channels = _surfaces(numbers, _GRID, 40000), 64
    table = _pairs_of(torch.from_numpy(indices).long(), _GRID).numpy()
    masks = np.bitwise_or.reduce(np.where(table >= 0, 1 << np.arange(27)[:, None], 0), 0).astype(np.int32)
    order = np.argsort(masks, kind="stable")
    inputs = {"features": numbers.normal(len(indices), channels), "filters": numbers.normal(channels, 3, 3, 3, channels) / 16,
              "pair_fwd": table, "pair_mask": masks[order][:, None], "mask_argsort": order.astype(np.int32)}

    def by_torch(features, filters, pair_fwd, **_):
        y = torch.zeros(len(features), len(filters))
        for row, weights in zip(pair_fwd, filters.flatten(1, 3).unbind(1)):
            to = (row >= 0).nonzero()[:, 0]
            y.index_add_(0, to, features[row[to].long()] @ weights.T)
        return y

    return of("ImplicitGemm", inputs, {"act_type": 0, "act_alpha": 0.0, "act_beta": 0.0, "is_subm": 1, "is_train": 0,
                                       "output_add_scale": 0.0, "output_scale": 1.0}, by_torch)


@formula("QuickCumsumCuda")
def bev_pool_of_points(numbers):
    cells, points, channels = 360 * 360, 100000, 80
    cell = np.sort(numbers.state.randint(0, cells, points))
    starts = np.flatnonzero(np.diff(cell, prepend=-1))
    sites = np.stack([cell // 360, cell % 360, 0 * cell, 0 * cell], 1)
    inputs = {"x": numbers.normal(points, channels), "geom_feats": sites.astype(np.int32),
              "interval_lengths": np.diff(starts, append=points).astype(np.int32), "interval_starts": starts.astype(np.int32)}

    def by_torch(x, geom_feats, **_):
        rows = geom_feats[:, 0].long() * 360 + geom_feats[:, 1]
        return torch.zeros(cells, channels).index_add_(0, rows, x).reshape(1, 1, 360, 360, channels)

    return of("QuickCumsumCuda", inputs, {"batch_size": 1, "dimension": 1, "height": 360, "width": 360}, by_torch)


@formula("MMCVFurthestPointSample")
def furthest_point_sample(numbers):
    def by_torch(points):
        nearest, last, chosen = torch.full((4096,), torch.inf), torch.tensor(0), []
        for _ in range(512):
            chosen.append(last)
            nearest = torch.minimum(nearest, (points[0] - points[0, last]).square().sum(1))
            last = nearest.argmax()
        return torch.stack(chosen)[None]

    return of("MMCVFurthestPointSample", {"points": numbers.normal(1, 4096, 3)}, {"num_points": 512}, by_torch,
              outputs=("indices",), whole=("indices",))


def _cloud(numbers):
    return {"features": numbers.normal(1, 64, 16384)}


@formula("MMCVThreeInterpolate")
def three_interpolate(numbers):
    inputs = {**_cloud(numbers), "indices": numbers.state.randint(0, 16384, (1, 4096, 3)).astype(np.int32),
              "weights": numbers.uniform(1, 4096, 3)}
    return of("MMCVThreeInterpolate", inputs, {},
              lambda features, indices, weights: (features[0][:, indices[0]] * weights[0]).sum(-1)[None])


@formula("MMCVGroupPoints")
def group_points(numbers):
    inputs = {**_cloud(numbers), "indices": numbers.state.randint(0, 16384, (1, 1024, 16)).astype(np.int32)}
    return of("MMCVGroupPoints", inputs, {}, lambda features, indices: features[0][:, indices[0]][None])


@formula("MMCVGatherPoints")
def gather_points(numbers):
    inputs = {**_cloud(numbers), "indices": numbers.state.randint(0, 16384, (1, 4096)).astype(np.int32)}
    return of("MMCVGatherPoints", inputs, {}, lambda features, indices: features[0][:, indices[0]][None])


@formula("PillarScatterPlugin")
def pillar_scatter(numbers):
    rows, columns, pillars = 496, 432, 12000
    places = numbers.state.permutation(rows * columns)[:pillars]
    coordinates = np.zeros((1, pillars, 4), np.int32)
    coordinates[0, :, 2], coordinates[0, :, 3] = places // columns, places % columns
    inputs = {"features": numbers.normal(1, pillars, 64), "coordinates": coordinates, "num_pillars": np.int32([pillars])}

    def by_torch(features, coordinates, num_pillars):
        y = torch.zeros(64, rows, columns)
        y[:, coordinates[0, :, 2], coordinates[0, :, 3]] = features[0].T
        return y[None]

    return of("PillarScatterPlugin", inputs, {"dense_shape": [rows, columns]}, by_torch)


def _squares(a, b):
    return (a[:, :, None] - b[:, None]).square().sum(-1)


def _distances(a, b, indices):
    """Of points b from their a, which tells alike neighbours of nearly one distance."""
    return np.linalg.norm(b[0][indices[0]] - a[0][:, None], axis=-1)


@formula("MMCVKNN")
def nearest_neighbours(numbers):
    points, centers = numbers.normal(1, 4096, 3), numbers.normal(1, 1024, 3)
    return of("MMCVKNN", {"points": points, "centers": centers}, {"k": 16},
              lambda points, centers: _squares(centers, points).topk(16, largest=False).indices.transpose(1, 2),
              outputs=("indices",), whole=("indices",),
              comparable=lambda outputs: {"distances": _distances(centers, points, outputs["indices"].transpose(0, 2, 1))})


@formula("MMCVThreeNN")
def three_neighbours(numbers):
    target, source = numbers.normal(1, 4096, 3), numbers.normal(1, 1024, 3)

    def by_torch(target, source):
        found = _squares(target, source).topk(3, largest=False)
        return found.values.sqrt(), found.indices

    return of("MMCVThreeNN", {"target": target, "source": source}, {}, by_torch, outputs=("distances", "indices"),
              comparable=lambda outputs: {"distances": outputs["distances"],
                                          "places": _distances(target, source, outputs["indices"])})


@formula("MMCVBallQuery")
def ball_query(numbers):
    points, centers = numbers.uniform(1, 4096, 3), numbers.uniform(1, 1024, 3)

    def by_torch(points, centers):
        near = _squares(centers, points) < 0.04
        order = torch.where(near, torch.arange(4096), 4096).topk(16, largest=False, sorted=True).values
        order = torch.where(order == 4096, order[..., :1], order)
        return torch.where(order == 4096, 0, order)

    return of("MMCVBallQuery", {"points": points, "centers": centers}, {"min_radius": 0.0, "max_radius": 0.2, "sample_num": 16}, by_torch,
              outputs=("indices",), whole=("indices",))


@formula("MMCVPointsInBoxesPart", "MMCVPointsInBoxesAll")
def points_in_boxes(numbers):
    boxes = np.concatenate([numbers.uniform(1, 64, 3) * 40, numbers.uniform(1, 64, 3) * 6, numbers.normal(1, 64, 1)], 2)

    def by_torch(points, boxes):
        d = points[:, :, None] - boxes[:, None, :, :3]
        cosine, sine = boxes[:, None, :, 6].cos(), boxes[:, None, :, 6].sin()
        along, across = d[..., 0] * cosine + d[..., 1] * sine, d[..., 1] * cosine - d[..., 0] * sine
        half = boxes[:, None, :, 3:6] / 2
        inside = (along.abs() < half[..., 0]) & (across.abs() < half[..., 1]) & ((d[..., 2] - half[..., 2]).abs() <= half[..., 2])
        return torch.where(inside.any(2), inside.int().argmax(2), -1)

    return of("MMCVPointsInBoxesPart", {"points": numbers.uniform(1, 16384, 3) * 40, "boxes": boxes}, {}, by_torch,
              outputs=("indices",))
