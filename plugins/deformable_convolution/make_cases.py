"""Writes cases.json: deformable convolution as torchvision computes it. Needs NumPy, PyTorch and
torchvision.
"""
import pathlib
import sys

import numpy
import torch
import torchvision

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402
from quantized import quantized_case  # noqa: E402

NAMES = {  # name, version: attribute names of groups and offset groups, has a mask
    ("MMCVDeformConv2d", "1"): ("groups", "deform_groups", False),
    ("DeformableConvPluginDynamic", "1"): ("group", "deformable_group", False),
    ("MMCVModulatedDeformConv2d", "1"): ("groups", "deform_groups", True),
    ("ModulatedDeformConv2d", "1"): ("group", "deformable_group", True),
    ("ModulatedDeformConv2d", "2"): ("group", "deformable_group", True),
    ("ModulatedDeformableConvPluginDynamic", "1"): ("group", "deformable_group", True),
}

# MMCVModulatedDeformConv2d that takes int8, too.
ALIASES = ("ModulatedDeformableConv2dTRT", "ModulatedDeformableConv2dTRT2")


def add(key, name, x_shape, maps, kernel, seed, stride=(1, 1), padding=(0, 0), dilation=(1, 1),
        groups=1, offset_groups=1, bias=False, attributes=None, reach=32, largest=None):
    group_name, offset_group_name, modulated = NAMES[key]
    random = numpy.random.RandomState(seed)

    def draw(*shape, most=16):
        # Multiples of 1/16, so that fp16 holds them exactly.
        return (random.randint(-most, most + 1, shape) / 16).astype("float32")

    batch, channels, *extents = x_shape
    result = [(extents[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1
              for i in range(2)]
    taps = offset_groups * kernel[0] * kernel[1]
    x, weight = draw(*x_shape), draw(maps, channels // groups, *kernel)
    offset = draw(batch, 2 * taps, *result, most=reach)
    mask = numpy.abs(draw(batch, taps, *result)) if modulated else None
    b = draw(maps) if bias else None
    if attributes is None:
        attributes = {"stride": list(stride), "padding": list(padding), "dilation": list(dilation),
                      group_name: groups, offset_group_name: offset_groups}
    inputs = {"input": x, "offset": offset, "mask": mask, "weight": weight, "bias": b}
    inputs = {k: v for k, v in inputs.items() if v is not None}

    def convolved(inputs):
        given = {k: torch.from_numpy(v) for k, v in inputs.items()}
        return torchvision.ops.deform_conv2d(given["input"], given["offset"], given["weight"], given.get("bias"), stride, padding,
                                             dilation, given.get("mask")).numpy()

    if largest is not None:
        return quantized_case(ALIASES, name, attributes, inputs, convolved, "output", real=("bias",), largest=largest)
    # fp16 rounds places of elements to 1/16 and less, but not the sums of products.
    for plugin in (key[0], *(ALIASES if key[0] == "MMCVModulatedDeformConv2d" else ())):
        case(plugin, name, attributes, inputs, {"output": convolved(inputs)}, version=key[1])


for number, (key, names) in enumerate(NAMES.items()):
    modulated, seed = names[2], 100 * number
    x_shape = (2, 3, 7, 9) if key[0].startswith("MMCV") else (1, 2, 4, 5)
    add(key, "asymmetric", x_shape, 4, (3, 2), seed, (2, 1), (1, 2), (1, 3), bias=modulated)
    add(key, "groups", (1, 8, 3, 3), 4, (2, 2), seed + 1, groups=2, offset_groups=4)
    if key[1] == "2":
        continue
    add(key, "defaults", (1, 2, 4, 4), 3, (1, 3), seed + 2, attributes={}, bias=modulated)
for key, seed in ((("MMCVDeformConv2d", "1"), 1000), (("MMCVModulatedDeformConv2d", "1"), 2000)):
    add(key, "far outside", (1, 2, 3, 3), 2, (3, 3), seed, padding=(1, 1), reach=160)
    add(key, "one pixel", (3, 4, 1, 1), 2, (1, 1), seed + 1)
    add(key, "one number for both axes", (1, 2, 7, 7), 2, (2, 2), seed + 2, (2, 2), (1, 1), (2, 2),
        attributes={"stride": [2], "padding": [1], "dilation": [2]})
    add(key, "no batch", (0, 4, 3, 3), 2, (2, 2), seed + 3)
    add(key, "depthwise", (1, 6, 4, 4), 6, (2, 2), seed + 4, groups=6, offset_groups=3)
# More channels, places and maps than the kernel takes at a time.
key = ("MMCVDeformConv2d", "1")
add(key, "many channels", (1, 263, 2, 2), 3, (1, 2), 3005)
add(key, "many channels of groups", (1, 522, 1, 2), 4, (1, 1), 3006, groups=2, offset_groups=3)
add(key, "many places", (1, 1, 9, 9), 2, (2, 2), 3007)
add(key, "many maps", (1, 2, 2, 2), 261, (1, 1), 3008)
add(key, "many maps of groups", (1, 6, 1, 2), 129, (1, 2), 3009, groups=3)
for what, padding in (("MMDeploy", [1, 1, 2, 2]), ("ONNX", [1, 2, 1, 2])):
    add(key, f"padding as {what} has it", (1, 2, 4, 5), 2, (2, 3), 3000, padding=(1, 2),
        attributes={"padding": padding})
add(("MMCVModulatedDeformConv2d", "1"), "as documented", (1, 4, 3, 4), 2, (2, 2), 3001, groups=2,
    offset_groups=2, attributes={"group": 2, "deformable_group": 2})
key = ("MMCVModulatedDeformConv2d", "1")
add(key, "int8", (2, 4, 5, 6), 4, (3, 2), 3010, (2, 1), (1, 2), (1, 3), bias=True, largest=127)
add(key, "int8 that saturates, groups", (1, 8, 3, 3), 6, (2, 2), 3011, groups=2, offset_groups=4, largest=190)

# DCNv2: offsets and the mask before its sigmoid in one tensor.
for number, (what, x_shape, maps, bias) in enumerate((("one image", (1, 3, 5, 4), 2, True),
                                                      ("images", (3, 2, 4, 6), 3, False),
                                                      ("one pixel", (2, 4, 1, 1), 2, True),
                                                      ("no batch", (0, 2, 3, 3), 2, True))):
    state = numpy.random.RandomState(4000 + number)
    x, both, weight, b = ((state.randint(-16, 17, shape) / 16).astype("float32") for shape in (
        x_shape, (x_shape[0], 27, *x_shape[2:]), (maps, x_shape[1], 3, 3), (maps,)))
    tensors = [torch.from_numpy(t) for t in (x, 2 * both[:, :18], weight, b, 2 * both[:, 18:])]
    y = torchvision.ops.deform_conv2d(*tensors[:3], tensors[3] if bias else None, padding=1,
                                      mask=tensors[4].sigmoid())
    case("DCNv2", what, {}, {"input": x, "offset_and_mask": 2 * both, "weight": weight,
                             **({"bias": b} if bias else {})}, {"output": y.numpy()})
write(__file__)
