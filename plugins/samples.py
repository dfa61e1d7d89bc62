"""Bilinear samples as RoIAlign reads them, and a region of them: for the make_cases.py of plugins whose
results PyTorch and torchvision do not have. Needs NumPy.
"""
import numpy


def sample(plane, y, x):
    """The value of a plane (height, width) at a place; 0 more than one element outside of it."""
    height, width = plane.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return 0.0
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    y, x = y - top, x - left
    return ((plane[top, left] * (1 - x) + plane[top, right] * x) * (1 - y)
            + (plane[bottom, left] * (1 - x) + plane[bottom, right] * x) * y)


def pooled(x, roi, size, scale, ratio, aligned, angle, reduce):
    """roi: image, centre x, centre y, width, height. No angle: it is not a turned one."""
    offset = 0.5 if aligned else 0
    column, row = roi[1] * scale - offset, roi[2] * scale - offset
    width, height = roi[3] * scale, roi[4] * scale
    left, top = -width / 2, -height / 2
    if not aligned:  # upright regions grow from their corner, turned ones about their centre
        width, height = max(width, 1), max(height, 1)
    if angle is not None:
        left, top = -width / 2, -height / 2
    cosine, sine = numpy.cos(angle or 0), numpy.sin(angle or 0)
    steps = height / size[0], width / size[1]
    counts = [ratio or int(numpy.ceil(step)) for step in steps]
    y = numpy.zeros((x.shape[1], *size), "float32")
    for c, i, j in numpy.ndindex(*y.shape):
        samples = []
        for k, m in numpy.ndindex(*counts):
            down = (i + (k + 0.5) / counts[0]) * steps[0] + top
            right = (j + (m + 0.5) / counts[1]) * steps[1] + left
            samples.append(sample(x[int(roi[0]), c],
                                  down * cosine - right * sine + row,
                                  down * sine + right * cosine + column))
        y[c, i, j] = reduce(samples)
    return y
