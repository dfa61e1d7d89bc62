"""Writes cases.json for plugins of amirstan_plugin that Tenon does not have: what PyTorch computes.

    amirstan_cases.py FOLDER

`tenon plugins check libamirstan.so --device=cuda --cases=FOLDER/cases.json` compares with them. Needs PyTorch.
"""
import pathlib
import sys

import numpy
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "plugins"))
from cases import case, write  # noqa: E402

generator = torch.Generator().manual_seed(0)
KMAX, KAVERAGE = 0, 1  # nvinfer1::PoolingType
CUMSUM, CUMPROD, CUMMAX, CUMMIN = 0, 1, 0, 1


def sixteenths(*shape):
    """Multiples of 1/16 within 2, so that fp16 holds them; many are equal."""
    return torch.randint(-32, 33, shape, generator=generator).float() / 16


def add(plugin, name, attributes, inputs, outputs):
    case(plugin, name, attributes, {f"x{i}": x.numpy() for i, x in enumerate(inputs)},
         {f"y{i}": numpy.asarray(y) for i, y in enumerate(outputs)}, tolerance=(1e-5, 4e-3))


def pairs(*values):
    return numpy.array(values, dtype=numpy.int32)


for shape in [(2, 3, 8, 8), (1, 2, 7, 5), (2, 1, 13, 9)]:
    for size in [(1, 1), (3, 2), (4, 4)]:
        x, what = sixteenths(*shape), f"{shape} to {size}"
        add("AdaptivePoolPluginDynamic", f"largest, {what}", {"output_size": pairs(*size), "pooling_type": KMAX}, [x],
            [torch.nn.functional.adaptive_max_pool2d(x, size)])
        add("AdaptivePoolPluginDynamic", f"mean, {what}", {"output_size": pairs(*size), "pooling_type": KAVERAGE}, [x],
            [torch.nn.functional.adaptive_avg_pool2d(x, size)])

for shape, dim in [((3, 4), 0), ((3, 4), 1), ((2, 3, 5), 1), ((2, 300), 1), ((7,), 0), ((2, 3, 4, 5), 2)]:
    x, what = sixteenths(*shape), f"{shape} along {dim}"
    add("TorchCumPluginDynamic", f"sum, {what}", {"dim": dim, "cum_type": CUMSUM}, [x], [torch.cumsum(x, dim)])
    add("TorchCumPluginDynamic", f"product, {what}", {"dim": dim, "cum_type": CUMPROD}, [x], [torch.cumprod(x, dim)])
    for name, number, function in [("largest", CUMMAX, torch.cummax), ("least", CUMMIN, torch.cummin)]:
        values, indices = function(x, dim)
        add("TorchCumMaxMinPluginDynamic", f"{name}, {what}", {"dim": dim, "cum_type": number}, [x],
            [values, indices.int()])

for batch, m, k, n in [(1, 1, 1, 1), (2, 3, 4, 5), (3, 8, 16, 2)]:
    a, b = sixteenths(batch, m, k), sixteenths(batch, k, n)
    add("TorchBmmPluginDynamic", f"{batch}x{m}x{k}x{n}", {}, [a, b], [torch.bmm(a, b)])

for kernel, dilation, padding, stride in [(3, 1, 1, 1), (2, 1, 0, 2), (3, 2, 1, 1), (3, 2, 2, 1), (1, 1, 0, 1)]:
    x = sixteenths(2, 3, 9, 7)
    add("TorchUnfoldPluginDynamic", f"kernel {kernel}, dilation {dilation}, padding {padding}, stride {stride}",
        {"kernel_size": pairs(kernel, kernel), "dilation": pairs(dilation, dilation),
         "padding": pairs(padding, padding), "stride": pairs(stride, stride)}, [x],
        [torch.nn.functional.unfold(x, kernel, dilation, padding, stride)])

write(pathlib.Path(sys.argv[1]) / "amirstan_cases.py")
