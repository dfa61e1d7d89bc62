"""How the example shrinks photos and compares pictures: 8-bit RGB, Pillow and NumPy only.

A photo is shrunk by an integer factor with Pillow's bicubic filter, which is antialiased when it
shrinks (`Image.resize(size, Image.BICUBIC)`). Training, evaluation and the
demo all shrink this way.
"""

import numpy as np
from PIL import Image


def read_photo(path):
    """An 8-bit RGB Pillow picture; grey photos are repeated over the three channels."""
    return Image.open(path).convert("RGB")


def crop_to_multiple(photo, factor):
    """The photo without its last rows and columns that `factor` does not divide."""
    width, height = photo.size
    return photo.crop((0, 0, width - width % factor, height - height % factor))


def shrink(photo, factor):
    """The photo's width and height divided by `factor`, which must divide them."""
    return photo.resize((photo.width // factor, photo.height // factor), Image.BICUBIC)


def bicubic_weights(small, large, a=-0.75):
    """The (large, small) matrix that enlarges a line of pixels; the border is clamped."""
    centre = (np.arange(large) + 0.5) * small / large - 0.5
    first = np.floor(centre).astype(int)
    weights = np.zeros((large, small))
    for tap in range(-1, 3):
        x = np.abs(centre - (first + tap))
        near = (a + 2) * x**3 - (a + 3) * x**2 + 1
        far = a * (x**3 - 5 * x**2 + 8 * x - 4)
        column = np.clip(first + tap, 0, small - 1)
        np.add.at(weights, (np.arange(large), column), np.where(x <= 1, near, far))
    return weights


def enlarge(photo, size):
    """The photo at (width, height) `size`, by the same bicubic as the network's first node."""
    pixels = np.asarray(photo, np.float64)
    rows = bicubic_weights(photo.height, size[1])
    columns = bicubic_weights(photo.width, size[0])
    pixels = np.einsum("yi,xj,ijc->yxc", rows, columns, pixels, optimize=True)
    return Image.fromarray(np.rint(pixels.clip(0, 255)).astype(np.uint8))


def psnr(photo, reference):
    """Peak signal-to-noise ratio in dB over all pixels and the three channels of 8-bit pictures."""
    difference = np.asarray(photo, np.float64) - np.asarray(reference, np.float64)
    return float(10 * np.log10(255**2 / np.mean(difference**2)))
