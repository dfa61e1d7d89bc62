"""Writes vision.json: operators of detectors, normalisation and pooling that ONNX's own node tests
leave out (16 bits, old opsets, more axes), as ONNX Runtime computes them.

Run: python src/import/testdata/make_vision_cases.py   (needs numpy, onnx, onnxruntime)
"""
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from node_cases import Constant, case, floats, integers, model_of, write


def standard(op, name, inputs, **more):
    case(op, name, inputs, domain="", **more)


def by_onnx(op, name, inputs, outputs=1, opset=21, **more):
    """What ONNX Runtime has no kernel for, by ONNX's reference implementation."""
    tolerance = more.pop("tolerance", 1e-5)
    static = more.pop("static", False)
    model, fed = model_of(op, inputs, [f"y{i}" for i in range(outputs)], "", opset, more)
    case(op, name, inputs, outputs, domain="", opset=opset, tolerance=tolerance, static=static,
         expected=ReferenceEvaluator(model).run(None, fed), **more)


half = np.float16

# Choice of boxes.
low = integers(2, 30, 2, low=0, high=9).astype(np.float32)
boxes = np.concatenate([low, low + integers(2, 30, 2, low=1, high=5)], -1).astype(np.float32)
scores = floats(2, 4, 30, low=0, high=1)
standard("NonMaxSuppression", "opset 10", [boxes, scores, np.array([3]), np.float32([0.3])], opset=10)
standard("NonMaxSuppression", "thresholds at run time",
         [boxes, scores, np.array([4]), np.float32([0.5]), np.float32([0.25])], opset=11)
standard("NonMaxSuppression", "constant thresholds",
         [boxes, scores, Constant(np.array([4])), Constant(np.float32([0.5])),
          Constant(np.float32([0.25]))], opset=13, center_point_box=1)
standard("NonMaxSuppression", "no limit given", [boxes, scores], opset=11)
standard("NonMaxSuppression", "score without overlap",
         [boxes, scores, np.array([4]), None, np.float32([0.25])], opset=11)

# Regions.
x = floats(2, 3, 6, 8)
regions = np.float32([[0, 0, 7, 5], [1.25, 2, 4.5, 5], [3, 3, 2, 2]])
batches = np.array([0, 1, 0])
standard("RoiAlign", "opset 10", [x, regions, batches], opset=10, output_height=2, output_width=3)
standard("RoiAlign", "opset 16", [x, regions, batches], opset=16, output_height=2, output_width=3,
         mode="max", sampling_ratio=2)
standard("MaxRoiPool", "", [x, np.concatenate([batches[:, None], regions], 1).astype(np.float32)],
         pooled_shape=[2, 2], spatial_scale=0.5)

# Normalisation.
vector = [floats(3), floats(3)]
standard("InstanceNormalization", "", [x, *vector], epsilon=0.25)
standard("InstanceNormalization", "one axis", [floats(2, 3, 5), *vector], opset=6)
for opset, size in ((18, 2), (21, 6)):
    by_onnx("GroupNormalization", f"opset {opset}", [floats(2, 6, 4), floats(size), floats(size)],
            opset=opset, num_groups=2, epsilon=0.125)
    by_onnx("GroupNormalization", f"one group, opset {opset}",
            [floats(2, 6, 4), floats(1 if opset == 18 else 6), floats(1 if opset == 18 else 6)],
            opset=opset, num_groups=1)
standard("LayerNormalization", "scale of one axis", [x, floats(8)], opset=17)
standard("LayerNormalization", "all outputs", [x, floats(6, 8), floats(6, 8)], outputs=3, opset=17,
         axis=2)
standard("LayerNormalization", "half", [x.astype(half), floats(8).astype(half), floats(8).astype(half)],
         opset=17, tolerance=4e-3)
by_onnx("RMSNormalization", "", [x, floats(6, 8)], opset=23, axis=-2)
standard("BatchNormalization", "opset 7", [x, *vector, floats(3), floats(3, low=0.5)], opset=7)
standard("BatchNormalization", "constants, opset 9",
         [x] + [Constant(v) for v in (*vector, floats(3), floats(3, low=0.5))], opset=9, epsilon=0.5)
standard("BatchNormalization", "per activation",
         [x, *(floats(3, 6, 8) for _ in range(3)), floats(3, 6, 8, low=0.5)], opset=7, spatial=0)
standard("MeanVarianceNormalization", "", [x], opset=13, axes=[1, 3], tolerance=1e-4)
standard("LRN", "", [floats(2, 7, 2, 2)], size=5, alpha=0.5, beta=0.6, bias=2.0)
standard("LpNormalization", "p 1", [x], p=1, axis=1)
standard("PRelu", "opset 9, one row", [x, floats(8)], opset=9)

# Sampling.
grid = floats(2, 4, 5, 2, low=-1, high=1)
standard("GridSample", "opset 16", [x, grid], opset=16, mode="bicubic", padding_mode="border")
standard("GridSample", "opset 20", [x, grid], opset=20, mode="linear", align_corners=1)
for corners in (0, 1):
    standard("AffineGrid", f"size at run time {corners}", [floats(2, 2, 3), np.array([2, 5, 3, 4])],
             opset=20, align_corners=corners, static=True)
    standard("AffineGrid", f"volume {corners}", [floats(1, 3, 4), np.array([1, 2, 3, 2, 4])],
             opset=20, align_corners=corners, static=True)
