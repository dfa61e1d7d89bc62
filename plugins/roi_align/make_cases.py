"""Writes cases.json: RoIAlign as torchvision (averages) and ONNX Runtime (maxima of weighted
neighbours) compute it; maxima of samples, which neither has, are a few lines of NumPy.

Needs NumPy, PyTorch, torchvision, onnx and ONNX Runtime.
"""
import pathlib
import sys

import numpy
import onnx
import onnxruntime
import torch
import torchvision

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402
from samples import pooled, sample  # noqa: E402


def map_of(shape, seed):
    # Multiples of 1/16 within 2, so that fp16 holds them exactly.
    return (numpy.random.RandomState(seed).randint(-32, 33, shape) / 16).astype("float32")


def average(x, rois, size, scale, ratio, aligned):
    return torchvision.ops.roi_align(torch.from_numpy(x), torch.from_numpy(rois), size, scale, ratio,
                                     aligned).numpy()


def maximum(x, rois, size, scale, ratio, aligned):
    y = numpy.zeros((len(rois), x.shape[1], *size), "float32")
    for r, (image, x1, y1, x2, y2) in enumerate(rois):
        offset = 0.5 if aligned else 0
        left, top = x1 * scale - offset, y1 * scale - offset
        width, height = x2 * scale - offset - left, y2 * scale - offset - top
        if not aligned:
            width, height = max(width, 1), max(height, 1)
        steps = (height / size[0], width / size[1])
        counts = [ratio or int(numpy.ceil(step)) for step in steps]
        for c in range(x.shape[1]):
            for i in range(size[0]):
                for j in range(size[1]):
                    samples = [sample(x[int(image), c],
                                      top + (i + (k + 0.5) / counts[0]) * steps[0],
                                      left + (j + (m + 0.5) / counts[1]) * steps[1])
                               for k in range(counts[0]) for m in range(counts[1])]
                    y[r, c, i, j] = max(samples, default=0)
    return y


def onnx_runtime(x, rois, images, **attributes):
    tensor = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("RoiAlign", ["x", "rois", "images"], ["y"], **attributes)], "g",
        [tensor("x", onnx.TensorProto.FLOAT, x.shape), tensor("rois", onnx.TensorProto.FLOAT, rois.shape),
         tensor("images", onnx.TensorProto.INT64, images.shape)],
        [tensor("y", onnx.TensorProto.FLOAT, None)])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 16)], ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return session.run(None, {"x": x, "rois": rois, "images": images.astype("int64")})[0]


def rois_of(rows):
    return numpy.array(rows, "float32").reshape(-1, 5)


INSIDE = rois_of([[0, 1, 2, 9, 7.5], [1, 0, 0, 13.5, 10], [1, 5.25, 3.75, 6.5, 5]])
OUTSIDE = rois_of([[0, -6, -5, 4, 3], [0, 8, 6, 30, 25], [0, 40, 40, 50, 60], [0, -3, 2, 20, 4.5]])
FLAT = rois_of([[0, 4, 4, 4, 4], [0, 3, 3, 3.25, 9]])

for name in ("MMCVRoiAlign", "MMCVRoIAlign"):
    for what, rois, channels, size, scale, ratio, aligned, expected in [
            ("inside", INSIDE, 3, (3, 2), 1.0, 2, 1, average),
            ("as many samples as elements", INSIDE, 2, (2, 3), 1.0, 0, 1, average),
            ("scaled, not aligned", INSIDE, 2, (2, 2), 0.5, 2, 0, average),
            ("outside", OUTSIDE, 2, (3, 3), 1.0, 0, 1, average),
            ("without area", FLAT, 1, (2, 2), 1.0, 0, 1, average),
            ("without area, not aligned", FLAT, 1, (2, 2), 1.0, 0, 0, average),
            ("maximum", INSIDE, 3, (3, 2), 1.0, 2, 1, maximum),
            ("maximum, as many samples as elements", OUTSIDE, 2, (2, 3), 0.5, 0, 0, maximum),
            ("maximum without area", FLAT, 1, (2, 2), 1.0, 0, 1, maximum),
            ("no rois", rois_of([]), 2, (2, 2), 1.0, 2, 1, average)]:
        if name == "MMCVRoIAlign" and what not in ("inside", "maximum"):
            continue
        x = map_of((2, channels, 10, 13), 1)
        case(name, what, {"output_height": size[0], "output_width": size[1], "spatial_scale": scale,
                          "sampling_ratio": ratio,
                          "mode": "avg" if expected is average else "max", "aligned": aligned},
             {"input": x, "rois": rois}, {"output": expected(x, rois, size, scale, ratio, bool(aligned))})
