"""Writes cases.json: boxes read by bilinear samples, a sample at a time. Needs NumPy."""
import math
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402


def sample(image, y, x, clamps):
    """Of (C, height, width); 0 outside unless it is clamped."""
    _, height, width = image.shape
    if clamps:
        y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    if not (0 <= y <= height - 1 and 0 <= x <= width - 1):
        return numpy.zeros(len(image))
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    y, x = y - top, x - left
    return ((image[:, top, left] * (1 - x) + image[:, top, right] * x) * (1 - y)
            + (image[:, bottom, left] * (1 - x) + image[:, bottom, right] * x) * y)


def image(state, *shape):
    # Multiples of 1/16 within 2, so that fp16 holds them exactly.
    return state.randint(-32, 33, shape).astype("float32") / 16


def crop_and_resize(name, plugin, version, images, boxes, crop, extents=(5, 6), channels=2, last_axis=True):
    """tf.image.crop_and_resize."""
    state = numpy.random.RandomState(len(name))
    x = image(state, images, channels, *extents)
    rois = numpy.array(boxes, "float32").reshape(-1, 4)
    rois = numpy.broadcast_to(rois, (images, *rois.shape))
    y = numpy.zeros((images, rois.shape[1], channels, *crop), "float32")
    for n, b, i, j in numpy.ndindex(images, rois.shape[1], *crop):
        at = []
        for k, (extent, bins, where) in enumerate(zip(extents, crop, (i, j))):
            low, high = rois[n, b, k], rois[n, b, k + 2]
            at.append((low + (high - low) * where / (bins - 1) if bins > 1 else (low + high) / 2) * (extent - 1))
        y[n, b, :, i, j] = sample(x[n], *at, False)
    case(plugin, name, {"crop_width": crop[1], "crop_height": crop[0]},
         {"feature_maps": x, "rois": rois[..., None] if last_axis else rois}, {"pfmap": y}, version=version)


PARTS = [[0, 0, 1, 1], [0.25, 0.125, 0.75, 0.5], [0.75, 0.5, 0.25, 0.125], [-0.25, 0.5, 0.5, 1.5], [0.5, 0.5, 0.5, 0.5]]
for plugin, version in [("CropAndResize", "1"), ("CropAndResizeDynamic", "1"), ("CropAndResizeDynamic", "2")]:
    crop_and_resize("two images", plugin, version, 2, PARTS, (3, 4))
    crop_and_resize("one place", plugin, version, 1, PARTS, (1, 1), last_axis=False)
    crop_and_resize("no boxes", plugin, version, 1, [], (2, 2))
    crop_and_resize("no images", plugin, version, 0, PARTS, (2, 2))


def pyramid(name, images, boxes, size, attributes, extents=((8, 8), (4, 4), (2, 3), (1, 1)), channels=2):
    """TensorRT's PyramidROIAlign, as its README and the paper on feature pyramids say."""
    state = numpy.random.RandomState(len(name))
    maps = [image(state, images, channels, *e) for e in extents]
    rois = numpy.array(boxes, "float32").reshape(-1, 4)
    rois = numpy.broadcast_to(rois, (images, *rois.shape))
    legacy = attributes.get("legacy", 0)
    h, w = attributes.get("image_size", [1024, 1024])
    transform = -1 if legacy else attributes.get("roi_coords_transform", 2)
    absolute = 0 if legacy else attributes.get("roi_coords_absolute", 1)
    swap = 1 if legacy else attributes.get("roi_coords_swap", 0)
    plus = 0 if legacy else attributes.get("roi_coords_plusone", 0)
    ratio = 1 if legacy else attributes.get("sampling_ratio", 0)
    least = 224 * 224 * 2 / (h * w) / 16 if legacy else attributes.get("fpn_scale", 224) ** 2 / (h * w) / 4
    y = numpy.zeros((images, rois.shape[1], channels, size, size), "float32")
    for n, b in numpy.ndindex(images, rois.shape[1]):
        roi = rois[n, b] if swap else rois[n, b][[1, 0, 3, 2]]
        lows, highs = numpy.minimum(roi[:2], roi[2:]), numpy.maximum(roi[:2], roi[2:])
        if absolute:
            lows, highs = lows / [h, w], highs / [h, w]
        lows, highs = lows.clip(0, 1), highs.clip(0, 1)
        area = numpy.prod(highs - lows + (numpy.array([1 / h, 1 / w]) if plus else 0))
        level = sum(area > least * 4 ** k for k in range(3))
        axes = []
        for low, high, extent in zip(lows, highs, extents[level]):
            length = extent - 1 if transform == -1 else extent
            start, end = low * length - (transform == 2) / 2, high * length - (transform == 2) / 2
            count = ratio or max(1, math.ceil((end - start) / size))
            step = (end - start) / (size - 1 if transform == -1 else size)
            axes.append([[start + step * (k + (s + (0.5 if transform >= 1 else 0)) / count) for s in range(count)]
                         for k in range(size)])
        for i, j in numpy.ndindex(size, size):
            samples = [sample(maps[level][n], a, c, True) for a in axes[0][i] for c in axes[1][j]]
            y[n, b, :, i, j] = numpy.mean(samples, 0)
    case("PyramidROIAlign_TRT", name, {"pooled_size": size, **attributes},
         {"rois": rois, **{f"map{i}": m for i, m in enumerate(maps)}}, {"pooled": y})


