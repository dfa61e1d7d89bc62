"""Writes cases.json: sparse convolutions as PyTorch's dense ones of the grid, with zeros where there is no voxel. What a
result reads at an element of the kernel is such a convolution of the voxels' numbers by that element alone. Needs PyTorch.
"""
import pathlib
import sys

import numpy
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

random = numpy.random.RandomState(0)


class Convolution:
    def __init__(self, shape, ksize, batch=1, stride=1, padding=0, dilation=1, out_padding=0, subm=False, transpose=False):
        axes = len(shape)
        self.batch, self.shape, self.subm, self.transpose = batch, tuple(shape), subm, transpose
        self.ksize, self.stride, self.padding, self.dilation, self.out_padding = (
            list(v) if isinstance(v, (list, tuple)) else [v] * axes for v in (ksize, stride, padding, dilation, out_padding))

    def attributes(self):
        lists = {"ksize": self.ksize, "stride": self.stride, "padding": self.padding, "dilation": self.dilation,
                 "out_padding": self.out_padding, "spatial_shape": list(self.shape)}
        return {"batch_size": self.batch, "algo": 1, **lists, "subm": int(self.subm), "transpose": int(self.transpose)}

    def taps(self):
        return list(numpy.ndindex(*self.ksize))

    def inside(self, sites):
        return ((sites >= 0) & (sites < [self.batch, *self.shape])).all(1)

    def grid(self, sites, values):
        """(batch, numbers, axes) of rows of values; of several in a cell the first."""
        dense = numpy.zeros((self.batch, *self.shape, values.shape[1]))
        for row in reversed(numpy.flatnonzero(self.inside(sites))):
            dense[tuple(sites[row])] = values[row]
        return torch.from_numpy(numpy.moveaxis(dense, -1, 1).copy())

    def convolve(self, dense, kernel):
        """kernel (K, ..., C), to (batch, ..., K)."""
        axes = len(self.shape)
        kernel = torch.from_numpy(kernel.astype("float64"))
        if self.transpose:
            function = [torch.conv_transpose1d, torch.conv_transpose2d, torch.conv_transpose3d][axes - 1]
            y = function(dense, kernel.movedim(-1, 0), None, self.stride, self.padding, self.out_padding, 1, self.dilation)
        else:
            function = [torch.conv1d, torch.conv2d, torch.conv3d][axes - 1]
            padding = [(k - 1) // 2 * d for k, d in zip(self.ksize, self.dilation)] if self.subm else self.padding
            y = function(dense, kernel.movedim(-1, 1), None, 1 if self.subm else self.stride, padding, self.dilation)
        return numpy.moveaxis(y.numpy(), 1, -1)

    def results(self, sites):
        if self.subm:
            return sites
        reached = self.convolve(self.grid(sites, numpy.ones((len(sites), 1))), numpy.ones((1, *self.ksize, 1)))
        return numpy.argwhere(reached[..., 0] > 0).astype("int32")

    def at(self, sites, dense):
        """Rows of a dense result; 0 outside."""
        rows = numpy.zeros((len(sites), dense.shape[-1]))
        inside = ((sites >= 0) & (sites < dense.shape[:-1])).all(1)
        rows[inside] = dense[tuple(sites[inside].T)]
        return rows

    def pairs(self, sites):
        """(elements of the kernel, results): the row of sites that is read, or -1."""
        numbers, results, table = self.grid(sites, numpy.arange(1, len(sites) + 1)[:, None]), self.results(sites), []
        for tap in self.taps():
            kernel = numpy.zeros((1, *self.ksize, 1))
            kernel[(0, *tap, 0)] = 1
            table.append(self.at(results, self.convolve(numbers, kernel))[:, 0].round() - 1)
        return results, numpy.array(table).astype("int32").reshape(len(table), len(results))


def voxels(convolution, count, repeats=0, outside=0):
    """Rows without an order: `count` cells, some of them again, and some rows outside of the grid."""
    extents = (convolution.batch, *convolution.shape)
    cells = random.permutation(int(numpy.prod(extents)))[:count]
    rows = numpy.stack(numpy.unravel_index(cells, extents), 1).reshape(-1, len(extents))
    rows = numpy.concatenate([rows, rows[:repeats]])
    far = rows[:outside].copy()
    for i in range(outside):
        axis = i % len(extents)
        far[i, axis] = -1 if i % 2 else extents[axis]
    return random.permutation(numpy.concatenate([rows, far])).astype("int32")


def masks_of(table):
    bits = (1 << numpy.arange(len(table), dtype="uint32"))[:, None]
    return numpy.bitwise_or.reduce(numpy.where(table >= 0, bits, numpy.uint32(0)), 0).astype("uint32")


def implicit(convolution, sites, sort=1):
    results, table = convolution.pairs(sites)
    masks = masks_of(table)
    order = numpy.argsort(masks, kind="stable") if sort else numpy.arange(len(results))
    return {"out_indices": results, "pair_fwd": table, "pair_mask": masks[order].view("int32")[:, None],
            "mask_argsort": order.astype("int32"), "num_act_out": numpy.int32(len(results))}


def listed(convolution, sites):
    results, table = convolution.pairs(sites)
    pairs = numpy.full((2, *table.shape), -1, "int32")
    for tap, inputs in enumerate(table):
        to = numpy.flatnonzero(inputs >= 0)
        pairs[:, tap, :len(to)] = inputs[to], to
    return {"out_indices": results, "indice_pairs": pairs, "indice_pair_num": (table >= 0).sum(1).astype("int32"),
            "num_act_out": numpy.int32(len(results))}


def eighths(*shape):
    return (random.randint(-8, 9, shape) / 8).astype("float32")


ACTIVATIONS = [lambda x: x, lambda x: x.clip(0), lambda x: 1 / (1 + numpy.exp(-x)), lambda x: numpy.where(x < 0, x * 0.25, x)]


def all_plugins(name, convolution, sites, channels, output_channels, activation=0, bias=False, sort=1):
    attributes = convolution.attributes()
    found = implicit(convolution, sites, sort)
    case("GetIndicePairsImplicitGemm", name, {**attributes, "is_train": 0, "do_sort": sort}, {"indices": sites}, found)
    pairs = listed(convolution, sites)
    case("GetIndicePairs", name, attributes, {"indices": sites}, pairs)
    x, kernel = eighths(len(sites), channels), eighths(output_channels, *convolution.ksize, channels)
    y = convolution.at(found["out_indices"], convolution.convolve(convolution.grid(sites, x), kernel))
    inputs = {"features": x, "filters": kernel}
    case("IndiceConv", name, {"is_subm": int(convolution.subm)},
         {**inputs, **{k: v for k, v in pairs.items() if k != "out_indices"}}, {"out_features": y.astype("float32")})
    inputs |= {k: found[k] for k in ("pair_fwd", "pair_mask", "mask_argsort")}
    if bias:
        inputs["bias"] = eighths(output_channels)
        y = y + inputs["bias"]
    case("ImplicitGemm", name, {"act_type": activation, "act_alpha": 0.25, "act_beta": 0.0, "is_subm": int(convolution.subm),
                                "is_train": 0, "output_add_scale": 0.0, "output_scale": 1.0},
         inputs, {"out_features": ACTIVATIONS[activation](y).astype("float32")})


subm = Convolution((5, 6, 7), 3, batch=2, subm=True)
all_plugins("submanifold", subm, voxels(subm, 40), 5, 16, activation=1, bias=True)
all_plugins("voxels again and outside", subm, voxels(subm, 30, repeats=5, outside=6), 4, 3, activation=3, bias=True)
many = Convolution((9, 20, 20), (3, 3, 3), subm=True, dilation=(1, 2, 3))
all_plugins("dilated submanifold, more than a block", many, voxels(many, 135), 3, 18)
strided = Convolution((6, 9, 8), 3, batch=2, stride=2, padding=1)
all_plugins("stride 2", strided, voxels(strided, 14, outside=4), 2, 33, activation=2, sort=0)
uneven = Convolution((7, 8, 9), (3, 2, 1), stride=(2, 1, 3), padding=(0, 1, 0), dilation=(1, 3, 1))
all_plugins("another rule for each axis", uneven, voxels(uneven, 50, repeats=4), 3, 5, bias=True)
up = Convolution((3, 4, 5), 3, batch=2, stride=2, padding=1, out_padding=1, transpose=True)
all_plugins("transposed", up, voxels(up, 7), 3, 5)
apart = Convolution((3, 4), (2, 3), stride=(3, 2), padding=(0, 2), dilation=(2, 2), out_padding=(1, 0), transpose=True)
all_plugins("transposed, two axes", apart, voxels(apart, 7), 2, 4)
flat = Convolution((12, 11), 3, stride=2, padding=1, batch=3)
all_plugins("two axes", flat, voxels(flat, 30), 7, 6, bias=True)
line = Convolution((40,), 5, subm=True)
all_plugins("one axis", line, voxels(line, 17), 3, 2)
wide = Convolution((2, 2, 2), 1, stride=1)
all_plugins("1x1x1, many channels", wide, voxels(wide, 5), 9, 270)
for kind in (subm, strided):
    all_plugins("no voxels" + (", submanifold" if kind.subm else ""), kind, numpy.zeros((0, 4), "int32"), 4, 3)
# Of several blocks of cells, both of inputs and of results.
far = Convolution((60, 150, 150), 3, stride=2, padding=1)
all_plugins("far apart", far, voxels(far, 20), 2, 3)
out = Convolution((4, 4, 4), 2, stride=2)
all_plugins("all outside", out, numpy.full((3, 4), -1, "int32"), 4, 3)

# More elements than a mask has bits.
large = Convolution((8, 9, 10), (3, 5, 3), subm=True)
sites = voxels(large, 70)
pairs = listed(large, sites)
case("GetIndicePairs", "45 elements", large.attributes(), {"indices": sites}, pairs)
x, kernel = eighths(70, 3), eighths(4, 3, 5, 3, 3)
case("IndiceConv", "45 elements", {"is_subm": 1}, {"features": x, "filters": kernel, **{k: v for k, v in pairs.items() if k != "out_indices"}},
     {"out_features": large.at(sites, large.convolve(large.grid(sites, x), kernel)).astype("float32")})
write(__file__)
