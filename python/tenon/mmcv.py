"""The functions of mmcv.tensorrt, MMCV 1.2 to 1.7, on Tenon: `from tenon.mmcv import onnx2trt`.

Plugins of MMCV are part of Tenon and are loaded by importing this. On machines without a GPU
`device_id` is accepted, and means nothing. TRTWrapper needs PyTorch.
"""
from tenon import _wrapper
from tenon import tensorrt as trt
from tenon._later import later

__all__ = ["TRTWrapper", "TRTWraper", "get_tensorrt_op_path", "is_tensorrt_plugin_loaded",
           "load_tensorrt_plugin", "load_trt_engine", "onnx2trt", "preprocess_onnx",
           "save_trt_engine"]

_loaded = False


def onnx2trt(onnx_model, opt_shape_dict, log_level=trt.Logger.ERROR, fp16_mode=False,
             max_workspace_size=0, device_id=0):
    """A tensorrt.ICudaEngine of an ONNX file or onnx.ModelProto.

    opt_shape_dict: {input: [min, opt, max]}. RuntimeError with the parser's errors when the model
    cannot be read. A model with NonMaxSuppression goes through preprocess_onnx() first.
    """
    if hasattr(onnx_model, "SerializeToString"):
        onnx_model = preprocess_onnx(onnx_model)
    elif isinstance(onnx_model, str) and _has_nms(onnx_model):
        try:
            import onnx
        except ImportError:
            raise ImportError("preprocess_onnx() for NonMaxSuppression: pip install onnx") from None
        onnx_model = preprocess_onnx(onnx.load(onnx_model))
    return _wrapper.build(onnx_model, opt_shape_dict, log_level=log_level, fp16=fp16_mode,
                          workspace=max_workspace_size, device_id=device_id)


def save_trt_engine(engine, path):
    """Writes an engine's plan to a file."""
    _wrapper.save(engine, path)


def load_trt_engine(path):
    """The tensorrt.ICudaEngine of a plan file."""
    return _wrapper.load(path)


def is_tensorrt_plugin_loaded():
    """Whether load_tensorrt_plugin() was called; importing this module calls it."""
    return _loaded


def load_tensorrt_plugin():
    """Registers MMCV's plugins, which are part of Tenon."""
    global _loaded
    _loaded = _wrapper.load_plugin_library()


def get_tensorrt_op_path():
    """The path of the library with the plugins."""
    return _wrapper.plugin_library()


def preprocess_onnx(onnx_model):
    """The onnx.ModelProto as MMCV's plugins want it; the given one is not changed.

    NonMaxSuppression gets its limits as attributes, with -1 in the rows that are left; what only
    computed them is removed. InstanceNormalization becomes MMCVInstanceNormalization.
    As many boxes as there are is no limit. ValueError when another one is computed. Needs the
    package onnx.
    """
    import numpy as np
    import onnx
    from onnx import helper, numpy_helper
    model = onnx.ModelProto()
    model.CopyFrom(onnx_model)
    graph = model.graph
    constants = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant":
            constants[node.output[0]] = helper.get_attribute_value(node.attribute[0])

    makers = {output: node for node in graph.node for output in node.output}

    def numbers(name):
        value = constants.get(name, ())
        return np.ravel(numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value).tolist()

    def constant(node, index, default):
        name = node.input[index] if index < len(node.input) else ""
        if not name or index == 2 and _is_number_of_boxes(name, node, makers, numbers):
            return default
        found = numbers(name)
        if len(found) != 1:
            raise ValueError(f"NonMaxSuppression '{node.name}': input '{name}' is no constant")
        return type(default)(found[0])

    for node in graph.node:
        if node.op_type == "InstanceNormalization":
            node.op_type = "MMCVInstanceNormalization"
        if node.op_type != "NonMaxSuppression":
            continue
        given = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        limits = {"max_output_boxes_per_class": constant(node, 2, given.get("max_output_boxes_per_class", 1000000)),
                  "iou_threshold": constant(node, 3, given.get("iou_threshold", 0.3)),
                  "score_threshold": constant(node, 4, given.get("score_threshold", 0.0)),
                  "center_point_box": given.get("center_point_box", 0),
                  "offset": given.get("offset", 0)}
        node.CopyFrom(helper.make_node("NonMaxSuppression", node.input[:2], node.output,
                                       name=node.name, **limits))
    _remove_unused(graph)
    return model


def _is_number_of_boxes(name, nms, makers, numbers):
    # Whether a value is the number of boxes, taken from their shape or their scores'.
    # makers: {value: node}. numbers: a function that gives a constant's elements.
    counted = set()
    for value, axis in zip(nms.input, (1, 2)):  # (images, boxes, 4) and (images, classes, boxes)
        counted.add((value, axis))
        while value in makers and makers[value].op_type == "Unsqueeze":
            value, axis = makers[value].input[0], axis - 1
            counted.add((value, axis))
    axis = None
    while name in makers:
        maker = makers[name]
        if maker.op_type == "Shape":
            return (maker.input[0], axis) in counted
        if maker.op_type == "Gather":
            index = numbers(maker.input[1])
            axis = index[0] if len(index) == 1 else None
        elif maker.op_type not in ("Cast", "Reshape", "Squeeze", "Unsqueeze"):
            return False
        name = maker.input[0]
    return False


def _remove_unused(graph):
    # What no other node and no output of the graph reads; in reverse, as users come later.
    used = {output.name for output in graph.output}
    kept = []
    for node in reversed(graph.node):
        bodies = any(a.HasField("g") or a.graphs for a in node.attribute)
        if bodies:
            return  # names of bodies are not followed
        if used.intersection(node.output):
            kept.append(node)
            used.update(node.input)
    kept.reverse()
    initializers = [tensor for tensor in graph.initializer if tensor.name in used]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(kept)
    graph.initializer.extend(initializers)


def _has_nms(path):
    try:
        with open(path, "rb") as file:
            return b"NonMaxSuppression" in file.read()
    except FileNotFoundError:
        return False  # the parser says so


# The second is how MMCV once spelled it.
__getattr__ = later(__name__, dict.fromkeys(["TRTWrapper", "TRTWraper"],
                                            "tenon._torch_wrapper.MmcvWrapper"))

load_tensorrt_plugin()
