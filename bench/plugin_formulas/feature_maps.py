"""Images and feature maps: pooling, sampling, resizing and regions."""
import numpy as np
import torch
import torch.nn.functional as functional
import torchvision

from plugin_formulas.registry import formula, images, of


@formula("AdaptivePoolPluginDynamic")
def adaptive_pool(numbers):
    return of("AdaptivePoolPluginDynamic", {"x": numbers.normal(1, 256, 64, 64)}, {"pooling_type": 1, "output_size": [7, 7]},
              lambda x: functional.adaptive_avg_pool2d(x, 7))


def _samples(x, rows, columns):
    """x (1, C, H, W) at places in elements, of any shape: (C, …)."""
    height, width = x.shape[2:]
    grid = torch.stack([2 * columns / (width - 1) - 1, 2 * rows / (height - 1) - 1], -1)
    return functional.grid_sample(x, grid.reshape(1, -1, 1, 2), align_corners=True).reshape(x.shape[1], *rows.shape)


@formula("MMCVBorderAlign")
def border_align(numbers):
    low, size = numbers.uniform(1, 1000, 2) * 25, numbers.uniform(1, 1000, 2) * 20
    inputs = {"input": numbers.normal(1, 4 * 64, 50, 50), "boxes": np.concatenate([low, low + size], 2)}

    def by_torch(input, boxes):
        x1, y1, x2, y2 = boxes[0].unbind(1)
        along = torch.arange(11) / 10
        sides = []
        for side, (row, column, down, right) in enumerate(
                [(y1, x1, 0 * y1, x2 - x1), (y1, x1, y2 - y1, 0 * x1), (y2, x2, 0 * y1, x1 - x2), (y2, x2, y1 - y2, 0 * x1)]):
            places = row[:, None] + down[:, None] * along, column[:, None] + right[:, None] * along
            sides.append(_samples(input[:, side * 64:side * 64 + 64], *places).amax(-1))
        return torch.stack(sides, -1)[None]

    return of("MMCVBorderAlign", inputs, {"pool_size": 10}, by_torch)


@formula("MMCVCARAFE", "MMCVCARAFENaive", "CarafeFeatureReassemblePluginDynamic")
def carafe(numbers):
    inputs = {"features": numbers.normal(1, 64, 32, 32), "masks": numbers.uniform(1, 25, 64, 64)}

    def by_torch(features, masks):
        windows = functional.unfold(features, 5, padding=2).reshape(1, 64 * 25, 32, 32)
        windows = functional.interpolate(windows, scale_factor=2, mode="nearest").reshape(1, 64, 25, 64, 64)
        return (windows * masks[:, None]).sum(2)

    return of("MMCVCARAFE", inputs, {"kernel_size": 5, "group_size": 1, "scale_factor": 2.0}, by_torch)


@formula("CoordConvAC")
def coord_conv(numbers):
    def by_torch(x):
        line = torch.linspace(-1, 1, 128)
        rows, columns = torch.meshgrid(line, line, indexing="ij")
        return torch.cat([x, torch.stack([rows, columns])[None]], 1)

    return of("CoordConvAC", images(numbers), {}, by_torch)


@formula("MMCVCornerPool")
def corner_pool(numbers):
    return of("MMCVCornerPool", images(numbers), {"mode": 0}, lambda x: x.flip(2).cummax(2).values.flip(2))


@formula("CropAndResize", "CropAndResizeDynamic", "CropAndResizeDynamic/2")
def crop_and_resize(numbers):
    low, size = numbers.uniform(1, 500, 2) * 0.5, numbers.uniform(1, 500, 2) * 0.45
    rois = np.concatenate([low, low + size], 2)[..., None]

    def by_torch(feature_maps, rois):
        y1, x1, y2, x2 = rois[0, :, :, 0].unbind(1)
        steps = torch.linspace(0, 1, 14)
        rows, columns = y1[:, None] + (y2 - y1)[:, None] * steps, x1[:, None] + (x2 - x1)[:, None] * steps
        places = (49 * rows)[:, :, None].expand(-1, -1, 14), (49 * columns)[:, None].expand(-1, 14, -1)
        return _samples(feature_maps, *places).transpose(0, 1)[None]

    return of("CropAndResizeDynamic", {"feature_maps": numbers.normal(1, 256, 50, 50), "rois": rois},
              {"crop_width": 14, "crop_height": 14}, by_torch)


@formula("DynamicTRTResize")
def resize_like(numbers):
    inputs = {"x": numbers.normal(1, 64, 64, 64), "size_tensor": np.zeros((1, 1, 128, 128), np.float32)}
    return of("DynamicTRTResize", inputs, {"align_corners": 1}, lambda x, size_tensor:
              functional.interpolate(x, size=(128, 128), mode="bicubic", align_corners=True))


@formula("GridSampler3DTRT", "GridSampler3DTRT2")
def grid_sample_3d(numbers):
    inputs = {"input": numbers.normal(1, 32, 16, 32, 32), "grid": numbers.uniform(1, 3, 16, 32, 32) * 20 - 10}
    return of("GridSampler3DTRT", inputs, {"interpolation_mode": 0, "padding_mode": 0, "align_corners": 0}, lambda input, grid:
              functional.grid_sample(input, grid.permute(0, 2, 3, 4, 1) / 10, align_corners=False))


@formula("MMCVMaskedConv2d")
def masked_convolution(numbers):
    weight, bias = numbers.normal(64, 64, 3, 3) * np.float32(0.05), numbers.normal(64)
    held = torch.from_numpy(weight), torch.from_numpy(bias)
    inputs = {"features": numbers.normal(1, 64, 64, 64), "mask": (numbers.uniform(1, 64, 64) > 0.5).astype(np.float32),
              "weight": weight, "bias": bias}
    return of("MMCVMaskedConv2d", inputs, {"padding": [1, 1], "stride": 1},
              lambda features, mask: functional.conv2d(features, *held, padding=1) * mask[:, None], constants=("weight", "bias"))