PIXELS = [[0, 0, 63, 60], [8, 4, 24, 20], [40, 30, 20, 10], [-5, 3, 12, 7], [0, 0, 4, 4], [10, 10, 90, 50]]
SMALL = {"image_size": [64, 48], "fpn_scale": 24}
for transform in (-1, 0, 1, 2):
    pyramid(f"transform {transform}", 2, PIXELS, 3, {**SMALL, "roi_coords_transform": transform})
pyramid("rows first, pixels counted, two samples", 1, PIXELS, 2,
        {**SMALL, "roi_coords_swap": 1, "roi_coords_plusone": 1, "sampling_ratio": 2})
pyramid("parts of the image", 1, PARTS, 2, {**SMALL, "roi_coords_absolute": 0})
pyramid("legacy", 1, PARTS, 2, {"legacy": 1, "image_size": [1024, 1024]})
pyramid("no boxes", 1, [], 2, SMALL)


def multilevel(name, images, boxes, size, image_size=None, channels=2):
    state = numpy.random.RandomState(len(name))
    extents = [(24, 24), (12, 12), (6, 6), (3, 3), (2, 2)]
    maps = [image(state, images, channels, *e) for e in extents]
    rois = numpy.array(boxes, "float32").reshape(-1, 4)
    rois = numpy.broadcast_to(rois, (images, *rois.shape))
    height, width = image_size[1:] if image_size else (832, 1344)
    y = numpy.zeros((images, rois.shape[1], channels, size, size), "float32")
    for n, b in numpy.ndindex(images, rois.shape[1]):
        y1, x1, y2, x2 = rois[n, b]
        if not (0 <= y1 < y2 <= height and 0 <= x1 < x2 <= width):
            continue
        level = sum((y2 - y1) * (x2 - x1) > 224 * 224 / 4 * 4 ** k for k in range(4))
        scale = 2.0 ** -(level + 2)
        for i, j in numpy.ndindex(size, size):
            y[n, b, :, i, j] = sample(maps[level][n], scale * (y1 + (y2 - y1) * (i + 0.5) / size),
                                      scale * (x1 + (x2 - x1) * (j + 0.5) / size), True)
    case("MultilevelCropAndResize_TRT", name,
         {"pooled_size": size, **({"image_size": list(image_size)} if image_size else {})},
         {"rois": rois, **{f"map{i}": m for i, m in enumerate(maps)}}, {"pooled": y})


BOXES = [[8, 8, 40, 72], [0, 0, 200, 100], [100, 50, 400, 400], [0, 0, 830, 500], [0, 10, 800, 1300], [20, 30, 10, 40],
         [-1, 0, 10, 10]]
multilevel("of all levels", 2, BOXES, 2)
multilevel("an image of another size", 1, BOXES, 3, (3, 256, 256))
multilevel("no boxes", 1, [], 2)
write(__file__)
