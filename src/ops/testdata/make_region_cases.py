"""Writes the cases of regions, deformable convolution, places of maxima and determinants, as ONNX
Runtime computes them.

Run: python src/ops/testdata/make_region_cases.py   (needs numpy, onnx, onnxruntime)
"""
import numpy as np
from onnx.reference.ops.op_deform_conv import _deform_conv_implementation

from cases import case, floats, integers, onnx_run, write


def roi_cases():
    x = floats(2, 3, 7, 9)
    regions = np.float32([[0, 0, 8, 6], [1.5, 2.25, 4.75, 5.5], [-3, -2, 5, 4], [6, 5, 30, 20],
                          [4, 4, 3, 3], [20, 20, 25, 25]])
    batches = np.array([0, 1, 1, 0, 1, 0], np.int64)
    for mode in ("avg", "max"):
        for half_pixel in (True, False):
            for ratio, scale in ((0, 1.0), (2, 0.5), (3, 2.0)):
                y = onnx_run("RoiAlign", [x, regions, batches], opset=16, mode=mode,
                             output_height=3, output_width=2, sampling_ratio=ratio,
                             spatial_scale=scale, coordinate_transformation_mode="half_pixel"
                             if half_pixel else "output_half_pixel")
                case("roi_align", "RoiAlign", f"{mode} {half_pixel} {ratio} {scale}",
                     {"height": 3, "width": 2, "spatial_scale": scale, "sampling_ratio": ratio,
                      "half_pixel": half_pixel, "takes_maximum": mode == "max"},
                     [x, regions, batches], y, tolerance=4)
    case("roi_align", "RoiAlign", "no regions", {"height": 2, "width": 2},
         [x, regions[:0], batches[:0].astype(np.int32)], np.zeros((0, 3, 2, 2), np.float32))
    numbered = np.concatenate([batches[:, None].astype(np.float32), regions], 1)
    for scale in (1.0, 0.5):
        y = onnx_run("MaxRoiPool", [x, numbered], pooled_shape=[3, 2], spatial_scale=scale)
        case("max_roi_pool", "MaxRoiPool", f"scale {scale}",
             {"height": 3, "width": 2, "spatial_scale": scale}, [x, numbered], y)


def deformable_cases():
    def add(name, x, kernel, bias=False, mask=False, groups=1, offset_groups=1, stride=(1, 1),
            dilation=(1, 1), pads=(0, 0, 0, 0)):
        height = (x.shape[2] + pads[0] + pads[2] - dilation[0] * (kernel.shape[2] - 1) - 1) // stride[0] + 1
        width = (x.shape[3] + pads[1] + pads[3] - dilation[1] * (kernel.shape[3] - 1) - 1) // stride[1] + 1
        taps = offset_groups * kernel.shape[2] * kernel.shape[3]
        offsets = floats(x.shape[0], 2 * taps, height, width, low=-2, high=2)
        inputs = [x, kernel, offsets, floats(kernel.shape[0]) if bias else None,
                  floats(x.shape[0], taps, height, width, low=0, high=1) if mask else None]
        y = _deform_conv_implementation(*inputs, list(dilation), groups, None, offset_groups,
                                        list(pads), list(stride))
        while inputs[-1] is None:
            inputs.pop()
        case("deformable_convolution", "DeformableConvolution", name,
             {"stride": list(stride), "dilation": list(dilation), "pre_padding": list(pads[:2]),
              "post_padding": list(pads[2:]), "groups": groups, "offset_groups": offset_groups},
             inputs, y.astype(np.float32), tolerance=32, static=True)

    x = floats(2, 4, 6, 5)
    add("plain", x, floats(3, 4, 3, 3))
    add("bias and mask", x, floats(3, 4, 2, 3), bias=True, mask=True, pads=(1, 1, 0, 1))
    add("mask alone", x, floats(2, 4, 2, 2), mask=True, stride=(2, 1))
    add("groups", x, floats(6, 2, 2, 2), bias=True, groups=2, dilation=(2, 1))
    add("offset groups", x, floats(2, 4, 3, 3), mask=True, offset_groups=2, pads=(1, 1, 1, 1))
    add("more than a block", floats(1, 2, 11, 13), floats(2, 2, 3, 3), pads=(1, 1, 1, 1))


def places_cases():
    for name, shape, kernel, more in (
            ("plane", (2, 3, 6, 7), [2, 3], {"strides": [2, 1]}),
            ("padded", (1, 2, 5, 5), [3, 3], {"pads": [1, 0, 1, 2]}),
            ("dilated", (1, 1, 7, 7), [2, 2], {"dilations": [2, 3]}),
            ("rounded up", (1, 1, 6, 5), [3, 2], {"strides": [2, 2], "ceil_mode": 1}),
            ("volume", (1, 2, 4, 5, 3), [2, 2, 2], {"strides": [1, 2, 1]})):
        axes = len(kernel)
        x = np.round(floats(*shape))  # many are equal
        for order in (0, 1):
            y, places = onnx_run("MaxPool", [x], outputs=2, kernel_shape=kernel, storage_order=order,
                                 **more)
            pads = more.get("pads", [0] * (2 * axes))
            case("pooling_indices", "Pooling", f"{name} {order}",
                 {"type": 0, "window": kernel, "stride": more.get("strides", [1] * axes),
                  "pre_padding": pads[:axes], "post_padding": pads[axes:],
                  "dilation": more.get("dilations", [1] * axes), "places": order + 1,
                  "padding_mode": more.get("ceil_mode", 0)}, [x], [y, places])
    x = floats(1, 2, 5, 5)
    case("pooling_indices", "Pooling", "average over all taps",
         {"type": 1, "window": [3, 3], "stride": [2, 2], "pre_padding": [1, 1],
          "post_padding": [1, 1], "average_excludes_padding": False, "average_counts_all": True},
         [x], onnx_run("AveragePool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1],
                       count_include_pad=1))
    for shape, kernel, strides, pads in (((2, 2, 4, 4), [2, 2], [2, 2], [0] * 4),
                                         ((1, 2, 6), [3], [2], [0, 1]),
                                         ((1, 1, 4, 4, 4), [2, 2, 2], [2, 2, 2], [0] * 6)):
        x = np.unique(floats(4096, low=-100, high=100))[:int(np.prod(shape))].reshape(shape)
        y, places = onnx_run("MaxPool", [x], outputs=2, kernel_shape=kernel, strides=strides,
                             pads=pads)
        back = onnx_run("MaxUnpool", [y, places], kernel_shape=kernel, strides=strides, pads=pads)
        axes = len(kernel)
        case("max_unpool", "MaxUnpool", str(shape),
             {"window": kernel, "stride": strides, "pre_padding": pads[:axes],
              "post_padding": pads[axes:]}, [y, places], back)


def determinant_cases():
    for shape in ((3, 3), (2, 3, 4, 4), (5, 1, 1), (0, 2, 2), (1, 0, 0)):
        x = floats(*shape)
        case("determinant", "Determinant", str(shape), {}, [x],
             np.linalg.det(x.astype(np.float64)).astype(np.float32), tolerance=4)
    singular = np.float32([[0, 1, 2], [0, 3, 4], [0, 5, 6]])
    case("determinant", "Determinant", "singular", {}, [singular], np.float32(0))
    swapped = np.float32([[0, 2], [3, 0]])
    case("determinant", "Determinant", "half", {}, [swapped.astype(np.float16)], np.float16(-6))


for make in (roi_cases, deformable_cases, places_cases, determinant_cases):
    make()
write()
