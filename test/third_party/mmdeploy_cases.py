"""Writes larger inputs for MMDeploy's plugins, as cpu.py takes them: detectors' sizes, and no expected values.

    mmdeploy_cases.py FILE
"""
import json
import pathlib
import sys

import numpy

generator = numpy.random.default_rng(0)
CASES = []


def normal(*shape):
    return generator.standard_normal(shape, dtype=numpy.float32)


def uniform(low, high, *shape):
    return generator.uniform(low, high, shape).astype(numpy.float32)


def tensor(index, value):
    kind = "T" if value.dtype == numpy.float32 else str(value.dtype)
    return {"name": f"x{index}", "type": kind, "dims": list(value.shape), "values": value.flatten().tolist()}


def add(plugin, name, attributes, inputs, *outputs):
    """Outputs are shapes, or shapes with a type."""
    CASES.append({
        "plugin": plugin, "name": f"large: {name}", "attributes": attributes, "tolerance": [0, 0],
        "inputs": [tensor(index, value) for index, value in enumerate(inputs)],
        "outputs": [{"name": f"y{index}", "type": "int32" if output[-1:] == ("int32",) else "T",
                     "dims": [extent for extent in output if extent != "int32"]}
                    for index, output in enumerate(outputs)]})


def boxes(count, height, width):
    """Boxes (x1, y1, x2, y2) within a picture."""
    corners = uniform(0, 1, count, 2) * (0.8 * width, 0.8 * height)
    sizes = uniform(4, 0.5 * min(height, width), count, 2)
    return numpy.concatenate([corners, corners + sizes], 1).astype(numpy.float32)


def images(count):
    return numpy.arange(count, dtype=numpy.float32)[:, None] % 2


add("GatherTopk", "boxes", {}, [normal(2, 1000, 4), generator.integers(0, 1000, (2, 300), dtype=numpy.int32)],
    (2, 300, 4))
add("GridPriorsTRT", "a level", {"stride_h": 8, "stride_w": 8},
    [normal(9, 4), numpy.zeros(50, numpy.int32), numpy.zeros(76, numpy.int32)], (50 * 76 * 9, 4))
for mode, name in enumerate(["bilinear", "nearest"]):
    for padding, what in enumerate(["zeros", "border", "reflection"]):
        add("grid_sampler", f"{name}, {what}",
            {"interpolation_mode": mode, "padding_mode": padding, "align_corners": 0},
            [normal(2, 8, 40, 60), uniform(-1.2, 1.2, 2, 50, 70, 2)], (2, 8, 50, 70))

for size, stride, groups in [((25, 38), 1, 1), ((24, 38), 2, 2)]:
    out = ((size[0] + 2 - 3) // stride + 1, (size[1] + 2 - 3) // stride + 1)
    attributes = {"stride": [stride, stride], "padding": [1, 1], "dilation": [1, 1], "groups": groups,
                  "deform_groups": groups}
    x, offset = normal(2, 16, *size), normal(2, 18 * groups, *out)
    weight = normal(16, 16 // groups, 3, 3) / 12
    add("MMCVDeformConv2d", f"stride {stride}", attributes, [x, offset, weight], (2, 16, *out))
    add("MMCVModulatedDeformConv2d", f"stride {stride}", attributes,
        [x, offset, uniform(0, 1, 2, 9 * groups, *out), weight, normal(16)], (2, 16, *out))

levels = [normal(2, 8, 160 // 2 ** level, 240 // 2 ** level) for level in range(1, 5)]
levelled = {"featmap_strides": [4.0, 8.0, 16.0, 32.0], "output_height": 7, "output_width": 7, "sampling_ratio": 2,
            "roi_scale_factor": -1.0, "finest_scale": 56, "aligned": 1}
rois = numpy.concatenate([images(100), boxes(100, 320, 480)], 1)
add("MMCVMultiLevelRoiAlign", "a hundred regions", levelled | {"pool_mode": 1}, [rois, *levels], (100, 8, 7, 7))
turned = numpy.concatenate([images(100), uniform(40, 280, 100, 2), uniform(8, 200, 100, 2), uniform(-3, 3, 100, 1)], 1)
add("MMCVMultiLevelRotatedRoiAlign", "a hundred regions", levelled | {"clockwise": 0}, [turned, *levels],
    (100, 8, 7, 7))
for mode in ["avg", "max"]:
    add("MMCVRoiAlign", mode, {"output_height": 7, "output_width": 7, "spatial_scale": 0.25, "sampling_ratio": 2,
                               "mode": mode, "aligned": 1}, [levels[0], rois], (100, 8, 7, 7))

shapes = numpy.array([[40, 60], [20, 30], [10, 15], [5, 8]], numpy.int32)
areas = shapes.prod(1)
weights = uniform(0, 1, 2, 100, 8, 4, 4)
add("MMCVMultiScaleDeformableAttention", "four levels", {},
    [normal(2, int(areas.sum()), 8, 16), shapes, (numpy.cumsum(areas) - areas).astype(numpy.int32),
     uniform(-0.1, 1.1, 2, 100, 8, 4, 4, 2), weights / weights.sum((-1, -2), keepdims=True)], (2, 100, 128))
add("ScaledDotProductAttentionTRT", "a hundred queries", {},
    [normal(16, 100, 32), normal(16, 120, 32), normal(16, 120, 32)], (16, 100, 32), (16, 100, 120))

suppression = {"background_label_id": -1, "num_classes": 8, "topk": 200, "keep_topk": 100, "score_threshold": 0.05,
               "iou_threshold": 0.5, "is_normalized": 0, "clip_boxes": 0}
add("TRTBatchedNMS", "a thousand boxes", suppression,
    [boxes(1000, 320, 480).reshape(1, 1000, 1, 4), uniform(0, 1, 1, 1000, 8)], (1, 100, 5), (1, 100, "int32"))
add("TRTBatchedRotatedNMS", "three hundred boxes", suppression | {"topk": 100},
    [turned[:, 1:].reshape(1, 100, 1, 5).repeat(3, 1) + normal(1, 300, 1, 5), uniform(0, 1, 1, 300, 8)],
    (1, 100, 6), (1, 100, "int32"))
add("TRTBicubicInterpolate", "twice", {"scale_factor": [2.0, 2.0], "align_corners": 0}, [normal(1, 8, 40, 60)],
    (1, 8, 80, 120))
add("TRTInstanceNormalization", "a level", {}, [normal(2, 16, 50, 76), normal(16), normal(16)], (2, 16, 50, 76))
for case in CASES:
    if case["plugin"] == "TRTInstanceNormalization":  # takes no fp16 for its scales
        for one in case["inputs"][1:]:
            one["type"] = "float32"
pathlib.Path(sys.argv[1]).write_text(json.dumps(CASES))
