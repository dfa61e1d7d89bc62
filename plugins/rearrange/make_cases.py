"""Writes cases.json: what PyTorch's cat and expand give, and darknet's reorg by its formula. Needs PyTorch."""
import pathlib
import sys

import numpy
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

generator = torch.Generator().manual_seed(0)


def whole(*shape):
    # int8 and fp16 hold them exactly.
    return torch.randint(-100, 101, shape, generator=generator).float()


def flatten_concat(name, axis, *shapes):
    inputs = [whole(*shape) for shape in shapes]
    y = torch.cat([x.flatten(1) for x in inputs], 1)
    shape = [y.shape[0], 1, 1, 1]
    shape[axis] = y.shape[1]
    case("FlattenConcat_TRT", name, {"axis": axis, "ignoreBatch": 0},
         {f"x{i}": x.numpy() for i, x in enumerate(inputs)}, {"y": y.reshape(shape).numpy()})


for axis in (1, 2, 3):
    flatten_concat(f"axis {axis}", axis, (2, 3, 4, 5), (2, 1, 2, 2), (2, 3, 1, 1))
flatten_concat("one input", 1, (1, 2, 3, 4))
flatten_concat("an empty input", 1, (2, 0, 3, 4), (2, 1, 1, 2))
flatten_concat("no images", 3, (0, 2, 3, 4), (0, 1, 1, 2))

for name, images, shape in [("three images", 3, (2, 3, 4)), ("one image", 1, (5,)), ("no images", 0, (2, 2)),
                            ("no elements", 2, (0, 4))]:
    x = whole(1, *shape)
    case("BatchTilePlugin_TRT", name, {}, {"images": numpy.zeros((images, 1), "float32"), "x": x.numpy()},
         {"y": x.expand(images, *shape).numpy()}, any_type=("images",))

for name, shape in [("two images", (2, 3, 6)), ("one", (1, 1, 6)), ("no boxes", (2, 0, 6))]:
    x = whole(*shape)
    case("SpecialSlice_TRT", name, {}, {"detections": x.numpy()}, {"boxes": x[..., :4].numpy()})


def reorg(x, stride):
    """darknet's reorg_cpu, forward: https://pjreddie.com/darknet/yolov2/ has the layer."""
    n, c, h, w = x.shape
    planes = c // (stride * stride)
    seen = x.reshape(n, planes, h * stride, w * stride)
    y = numpy.zeros(x.shape, x.dtype)
    for channel in range(c):
        block = channel // planes
        y[:, channel] = seen[:, channel % planes, block // stride::stride, block % stride::stride]
    return y.reshape(n, c * stride * stride, h // stride, w // stride)


for version in ("1", "2"):
    for name, shape, stride in [("two images", (2, 4, 6, 6), 2), ("three", (1, 9, 3, 6), 3), ("as it is", (1, 2, 3, 3), 1),
                                ("no images", (0, 4, 2, 2), 2)]:
        x = whole(*shape).numpy()
        case("Reorg_TRT", name, {"stride": stride}, {"x": x}, {"y": reorg(x, stride)}, version=version)
write(__file__)
