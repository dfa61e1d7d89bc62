"""Writes cases.json: each region read from its level by torchvision's roi_align (averages of upright
regions) or by a few lines of NumPy (maxima and turned regions, which torchvision does not have).

Needs NumPy, PyTorch and torchvision.
"""
import pathlib
import sys

import numpy
import torch
import torchvision

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402
from samples import pooled  # noqa: E402


def add(name, seed, rois, extents, strides, size=(2, 3), mode="avg", ratio=2, factor=-1.0, finest=8,
        aligned=1, channels=2, batch=2, clockwise=None, attributes=None):
    random = numpy.random.RandomState(seed)
    # Multiples of 1/16 within 2, so that fp16 holds them exactly.
    maps = [(random.randint(-32, 33, (batch, channels, *e)) / 16).astype("float32") for e in extents]
    turned = clockwise is not None
    rois = numpy.array(rois, "float32").reshape(-1, 6 if turned else 5)
    results = [numpy.zeros((0, channels, *size), "float32")]
    for roi in rois:
        centre = roi if turned else [roi[0], (roi[1] + roi[3]) / 2, (roi[2] + roi[4]) / 2,
                                     roi[3] - roi[1], roi[4] - roi[2]]
        level = numpy.floor(numpy.log2(numpy.sqrt(centre[3] * centre[4]) / finest + 1e-6))
        level = int(numpy.clip(level, 0, len(maps) - 1))
        grow = factor if factor > 0 else 1
        scaled = [*centre[:3], centre[3] * grow, centre[4] * grow]
        scale, x = 1 / strides[level], maps[level]
        if turned:
            angle = -roi[5] if clockwise else roi[5]
            y = pooled(x, scaled, size, scale, ratio, aligned, angle, numpy.mean)
        elif mode == "max":
            y = pooled(x, scaled, size, scale, ratio, aligned, None, max)
        else:
            _, cx, cy, w, h = scaled
            corners = torch.tensor([[roi[0], cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2]])
            y = torchvision.ops.roi_align(torch.from_numpy(x), corners.float(), size, scale, ratio,
                                          bool(aligned)).numpy()[0]
        results.append(y[None])
    y = numpy.concatenate(results).astype("float32")
    tensors = {"rois": rois, **{f"feat{i}": m for i, m in enumerate(maps)}}, {"roi_feats": y}
    levels = {"featmap_strides": [float(s) for s in strides]}
    plugin = "MMCVMultiLevelRotatedRoiAlign" if turned else "MMCVMultiLevelRoiAlign"
    if attributes is None:
        attributes = {"output_height": size[0], "output_width": size[1], "sampling_ratio": ratio,
                      "roi_scale_factor": factor, "finest_scale": finest, "aligned": aligned,
                      **({"clockwise": int(clockwise)} if turned else
                         {"pool_mode": 1 if mode == "avg" else 0})}
    case(plugin, name, {**levels, **attributes}, *tensors)
    if not turned and mode == "avg" and size[0] == size[1]:
        case("RoiExtractorPluginDynamic", name,
             {**levels, "out_size": size[0], "sample_num": ratio, "roi_scale_factor": factor, "finest_scale": finest,
              "aligned": aligned}, *tensors)


EXTENTS, STRIDES = [(10, 12), (5, 6), (3, 3)], [2, 4, 8]
# Of the first, second and third level; exactly on a border of levels; beyond the last one; flat.
ROIS = [[0, 1, 2, 6, 7], [1, 2, 1, 18.5, 14], [0, 0, 0, 23, 40], [1, -2, -3, 14, 13], [1, -9, -9, 120, 90],
        [0, 5, 5, 5, 9]]
add("average", 1, ROIS, EXTENTS, STRIDES)
add("average, as many samples as elements", 2, ROIS, EXTENTS, STRIDES, (2, 2), ratio=0, aligned=0)
add("maximum", 3, ROIS, EXTENTS, STRIDES, mode="max", aligned=0)
add("scaled", 4, ROIS, EXTENTS, STRIDES, (2, 2), factor=1.25)
add("maximum, scaled", 5, ROIS, EXTENTS, STRIDES, (2, 1), mode="max", factor=0.75)
add("one level", 6, ROIS[:2], [(4, 5)], [4], (1, 1))
add("no rois", 7, [], EXTENTS, STRIDES)
add("defaults", 8, [[0, 0, 0, 9, 8]], [(3, 3), (2, 2)], [4, 8], (7, 7), "max", finest=56, aligned=0,
    channels=1, batch=1, attributes={})
TURNED = [[0, 4, 5, 6, 4, 0.5], [1, 10, 8, 16, 13, -1.25], [0, 11, 20, 25, 38, 2.5], [1, 6, 6, 8, 8, 0],
          [0, 5, 5, 60, 3, 1.5]]
for number, clockwise in enumerate((0, 1)):
    suffix = ", clockwise" if clockwise else ""
    add("turned" + suffix, 20 + number, TURNED, EXTENTS, STRIDES, clockwise=clockwise)
add("turned, as many samples as elements", 22, TURNED, EXTENTS, STRIDES, (2, 2), ratio=0, aligned=0,
    clockwise=0)
add("turned, scaled", 23, TURNED, EXTENTS, STRIDES, (1, 2), factor=1.5, clockwise=0)
add("turned, many samples", 24, [[0, 4, 4, 8, 8, 0.75]], [(5, 5)], [2], (1, 1), ratio=20, clockwise=0)
add("turned, far larger than its map", 27, [[1, 10, 12, 700, 500, 0.5]], [(6, 7)], [2], (1, 2), ratio=0,
    channels=1, clockwise=0)
add("turned, no rois", 25, [], EXTENTS, STRIDES, clockwise=0)
add("turned, defaults", 26, [[0, 4, 3, 9, 8, 0.25]], [(3, 3)], [4], (7, 7), finest=56, aligned=0,
    channels=1, batch=1, clockwise=0, attributes={})
write(__file__)
