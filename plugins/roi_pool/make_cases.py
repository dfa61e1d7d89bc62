"""Writes cases.json: pooled regions by their definitions: maxima of elements, means of samples, and integrals of the
bilinear surface, which a rule of midpoints gives exactly. Needs NumPy."""
import math
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402
from samples import sample  # noqa: E402


def image(state, *shape):
    # Multiples of 1/16 within 2, so that fp16 holds them exactly.
    return state.randint(-32, 33, shape).astype("float32") / 16


def roi_pool(name, rois, extents, strides, size, attributes=None, factor=-1.0, finest=8, channels=2, batch=2):
    """mmdet's SingleRoIExtractor with mmcv's RoIPool."""
    state = numpy.random.RandomState(len(name))
    maps = [image(state, batch, channels, *e) for e in extents]
    rois = numpy.array(rois, "float32").reshape(-1, 5)
    y = numpy.zeros((len(rois), channels, size, size), "float32")
    for r, (n, *corners) in enumerate(rois):
        low, high = numpy.array(corners[:2]), numpy.array(corners[2:])
        level = math.floor(math.log2(math.sqrt(numpy.prod(high - low)) / finest + 1e-6)) if (high > low).all() else 0
        level = min(max(level, 0), len(maps) - 1)
        middle, half = (low + high) / 2, (high - low) / 2 * (factor if factor > 0 else 1)
        low, high = (middle - half) / strides[level], (middle + half + 1) / strides[level]
        if not (high > low).all():
            continue
        plane = maps[level][int(n)]
        for i, j in numpy.ndindex(size, size):
            ranges = []
            for bin, axis, extent in ((i, 1, plane.shape[1]), (j, 0, plane.shape[2])):
                step = (high[axis] - low[axis]) / size
                ranges.append(slice(max(math.floor(low[axis] + step * bin), 0),
                                    max(min(math.ceil(low[axis] + step * (bin + 1)), extent), 0)))
            part = plane[:, ranges[0], ranges[1]].reshape(channels, -1)
            y[r, :, i, j] = part.max(1) if part.size else 0
    if attributes is None:
        attributes = {"out_size": size, "roi_scale_factor": factor, "finest_scale": finest}
    case("RoiPoolPluginDynamic", name, {"featmap_strides": [float(s) for s in strides], **attributes},
         {"rois": rois, **{f"feat{i}": m for i, m in enumerate(maps)}}, {"roi_feats": y})


EXTENTS, STRIDES = [(10, 12), (5, 6), (3, 3)], [2, 4, 8]
ROIS = [[0, 1, 2, 6, 7], [1, 2, 1, 18.5, 14], [0, 0, 0, 23, 40], [1, -2, -3, 14, 13], [1, -9, -9, 120, 90],
        [0, 5, 5, 5, 9], [0, 100, 100, 110, 109]]
roi_pool("three levels", ROIS, EXTENTS, STRIDES, 2)
roi_pool("scaled", ROIS, EXTENTS, STRIDES, 3, factor=1.25)
roi_pool("one level", ROIS[:2], [(4, 5)], [4], 1)
roi_pool("no rois", [], EXTENTS, STRIDES, 2)
roi_pool("defaults", [[0, 0, 0, 9, 8]], [(3, 3)], [4], 7, {}, finest=56, channels=1, batch=1)


def deform_roi_pool(name, rois, size, scale, ratio, gamma, has_offset=True, channels=2, batch=2, defaults=False):
    """mmcv's DeformRoIPool."""
    state = numpy.random.RandomState(len(name))
    x = image(state, batch, channels, 6, 7)
    rois = numpy.array(rois, "float32").reshape(-1, 5)
    offset = image(state, len(rois), 2, *size)
    y = numpy.zeros((len(rois), channels, *size), "float32")
    for r, (n, *corners) in enumerate(rois):
        x1, y1, x2, y2 = numpy.array(corners) * scale - 0.5
        steps = (y2 - y1) / size[0], (x2 - x1) / size[1]
        counts = [ratio or max(math.ceil(step), 0) for step in steps]
        for c, i, j in numpy.ndindex(channels, *size):
            down = gamma * (y2 - y1) * offset[r, 1, i, j] if has_offset else 0
            right = gamma * (x2 - x1) * offset[r, 0, i, j] if has_offset else 0
            values = [sample(x[int(n), c], y1 + down + (i + (a + 0.5) / counts[0]) * steps[0],
                             x1 + right + (j + (b + 0.5) / counts[1]) * steps[1]) for a, b in numpy.ndindex(*counts)]
            y[r, c, i, j] = numpy.mean(values) if values else 0
    inputs = {"input": x, "rois": rois, **({"offset": offset} if has_offset else {})}
    common = {"spatial_scale": scale, "gamma": gamma}
    case("DeformablePoolPluginDynamic", name,
         {} if defaults else {"out_size": list(size), "sampling_ratio": ratio, **common}, inputs, {"output": y})
    case("MMCVDeformRoIPool", name,
         {} if defaults else {"pooled_height": size[0], "pooled_width": size[1], "sampling_ratio": float(ratio), **common},
         inputs, {"output": y})