offsets = floats(2, 2 * 4, 5, 7)
by_onnx("DeformConv", "22", [x, Constant(floats(4, 3, 2, 2)), offsets], opset=22, kernel_shape=[2, 2],
        tolerance=1e-4, static=True)
by_onnx("DeformConv", "mask without bias", [x, floats(4, 3, 2, 2), offsets, None, floats(2, 4, 5, 7)],
        opset=19, kernel_shape=[2, 2], tolerance=1e-4, static=True)
for name, columns, image, block, more in (
        ("one axis", (2, 6, 4), [9], [3], {"strides": [2]}),
        ("rest behind the last block", (1, 8, 6), [6, 7], [2, 2], {"strides": [2, 3]}),
        ("dilated and padded", (1, 12, 16), [5, 6], [2, 3],
         {"dilations": [2, 1], "pads": [0, 0, 1, 0]})):
    by_onnx("Col2Im", name, [floats(*columns), Constant(np.array(image)), Constant(np.array(block))],
            opset=18, static=True, **more)

# Pooling.
standard("MaxPool", "places of one axis", [floats(2, 3, 9)], outputs=2, kernel_shape=[3], strides=[2],
         pads=[1, 1])
standard("MaxPool", "places in columns", [x], outputs=2, kernel_shape=[2, 3], storage_order=1)
standard("MaxPool", "uint8", [integers(1, 2, 5, 5, high=255, dtype=np.uint8)], kernel_shape=[2, 2])
standard("LpPool", "one axis", [floats(2, 3, 9)], kernel_shape=[3], p=1, opset=11)
standard("LpPool", "padded", [x], kernel_shape=[3, 2], pads=[1, 0, 1, 1], p=3, opset=11,
         tolerance=1e-4)
standard("LpPool", "same lower", [x], kernel_shape=[2, 3], auto_pad="SAME_LOWER", opset=18)
standard("LpPool", "rounded up", [x], kernel_shape=[2, 3], strides=[2, 2], ceil_mode=1, opset=18)
standard("GlobalLpPool", "p 1", [x], p=1)
standard("GlobalLpPool", "p 3", [x], p=3, tolerance=1e-4)
standard("GlobalMaxPool", "half", [x.astype(half)])
maxima = np.float32([[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]])
places = np.array([[[[5, 7], [13, 15]], [[21, 23], [29, 31]]]])
standard("MaxUnpool", "channels", [maxima, places], kernel_shape=[2, 2], strides=[2, 2], opset=11)
standard("Det", "", [floats(2, 3, 4, 4)], opset=11, tolerance=1e-4)

# Losses.
scores, classes = floats(2, 4, 3), integers(2, 3, high=3)
for reduction in ("none", "sum", "mean"):
    standard("SoftmaxCrossEntropyLoss", reduction, [scores, classes, floats(4, low=0.5)], outputs=2,
             reduction=reduction, ignore_index=1, opset=13)
    standard("NegativeLogLikelihoodLoss", reduction,
             [scores, np.where(classes == 1, -5, classes)], reduction=reduction, ignore_index=-5,
             opset=13)
standard("NegativeLogLikelihoodLoss", "int32, one axis", [floats(5, 4), integers(5, high=3, dtype=np.int32)],
         opset=13)

# Enlarging as old exporters wrote it.
standard("Upsample", "opset 7", [x], opset=7, scales=[1.0, 1.0, 2.0, 3.0], mode="nearest")
standard("Upsample", "opset 9", [x, Constant(np.float32([1, 1, 2.5, 2]))], opset=9, mode="linear")

standard("Dropout", "mask", [x], outputs=2, opset=13)

# Activations.
for op, more in (("Celu", {"alpha": 0.5}), ("Elu", {"alpha": 2.0}), ("Selu", {}), ("Softplus", {}),
                 ("Softsign", {}), ("ThresholdedRelu", {"alpha": 0.5}), ("HardSwish", {}),
                 ("HardSigmoid", {"alpha": 0.3}), ("Shrink", {"lambd": 0.75, "bias": 0.25}),
                 ("Mish", {})):
    standard(op, "", [x], opset=18, **more)
special = np.float32([np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5])
standard("Round", "half to even", [special])
standard("Round", "half", [special.astype(half)], opset=11)
standard("Sign", "uint8", [integers(5, dtype=np.uint8)])
for op in ("Erf", "Tan", "Asinh", "Atan", "Sinh"):
    by_onnx(op, "half", [floats(2, 5).astype(half)], tolerance=4e-3)

# Rounded once: parameters that are not float16 numbers stay as they are.
by_onnx("BatchNormalization", "halves with parameters in float32",
        [floats(2, 3, 6, 8).astype(half)] + [Constant(v) for v in (*(floats(3) for _ in range(3)), floats(3, low=0.5))],
        opset=15, tolerance=4.9e-4)

write("vision")
