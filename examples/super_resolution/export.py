"""Writes the trained network as ONNX, its resize as the custom operator Test::DynamicTRTResize.

    python export.py --weights srcnn.pt --model srcnn.onnx
"""

import argparse

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

import srcnn

OPSET = 17


def custom_resize():
    """The node as it is committed: its second input gives the size by its shape alone."""
    align_corners = int(srcnn.ALIGN_CORNERS)
    node = helper.make_node(
        "DynamicTRTResize",
        ["input", "factor"],
        ["resized"],
        name="resize",
        domain="Test",
        align_corners=align_corners,
    )
    return [node]


def standard_resize():
    """The same computation in standard operators, for engines without the plugin."""
    mode = "align_corners" if srcnn.ALIGN_CORNERS else "half_pixel"
    nodes = [
        helper.make_node("Shape", ["input"], ["planes"], name="planes", start=0, end=2),
        helper.make_node("Shape", ["factor"], ["area"], name="area", start=2, end=4),
        helper.make_node("Concat", ["planes", "area"], ["sizes"], name="sizes", axis=0),
        helper.make_node(
            "Resize",
            ["input", "", "", "sizes"],
            ["resized"],
            name="resize",
            mode="cubic",
            cubic_coeff_a=-0.75,
            coordinate_transformation_mode=mode,
        ),
    ]
    return nodes


def make_model(state, custom=True):
    """The ONNX model of a state dictionary; every height and width is dynamic."""
    nodes = custom_resize() if custom else standard_resize()
    initializers = []
    value = "resized"
    for conv, kernel in (("conv1", 9), ("conv2", 5), ("conv3", 5)):
        pad = kernel // 2
        result = "output" if conv == "conv3" else conv
        nodes.append(
            helper.make_node(
                "Conv",
                [value, f"{conv}.weight", f"{conv}.bias"],
                [result],
                name=conv,
                kernel_shape=[kernel, kernel],
                pads=[pad] * 4,
                strides=[1, 1],
            )
        )
        for part in ("weight", "bias"):
            array = state[f"{conv}.{part}"].numpy().astype(np.float32)
            initializers.append(numpy_helper.from_array(array, f"{conv}.{part}"))
        value = result
        if conv != "conv3":
            value = conv + ".relu"
            nodes.append(helper.make_node("Relu", [conv], [value], name=value))

    def picture(name, shape):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    graph = helper.make_graph(
        nodes,
        "srcnn",
        [
            picture("input", [1, 3, "height", "width"]),
            picture("factor", [1, 1, "out_height", "out_width"]),
        ],
        [picture("output", [1, 3, "out_height", "out_width"])],
        initializers,
    )
    opsets = [helper.make_opsetid("", OPSET)]
    if custom:
        opsets.append(helper.make_opsetid("Test", 1))
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="tenon")
    onnx.checker.check_model(model)
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--weights", default="srcnn.pt", help="file of train.py")
    parser.add_argument("--model", default="srcnn.onnx", help="file to write")
    parser.add_argument("--standard", action="store_true", help="use ONNX's own Resize instead")
    options = parser.parse_args()

    state = torch.load(options.weights, map_location="cpu", weights_only=True)
    onnx.save(make_model(state, custom=not options.standard), options.model)
    print(f"wrote {options.model}")


if __name__ == "__main__":
    main()
