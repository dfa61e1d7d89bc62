"""Writes convolution.json, deconvolution.json and pooling.json, as ONNX Runtime computes them.

Run: python src/ops/testdata/make_window_cases.py   (needs numpy, onnx, onnxruntime)
"""
import numpy as np

from cases import case, constant, floats, integers, onnx_run, write


def windows(spatial, kernel, stride=1, dilation=1, pads=None):
    def listed(v):
        return list(v) if isinstance(v, (list, tuple)) else [v] * spatial
    pads = pads or [0] * (2 * spatial)
    return {"kernel": listed(kernel), "stride": listed(stride), "dilation": listed(dilation),
            "pre_padding": pads[:spatial], "post_padding": pads[spatial:]}


def onnx_window(attributes, mode=0):
    out = {"kernel_shape": attributes["kernel"], "strides": attributes["stride"],
           "dilations": attributes["dilation"]}
    if mode >= 2:
        out["auto_pad"] = "SAME_UPPER" if mode == 2 else "SAME_LOWER"
    else:
        out["pads"] = attributes["pre_padding"] + attributes["post_padding"]
    return out


CONVOLUTIONS = [
    ("plain", (2, 3, 5, 6), 4, 1, windows(2, 3)), ("one by one", (1, 4, 3, 3), 2, 1, windows(2, 1)),
    ("stride", (1, 2, 7, 8), 3, 1, windows(2, 3, 2, 1, [1, 1, 1, 1])),
    ("dilation", (1, 2, 9, 8), 2, 1, windows(2, 3, 1, 2)),
    ("asymmetric", (1, 2, 5, 5), 2, 1, windows(2, [2, 3], [1, 2], 1, [0, 1, 2, 0])),
    ("groups", (1, 4, 5, 5), 6, 2, windows(2, 3, 1, 1, [1, 1, 1, 1])),
    ("depthwise", (2, 3, 6, 5), 3, 3, windows(2, 3, 2, 1, [1, 1, 1, 1])),
    ("empty batch", (0, 2, 4, 4), 3, 1, windows(2, 3)),
    ("3-D", (1, 2, 4, 5, 3), 2, 1, windows(3, [2, 3, 2], [1, 2, 1], 1, [1, 0, 1, 0, 1, 1])),
    ("3-D groups", (1, 4, 3, 3, 3), 2, 2, windows(3, 2, 1, 1)),
]


