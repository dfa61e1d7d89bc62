"""One bilinear sample, as RoIAlign reads it: for the make_cases.py of plugins whose results PyTorch
and torchvision do not have.
"""


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