@formula("MMCVMultiLevelRoiAlign", "RoiExtractorPluginDynamic")
def multi_level_roi_align(numbers):
    low, size = numbers.uniform(500, 2) * 256, 8 + numbers.uniform(500, 2) ** 2 * 240
    rois = np.concatenate([np.zeros((500, 1), np.float32), low, low + size], 1)
    strides = [4.0, 8.0, 16.0, 32.0]
    maps = {f"feat{i}": numbers.normal(1, 256, *[int(512 / stride)] * 2) for i, stride in enumerate(strides)}

    def by_torch(rois, **maps):
        scale = ((rois[:, 3] - rois[:, 1]) * (rois[:, 4] - rois[:, 2])).sqrt()
        levels = (scale / 56 + 1e-6).log2().floor().clamp(0, 3)
        y = torch.zeros(len(rois), 256, 7, 7)
        for level, (x, stride) in enumerate(zip(maps.values(), strides)):
            chosen = (levels == level).nonzero()[:, 0]
            y[chosen] = torchvision.ops.roi_align(x, rois[chosen], 7, 1 / stride, 2, True)
        return y

    attributes = {"featmap_strides": strides, "output_height": 7, "output_width": 7, "sampling_ratio": 2, "roi_scale_factor": -1.0,
                  "finest_scale": 56, "aligned": 1, "pool_mode": 1}
    return of("MMCVMultiLevelRoiAlign", {"rois": rois, **maps}, attributes, by_torch)


@formula("Reorg_TRT", "Reorg_TRT/2")
def reorg(numbers):
    def by_torch(x):
        blocks = functional.pixel_unshuffle(x.reshape(8, 16, 104, 104), 2)
        return blocks.reshape(8, 16, 4, 52, 52).transpose(1, 2).reshape(8, 256, 26, 26)

    return of("Reorg_TRT", {"x": numbers.normal(8, 64, 52, 52)}, {"stride": 2}, by_torch)


@formula("Region_TRT")
def region(numbers):
    def by_torch(x):
        y = x.reshape(8, 5, 85, 19, 19)
        return torch.cat([y[:, :, :2].sigmoid(), y[:, :, 2:4], y[:, :, 4:5].sigmoid(), y[:, :, 5:].softmax(2)], 2).reshape(x.shape)

    return of("Region_TRT", {"x": numbers.normal(8, 425, 19, 19)}, {"num": 5, "coords": 4, "classes": 80}, by_torch)


@formula("RotateTRT", "RotateTRT2")
def rotate(numbers):
    inputs = {"img": numbers.normal(256, 200, 200), "angle": np.float32([30]), "center": np.float32([100, 100])}

    def by_torch(img, angle, center):
        turn = -torch.deg2rad(angle)
        cosine, sine = turn.cos(), turn.sin()
        (cx, cy), zero = center - 100, torch.zeros(1)
        theta = torch.stack([torch.cat([cosine, sine, (-cx * cosine - cy * sine + cx) / 100]),
                             torch.cat([-sine, cosine, (cx * sine - cy * cosine + cy) / 100])])
        grid = functional.affine_grid(theta[None], (1, 1, 200, 200), align_corners=False)
        return functional.grid_sample(img[None], grid, align_corners=False)[0]

    return of("RotateTRT", inputs, {"interpolation": 0}, by_torch)


@formula("TorchUnfoldPluginDynamic")
def unfold(numbers):
    return of("TorchUnfoldPluginDynamic", {"x": numbers.normal(1, 64, 64, 64)}, {"kernel_size": [3]}, lambda x: functional.unfold(x, 3))


@formula("UpsamplePlugin")
def upsample_bilinear(numbers):
    return of("UpsamplePlugin", {"x": numbers.normal(1, 64, 64, 64)}, {"scaleFactor": 2, "alignCorners": 0}, lambda x:
              functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False))


@formula("ResizeNearest_TRT", "UpSamplePlugin_TRT/01/_TRT")
def upsample_nearest(numbers):
    return of("ResizeNearest_TRT", {"x": numbers.normal(1, 64, 64, 64)}, {"scale": 2.0}, lambda x:
              functional.interpolate(x, scale_factor=2, mode="nearest"))


@formula("MMCVRotatedFeatureAlign")
def rotated_feature_align(numbers):
    extent, channels = 100, 256
    boxes = np.concatenate([numbers.uniform(1, extent, extent, 2) * extent, numbers.uniform(1, extent, extent, 2) * 20,
                            numbers.normal(1, extent, extent, 1)], 3)

    def by_torch(features, best_rbboxes):
        row, column, wide, tall, angle = best_rbboxes[0].unbind(-1)
        cosine, sine, y = angle.cos(), angle.sin(), features
        for a, b in ((0, 0), (1, 1), (-1, 1), (-1, -1), (1, -1)):
            at_row, at_column = (row + sine * wide * a / 2 + cosine * tall * b / 2,
                                 column + cosine * wide * a / 2 - sine * tall * b / 2)
            inside = (at_row >= -1) & (at_row <= extent) & (at_column >= -1) & (at_column <= extent)
            grid = torch.stack([at_column, at_row], -1)[None] * 2 / (extent - 1) - 1
            y = y + functional.grid_sample(features, grid, padding_mode="border", align_corners=True) * inside
        return y

    return of("MMCVRotatedFeatureAlign", {"features": numbers.normal(1, channels, extent, extent), "best_rbboxes": boxes},
              {"spatial_scale": 1.0, "points": 5}, by_torch)