def convolution_cases():
    for name, shape, maps, groups, attributes in CONVOLUTIONS:
        x, b = floats(*shape, low=-2, high=2), floats(maps, low=-2, high=2)
        k = floats(maps, shape[1] // groups, *attributes["kernel"], low=-1, high=1)
        for mode in (0, 2, 3) if name in ("plain", "stride") else (0,):
            full = {**attributes, "output_channels": maps, "groups": groups, "padding_mode": mode}
            given = onnx_window(attributes, mode)
            if 0 in shape:
                y = np.zeros((0, maps, 2, 2), np.float32)
            else:
                y = onnx_run("Conv", [x, k, b], group=groups, **given)
            case("convolution", "Convolution", f"{name} mode {mode}", full,
                 [x, constant(k), constant(b)], y)
        if name == "plain":
            case("convolution", "Convolution", "without bias", full | {"padding_mode": 0},
                 [x, constant(k)], onnx_run("Conv", [x, k], **onnx_window(attributes)))
            flat = constant(k.ravel())
            case("convolution", "Convolution", "kernel as a list", full | {"padding_mode": 0},
                 [x, flat, constant(b)], onnx_run("Conv", [x, k, b], **onnx_window(attributes)))
            up = full | {"padding_mode": 1, "stride": [2, 2]}
            padded = np.pad(x, ((0, 0), (0, 0), (0, 0), (0, 1)))
            case("convolution", "Convolution", "rounded up", up, [x, constant(k), constant(b)],
                 onnx_run("Conv", [padded, k, b], **onnx_window(windows(2, 3, 2))))
            half = [x.astype(np.float16), constant(k.astype(np.float16))]
            case("convolution", "Convolution", "half", full | {"padding_mode": 0}, half,
                 onnx_run("Conv", [x, k], **onnx_window(attributes)).astype(np.float16))
            y = onnx_run("Conv", [x, k, b], **onnx_window(attributes))
            z = floats(*y.shape)
            epilogue = {"epilogue_inputs": 2, "epilogue_constants": [0.5],
                        "epilogue_families": [2, 2, 1], "epilogue_functions": [0, 1, 0],
                        "epilogue_a": [0, 3, 4], "epilogue_b": [1, 2, -1],
                        "epilogue_alpha": [0, 0, 0], "epilogue_beta": [0, 0, 0]}
            case("convolution", "Convolution", "epilogue", full | epilogue | {"padding_mode": 0},
                 [x, constant(k), constant(b), z], np.maximum((y + z) * np.float32(0.5), 0))


def deconvolution_cases():
    for name, shape, maps, groups, attributes in CONVOLUTIONS:
        x, b = floats(*shape, low=-2, high=2), floats(maps, low=-2, high=2)
        k = floats(shape[1], maps // groups, *attributes["kernel"], low=-1, high=1)
        full = {**attributes, "output_channels": maps, "groups": groups}
        if 0 in shape:
            case("deconvolution", "Deconvolution", name, full, [x, constant(k), constant(b)],
                 np.zeros((0, maps, 6, 6), np.float32))
            continue
        case("deconvolution", "Deconvolution", name, full, [x, constant(k), constant(b)],
             onnx_run("ConvTranspose", [x, k, b], group=groups, **onnx_window(attributes)))
        if name != "stride":
            continue
        case("deconvolution", "Deconvolution", "output padding", full | {"output_padding": [1, 0]},
             [x, constant(k)], onnx_run("ConvTranspose", [x, k], output_padding=[1, 0],
                                        **onnx_window(attributes)))
        for mode in (2, 3):
            case("deconvolution", "Deconvolution", f"mode {mode}", full | {"padding_mode": mode},
                 [x, constant(k)],
                 onnx_run("ConvTranspose", [x, k], **onnx_window(attributes, mode)))


def pooling_cases():
    rows = [("plain", (1, 2, 6, 5), windows(2, 2, 2)),
            ("padded", (2, 2, 5, 5), windows(2, 3, 2, 1, [1, 1, 1, 1])),
            ("asymmetric", (1, 1, 5, 6), windows(2, [3, 2], [2, 1], 1, [1, 0, 2, 1])),
            ("rounding", (1, 1, 6, 8), windows(2, 3, 2)),
            ("starts in the padding", (1, 1, 2, 4), windows(2, 1, 2)),
            ("starts in padding 2", (1, 1, 3, 3), windows(2, 2, 2, 1, [1, 1, 1, 1])),
            ("dilated", (1, 1, 7, 8), windows(2, 3, 1, 2)),
            ("3-D", (1, 2, 4, 5, 3), windows(3, 2, [1, 2, 1], 1, [1, 0, 0, 0, 1, 1]))]
    for name, shape, w in rows:
        x = floats(*shape)
        attributes = {k: w[k] for k in ("stride", "pre_padding", "post_padding", "dilation")}
        attributes["window"] = w["kernel"]
        for mode in (0, 1, 2, 3):
            # ONNX Runtime refuses these.
            if name in ("dilated", "starts in the padding") and mode >= 2:
                continue
            given = onnx_window(w, mode) | ({"ceil_mode": 1} if mode == 1 else {})
            largest = onnx_run("MaxPool", [x], opset=22, **given)
            more = {"padding_mode": mode}
            case("pooling", "Pooling", f"max {name} {mode}", attributes | more, [x], largest)
            for include in (0, 1):
                average = onnx_run("AveragePool", [x], opset=22, count_include_pad=include, **given)
                case("pooling", "Pooling", f"average {name} {mode} {include}",
                     attributes | more | {"type": 1, "average_excludes_padding": not include}, [x],
                     average)
            if mode == 0:
                average = onnx_run("AveragePool", [x], opset=22, **given)
                case("pooling", "Pooling", f"blend {name}", attributes | {"type": 2, "blend": 0.25},
                     [x], (0.75 * largest + 0.25 * average).astype(np.float32))
    x = integers(1, 1, 4, 4, dtype=np.int8)
    case("pooling", "Pooling", "int8", {"window": [2, 2], "stride": [2, 2], "pre_padding": [0, 0],
         "post_padding": [0, 0]}, [x], x.reshape(1, 1, 2, 2, 2, 2).max((3, 5)))


convolution_cases()
deconvolution_cases()
pooling_cases()
write()
