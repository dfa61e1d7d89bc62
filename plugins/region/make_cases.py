"""Writes cases.json: darknet's region layer, as PyTorch's sigmoid and softmax give it. Needs PyTorch."""
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

generator = torch.Generator().manual_seed(0)


def add(name, images, boxes, coordinates, classes, height, width, attributes=None):
    shape = (images, boxes * (coordinates + 1 + classes), height, width)
    # Multiples of 1/16 within 4, so that fp16 holds the inputs exactly.
    x = torch.randint(-64, 65, shape, generator=generator).float() / 16
    y = x.reshape(images, boxes, coordinates + 1 + classes, height, width).double()
    y = torch.cat([y[:, :, :2].sigmoid(), y[:, :, 2:coordinates], y[:, :, coordinates:coordinates + 1].sigmoid(),
                   y[:, :, coordinates + 1:].softmax(2)], 2)
    if attributes is None:
        attributes = {"num": boxes, "coords": coordinates, "classes": classes}
    case("Region_TRT", name, attributes, {"x": x.numpy()}, {"y": y.reshape(shape).float().numpy()})


add("two images", 2, 3, 4, 5, 3, 4)
add("one box of one pixel", 1, 1, 4, 1, 1, 1)
add("five coordinates", 1, 2, 5, 3, 2, 2)
add("defaults", 1, 5, 4, 80, 1, 2, {})
add("no images", 0, 1, 4, 2, 3, 3)
write(__file__)
