"""Cuts tiny YOLOv3 of ONNX's model zoo at its last convolutions, so that it takes batches.

    python cut_tiny_yolov3.py tiny_yolov3.onnx tiny_yolov3_heads.onnx

What follows them in the zoo's graph (loops that make boxes, and non-maximum suppression) takes one picture at a time;
decode_anchors() does the same for each picture of a batch. Names of the classes go into the metadata, as Ultralytics
writes them. Needs onnx.
"""
import sys

import onnx

SIDE = 416  # that the network was trained with
CLASSES = """person, bicycle, car, motorbike, aeroplane, bus, train, truck, boat, traffic light, fire hydrant,
stop sign, parking meter, bench, bird, cat, dog, horse, sheep, cow, elephant, bear, zebra, giraffe, backpack, umbrella, handbag,
tie, suitcase, frisbee, skis, snowboard, sports ball, kite, baseball bat, baseball glove, skateboard, surfboard,
tennis racket, bottle, wine glass, cup, fork, knife, spoon, bowl, banana, apple, sandwich, orange, broccoli, carrot,
hot dog, pizza, donut, cake, chair, sofa, potted plant, bed, dining table, toilet, monitor, laptop, mouse, remote,
keyboard, cell phone, microwave, oven, toaster, sink, refrigerator, book, clock, vase, scissors, teddy bear, hair drier,
toothbrush""".replace("\n", " ").split(", ")


def set_shape(value, extents):
    shape = value.type.tensor_type.shape
    del shape.dim[:]
    for extent in extents:
        dim = shape.dim.add()
        if isinstance(extent, str):
            dim.dim_param = extent
        else:
            dim.dim_value = extent


def main(source, target):
    heads = {node.output[0]: 32 if node.name == "conv2d_10" else 16 for node in onnx.load(source).graph.node
             if node.name in ("conv2d_10", "conv2d_13")}
    onnx.utils.extract_model(source, target, ["input_1"], list(heads))
    model = onnx.load(target)
    set_shape(model.graph.input[0], ["batch", 3, SIDE, SIDE])
    for head in model.graph.output:
        stride = heads[head.name]
        set_shape(head, ["batch", 3 * (5 + len(CLASSES)), SIDE // stride, SIDE // stride])
    onnx.helper.set_model_props(model, {"names": str(dict(enumerate(CLASSES)))})
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, target)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
