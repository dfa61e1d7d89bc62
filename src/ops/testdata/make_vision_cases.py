"""Writes the cases of box selection, normalisation and sampling, as ONNX Runtime (or NumPy, where
ONNX has no such operator) computes them.

Run: python src/ops/testdata/make_vision_cases.py   (needs numpy, onnx, onnxruntime)
"""
import numpy as np

from cases import case, floats, integers, onnx_run, random, write


def boxes_of(batch, count):
    """Corners with x1 < x2 and y1 < y2, on a coarse raster so that many overlap."""
    low = integers(batch, count, 2, low=0, high=8).astype(np.float32)
    return np.concatenate([low, low + integers(batch, count, 2, low=1, high=6)], -1).astype(
        np.float32)


def nms_cases():
    def add(name, boxes, scores, most, overlap, score, center=0, dtype=np.int64, **attributes):
        given = [boxes, scores, np.array([most], np.int64), np.float32([overlap])]
        given += [np.float32([score])] if score is not None else []
        kept = onnx_run("NonMaxSuppression", given, opset=11, center_point_box=center)
        count = np.int32(len(kept))
        attributes = {"indices_type": 8 if dtype == np.int64 else 3, "format": center, **attributes}
        case("nms", "Nms", name + ", as ONNX", {"classes_first": True, **attributes}, given,
             [kept.astype(dtype), count])
        # TensorRT's layout: classes last, and boxes of each class or of all.
        given[1] = scores.transpose(0, 2, 1)
        case("nms", "Nms", name + ", as TensorRT", attributes, given, [kept.astype(dtype), count])
        given[0] = boxes[:, :, None].repeat(scores.shape[1], 2)
        case("nms", "Nms", name + ", boxes of classes", attributes, given,
             [kept.astype(dtype), count])

    boxes, scores = boxes_of(2, 20), floats(2, 3, 20, low=0, high=1)  # ties are likely
    add("corners", boxes, scores, 5, 0.3, 0.25)
    add("no score", boxes, scores, 20, 0.5, None)
    add("int32", boxes, scores, 2, 0.0, 0.5, dtype=np.int32)
    add("no box", boxes, scores, 0, 0.5, None)
    add("none is good", boxes, scores, 3, 0.5, 2.0)
    add("swapped corners", boxes[:, :, [2, 3, 0, 1]], scores, 6, 0.4, 0.1)
    centers = np.concatenate([(boxes[..., :2] + boxes[..., 2:]) / 2, boxes[..., 2:] - boxes[..., :2]],
                             -1)
    add("centers", centers, scores, 6, 0.4, 0.1, center=1)
    add("all stay", boxes, scores, 20, 1.0, None)
    add("no boxes", boxes[:, :0], scores[:, :, :0], 5, 0.5, None)
    few = onnx_run("NonMaxSuppression", [boxes[:1], scores[:1, :1], np.array([9]), np.float32([0.3])],
                   opset=11)
    case("nms", "Nms", "half", {"classes_first": True},
         [boxes[:1].astype(np.float16), scores[:1, :1].astype(np.float16), np.array([9]),
          np.float16([0.3])], [few.astype(np.int32), np.int32(len(few))])
    # Many boxes: more than are sorted at a time.
    boxes, scores = floats(1, 700, 4, low=0, high=60), random.permutation(700).astype(np.float32)
    add("many", boxes, scores.reshape(1, 1, 700), 700, 0.1, None)


def normalized(x, axes, epsilon=1e-5, mean=True):
    x = x.astype(np.float64)
    m = x.mean(axes, keepdims=True) if mean else 0 * x.mean(axes, keepdims=True)
    inverse = 1 / np.sqrt(((x - m) ** 2).mean(axes, keepdims=True) + epsilon)
    return (x - m) * inverse, m, inverse