x, rois = map_of((2, 1, 10, 13), 2), INSIDE[:2]
case("MMCVRoiAlign", "defaults", {"mode": "avg"}, {"input": x, "rois": rois},
     {"output": average(x, rois, 7, 1.0, 0, True)})
# More channels and bins than the kernel takes at a time, more samples than it holds.
x, rois = map_of((1, 261, 3, 3), 3), rois_of([[0, 0, 0, 2, 2.5]])
case("MMCVRoiAlign", "many channels", {"mode": "avg", "output_height": 1, "output_width": 2},
     {"input": x, "rois": rois}, {"output": average(x, rois, (1, 2), 1.0, 0, True)})
x, rois = map_of((1, 2, 5, 6), 4), rois_of([[0, 0, 0, 5.5, 4.5]])
case("MMCVRoiAlign", "many bins", {"mode": "avg", "output_height": 9, "output_width": 11},
     {"input": x, "rois": rois}, {"output": average(x, rois, (9, 11), 1.0, 0, True)})
x, rois = map_of((1, 1, 9, 90), 5), rois_of([[0, -300, -40, 400, 60], [0, 3, 1, 85, 8]])
for ratio in (0, 40):
    case("MMCVRoiAlign", f"many samples, ratio {ratio}",
         {"mode": "avg", "output_height": 1, "output_width": 2, "sampling_ratio": ratio},
         {"input": x, "rois": rois}, {"output": average(x, rois, (1, 2), 1.0, ratio, True)})

for version in ("1", "2"):
    for what, rois, size, scale, ratio, half_pixel, mode in [
            ("average", INSIDE, (3, 2), 1.0, 2, 1, 1), ("average, outside", OUTSIDE, (2, 2), 1.0, 0, 1, 1),
            ("average, no half pixel", INSIDE, (2, 2), 0.5, 0, 0, 1),
            ("maximum", INSIDE, (3, 2), 1.0, 2, 1, 0), ("maximum, no half pixel", FLAT, (2, 2), 0.5, 0, 0, 0)]:
        x, images = map_of((2, 2, 10, 13), 6), rois[:, 0].astype("int32")
        y = onnx_runtime(x, rois[:, 1:], images, output_height=size[0], output_width=size[1],
                         spatial_scale=scale, sampling_ratio=ratio, mode="avg" if mode else "max",
                         coordinate_transformation_mode="half_pixel" if half_pixel else "output_half_pixel")
        case("ROIAlign_TRT", what, {"coordinate_transformation_mode": half_pixel, "mode": mode,
                                    "output_height": size[0], "output_width": size[1],
                                    "sampling_ratio": ratio, "spatial_scale": scale},
             {"X": x, "rois": rois[:, 1:], "batch_indices": images}, {"Y": y}, version=version)
# Far larger than the map: most samples lie outside.
x, rois = map_of((1, 1, 7, 6), 6), rois_of([[0, -400, -300, 500, 400], [0, 2, 1, 900, 4]])
for mode, expected in (("avg", average), ("max", maximum)):
    case("MMCVRoiAlign", f"far larger than the map, {mode}",
         {"mode": mode, "output_height": 2, "output_width": 1}, {"input": x, "rois": rois},
         {"output": expected(x, rois, (2, 1), 1.0, 0, True)})

# MMCVRoIAlignRotated, row by row.
TURNED = numpy.array([[0, 6, 5, 7, 4, 0.5], [1, 2.5, 8, 9, 3, -1.25], [1, 7, 4, 5, 5, 0],
                      [0, 12, 9, 20, 6, 2.5]], "float32")
x = map_of((2, 2, 10, 13), 7)
for what, size, scale, ratio, aligned, clockwise in [
        ("turned", (2, 3), 1.0, 2, 1, 0), ("turned, clockwise", (3, 2), 0.5, 2, 1, 1),
        ("turned, not aligned, as many samples as elements", (2, 2), 0.25, 0, 0, 0), ("defaults", (7, 7), 1.0, 0, 1, 0)]:
    y = [pooled(x, roi, size, scale, ratio, aligned, -roi[5] if clockwise else roi[5], numpy.mean)
         for roi in TURNED]
    attributes = {"output_height": size[0], "output_width": size[1], "spatial_scale": scale,
                  "sampling_ratio": ratio, "aligned": aligned, "clockwise": clockwise}
    case("MMCVRoIAlignRotated", what, {} if what == "defaults" else attributes,
         {"input": x, "rois": TURNED}, {"output": numpy.stack(y)})
case("MMCVRoIAlignRotated", "no rois", {}, {"input": x, "rois": TURNED[:0]},
     {"output": numpy.zeros((0, 2, 7, 7), "float32")})
write(__file__)