REGIONS = [[0, 1, 2, 6, 7], [1, -3, -2, 9, 8], [0, 4, 4, 4.5, 5], [1, 20, 20, 30, 28]]
deform_roi_pool("two samples", REGIONS, (2, 3), 0.5, 2, 0.125)
deform_roi_pool("as many samples as elements", REGIONS, (2, 2), 1.0, 0, 0.5)
deform_roi_pool("no offset", REGIONS, (3, 2), 1.0, 2, 0.1, False)
deform_roi_pool("no rois", [], (2, 2), 1.0, 2, 0.1)
deform_roi_pool("defaults", REGIONS[:1], (7, 7), 1.0, 0, 0.1, defaults=True)


def integral(plane, low, high):
    """Of the bilinear surface, which is 0 a step outside of the elements."""
    padded = numpy.pad(plane, 1)

    def at(y, x):
        y, x = y + 1, x + 1
        if not (0 <= y <= padded.shape[0] - 1 and 0 <= x <= padded.shape[1] - 1):
            return 0.0
        i, j = min(int(y), padded.shape[0] - 2), min(int(x), padded.shape[1] - 2)
        y, x = y - i, x - j
        return ((padded[i, j] * (1 - x) + padded[i, j + 1] * x) * (1 - y)
                + (padded[i + 1, j] * (1 - x) + padded[i + 1, j + 1] * x) * y)

    cuts = [numpy.unique([a, *[k for k in range(math.floor(a), math.ceil(b) + 1) if a < k < b], b])
            for a, b in zip(low, high)]
    return sum((y2 - y1) * (x2 - x1) * at((y1 + y2) / 2, (x1 + x2) / 2)
               for y1, y2 in zip(cuts[0], cuts[0][1:]) for x1, x2 in zip(cuts[1], cuts[1][1:]))


def prroi_pool(name, rois, size, scale, channels=2, batch=2, defaults=False):
    state = numpy.random.RandomState(len(name))
    x = image(state, batch, channels, 6, 7)
    rois = numpy.array(rois, "float32").reshape(-1, 5)
    y = numpy.zeros((len(rois), channels, *size), "float32")
    for r, (n, *corners) in enumerate(rois):
        x1, y1, x2, y2 = numpy.array(corners, "float64") * scale
        steps = (y2 - y1) / size[0], (x2 - x1) / size[1]
        if min(steps) <= 0:
            continue
        for c, i, j in numpy.ndindex(channels, *size):
            low = y1 + i * steps[0], x1 + j * steps[1]
            high = low[0] + steps[0], low[1] + steps[1]
            y[r, c, i, j] = integral(x[int(n), c], low, high) / (steps[0] * steps[1])
    attributes = {} if defaults else {"pooled_height": size[0], "pooled_width": size[1], "spatial_scale": scale}
    case("PrRoIPool", name, attributes, {"features": x, "rois": rois}, {"output": y}, tolerance=(2e-5, 2e-3))


prroi_pool("bins of several elements", REGIONS, (2, 3), 1.0)
prroi_pool("bins of parts of elements", REGIONS, (3, 3), 0.25)
prroi_pool("without an area", [[0, 3, 3, 3, 5], [1, 4, 4, 2, 2]], (2, 2), 1.0)
prroi_pool("no rois", [], (2, 2), 1.0)
prroi_pool("defaults", REGIONS[:1], (7, 7), 1.0, defaults=True)
write(__file__)