def normalization_cases():
    def add(name, x, axes, scale=None, bias=None, dtype=np.float32, **attributes):
        y, mean, inverse = normalized(x, axes, mean=attributes.get("subtracts_mean", True))
        y = y * (1 if scale is None else scale) + (0 if bias is None else bias)
        inputs = [x.astype(dtype)] + [None if p is None else p.astype(dtype) for p in (scale, bias)]
        while inputs[-1] is None:
            inputs.pop()
        mask = sum(1 << a for a in axes)
        outputs = [y.astype(dtype)]
        if attributes.get("gives_statistics"):
            outputs += [mean.astype(np.float32), inverse.astype(np.float32)]
        case("normalization", "Normalization", name, {"axes": mask, **attributes}, inputs, outputs,
             tolerance=2)

    x = floats(2, 4, 3, 5)
    for dtype in (np.float32, np.float16):
        add(f"layer {dtype.__name__}", x, (3,), floats(1, 1, 1, 5), floats(1, 1, 1, 5), dtype=dtype)
        add(f"instance {dtype.__name__}", x, (2, 3), floats(1, 4, 1, 1), floats(1, 4, 1, 1),
            dtype=dtype)
    add("layer over three axes", x, (1, 2, 3), floats(1, 4, 3, 5), floats(1, 4, 3, 5),
        gives_statistics=True)
    add("layer, scale alone", x, (3,), floats(1, 1, 1, 5))
    add("no parameters", x, (2, 3))
    add("root mean square", x, (3,), floats(1, 1, 1, 5), subtracts_mean=False)
    add("batch", x, (0, 2, 3), floats(1, 4, 1, 1), floats(1, 4, 1, 1), gives_statistics=True)
    add("channels before others", x, (1,), floats(1, 4, 1, 1), floats(1, 4, 1, 1),
        gives_statistics=True)
    add("first axis", x, (0,), floats(2, 1, 3, 1), floats(1, 1, 1, 1))
    add("uneven axes", x, (1, 3), floats(1, 4, 1, 5), floats(2, 1, 3, 1), gives_statistics=True)
    add("scale of all elements", x, (2, 3), floats(2, 4, 3, 5), floats(1, 1, 3, 5))
    add("long rows", floats(3, 5000), (1,), floats(1, 5000), floats(1, 5000))
    add("long columns", floats(7, 600), (0,), floats(7, 600), floats(1, 600))
    add("empty", x[:, :, :0], (3,), floats(1, 1, 1, 5))
    for groups in (2, 4, 1):
        parts = x.reshape(2, groups, -1)
        y = normalized(parts, (2,))[0].reshape(x.shape)
        scale, bias = floats(1, 4, 1, 1), floats(1, 4, 1, 1)
        axes = 12 if groups > 1 else 14
        case("normalization", "Normalization", f"{groups} groups, parameters of channels",
             {"axes": axes, "groups": groups, "is_v2": True}, [x, scale, bias],
             (y * scale + bias).astype(np.float32), tolerance=2)
        if groups == 1:
            continue
        scale, bias = floats(1, groups, 1, 1), floats(1, groups, 1, 1)
        wide = [p.repeat(4 // groups, 1) for p in (scale, bias)]
        case("normalization", "Normalization", f"{groups} groups, parameters of groups",
             {"axes": axes, "groups": groups}, [x, scale, bias],
             (y * wide[0] + wide[1]).astype(np.float32), tolerance=2)


def grid_sample_cases():
    def add(name, x, grid, mode, padding, corners, dtype=np.float32, opset=16):
        names = ["nearest", "linear", "cubic"] if opset >= 20 else ["nearest", "bilinear", "bicubic"]
        paddings = {"zeros": 3, "border": 2, "reflection": 4}
        y = onnx_run("GridSample", [x, grid], opset=opset, mode=names[mode], padding_mode=padding,
                     align_corners=corners)
        case("grid_sample", "GridSample", f"{name} {names[mode]} {padding} {corners}",
             {"mode": mode, "outside": paddings[padding], "align_corners": bool(corners)},
             [x.astype(dtype), grid], y.astype(dtype), tolerance=4)

    x, grid = floats(2, 2, 4, 3), (floats(2, 3, 5, 2, low=-2, high=2) * 0.83).astype(np.float32)
    volume, places = floats(1, 2, 3, 4, 2), (floats(1, 2, 2, 3, 3, low=-2, high=2) * 0.83)
    for padding in ("zeros", "border", "reflection"):
        for corners in (0, 1):
            for mode in (0, 1, 2):
                add("plane", x, grid, mode, padding, corners)
            for mode in (0, 1):
                add("volume", volume, places.astype(np.float32), mode, padding, corners, opset=20)
    add("half", x, grid, 1, "zeros", 0, np.float16)
    one = floats(1, 1, 1, 1)
    for corners in (0, 1):
        add("one element", one, grid[:1], 1, "reflection", corners)


def other_cases():
    x = floats(2, 7, 3, 4)
    for size, beta in ((5, 0.75), (3, 0.5), (7, 0.75), (1, 1.0), (11, 0.6)):
        y = onnx_run("LRN", [x], size=size, alpha=0.25, beta=beta, bias=1.5)
        attributes = {"window": size, "alpha": 0.25, "beta": beta, "bias": 1.5}
        case("lrn", "Lrn", f"{size} {beta}", attributes, [x], y)
    case("lrn", "Lrn", "half", attributes, [x.astype(np.float16)], y.astype(np.float16))
    for shape in ((1, 7, 1, 1), (2, 7, 3, 4), (1, 1, 1, 1), (1, 1, 3, 1), (1, 1, 1, 4)):
        slope = floats(*shape)
        case("parametric_relu", "ParametricRelu", str(shape), {}, [x, slope],
             onnx_run("PRelu", [x, slope]))
    case("parametric_relu", "ParametricRelu", "half", {},
         [x.astype(np.float16), slope.astype(np.float16)],
         onnx_run("PRelu", [x, slope]).astype(np.float16))
    for dtype in (np.int32, np.int64):
        rows, lengths = floats(2, 3, 6), np.array([[3, 6, 1], [0, 5, 2]], dtype)[..., None]
        e = np.exp(rows.astype(np.float64)) * (np.arange(6) < lengths)
        y = e / np.maximum(e.sum(-1, keepdims=True), 1e-30)
        case("ragged_softmax", "RaggedSoftmax", dtype.__name__, {}, [rows, lengths],
             y.astype(np.float32))


for make in (nms_cases, normalization_cases, grid_sample_cases, other_cases):
    make()
write()
