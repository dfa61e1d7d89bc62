"""TensorRT's introduction: a network by hand, with weights of a trained model.

    python network_by_hand.py ../super_resolution/srcnn.onnx

Builds the super-resolution model layer by layer (a plugin, three convolutions), and compares its result with that of
the same model read from ONNX.
"""
import sys

import numpy as np
import onnx
import tenon
import tenon.tensorrt as trt
from onnx import numpy_helper

SHAPES = {"input": (1, 3, 24, 32), "factor": (1, 1, 72, 96)}


def populate(network, weights):
    """Adds DynamicTRTResize, and convolutions of 9x9, 5x5 and 5x5 with ReLU between them."""
    image = network.add_input("input", trt.float32, SHAPES["input"])
    factor = network.add_input("factor", trt.float32, SHAPES["factor"])
    creator = trt.get_plugin_registry().get_plugin_creator("DynamicTRTResize", "1", "")
    fields = trt.PluginFieldCollection(
        [trt.PluginField("align_corners", np.array([0], np.int32), trt.PluginFieldType.INT32)])
    resize = network.add_plugin_v2([image, factor], creator.create_plugin("resize", fields))
    tensor = resize.get_output(0)
    for index, name in enumerate(("conv1", "conv2", "conv3")):
        kernel, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
        layer = network.add_convolution_nd(tensor, kernel.shape[0], kernel.shape[2:], kernel, bias)
        layer.name = name
        layer.padding_nd = tuple(extent // 2 for extent in kernel.shape[2:])
        tensor = layer.get_output(0)
        if index < 2:
            tensor = network.add_activation(tensor, trt.ActivationType.RELU).get_output(0)
    tensor.name = "output"
    network.mark_output(tensor)


def main(model):
    trt.init_libnvinfer_plugins(None, "")
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(model).graph.initializer}
    logger = trt.Logger(trt.Logger.WARNING)
    builder = trt.Builder(logger)
    network = builder.create_network()
    populate(network, weights)
    by_hand = tenon.load(builder.build_serialized_network(network, builder.create_builder_config()))
    from_onnx = tenon.compile(model, shapes=SHAPES)

    image = np.random.default_rng(0).random(SHAPES["input"], dtype=np.float32)
    factor = np.zeros(SHAPES["factor"], np.float32)  # only its shape counts
    difference = np.abs(by_hand(image, factor) - from_onnx(image, factor)).max()
    print(f"{network.num_layers} layers by hand; largest difference from the model's own: {difference:.1e}")
    return difference


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if not main(sys.argv[1]) < 1e-5:
        sys.exit(1)
