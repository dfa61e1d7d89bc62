"""Writes cases.json: what OpenCV makes of images in float32, and NumPy of what OpenCV rounds.

Needs NumPy and OpenCV.
"""
import pathlib
import sys

import cv2
import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

BORDER = 114


def image(height, width, channels, seed):
    """Smooth, with an edge."""
    y, x = numpy.mgrid[:height, :width]
    planes = [128 + 100 * numpy.sin(x / (3 + c) + seed) * numpy.cos(y / (4 + c)) + 20 * (x > width / 2)
              for c in range(channels)]
    return numpy.clip(numpy.stack(planes, -1), 0, 255).astype("uint8")


def resized(picture, width, height):
    result = cv2.resize(picture.astype("float32"), (width, height), interpolation=cv2.INTER_LINEAR)
    return result.reshape(height, width, picture.shape[2])


def stretched(picture, width, height):
    rows, columns = picture.shape[:2]
    return resized(picture, width, height), (columns / width, rows / height, 0, 0)


def letterboxed(picture, width, height):
    """Ultralytics' LetterBox and scale_boxes."""
    rows, columns = picture.shape[:2]
    scale = min(width / columns, height / rows)
    inner = round(columns * scale), round(rows * scale)
    left, top = round((width - inner[0]) / 2 - 0.1), round((height - inner[1]) / 2 - 0.1)
    result = numpy.full((height, width, picture.shape[2]), BORDER, "float32")
    result[top:top + inner[1], left:left + inner[0]] = resized(picture, *inner)
    return result, (1 / scale, 1 / scale, left, top)


def centred(picture, width, height):
    """tensorRT_Pro's matrix, and bilinear samples with a constant border."""
    rows, columns = picture.shape[:2]
    scale = min(width / columns, height / rows)
    left, top = ((to - scale * of + scale - 1) / 2 for to, of in ((width, columns), (height, rows)))
    padded = numpy.pad(picture.astype(float), ((2, 2), (2, 2), (0, 0)), constant_values=BORDER)

    def positions(count, shift, extent):
        at = numpy.clip((numpy.arange(count) - shift) / scale, -2, extent)
        low = numpy.floor(at).astype(int)
        return numpy.minimum(low + 2, extent + 2), at - low

    x, across = positions(width, left, columns)
    y, down = positions(height, top, rows)
    across, down = across[None, :, None], down[:, None, None]
    mixed = [padded[y + k][:, x] * (1 - across) + padded[y + k][:, numpy.minimum(x + 1, columns + 3)] * across
             for k in (0, 1)]
    return mixed[0] * (1 - down) + mixed[1] * down, (1 / scale, 1 / scale, left, top)


FITS = {stretched: "stretch", letterboxed: "letterbox", centred: "centred"}


def expected(pictures, fit, width, height, scale=1 / 255, mean=0, std=1, swaps=False):
    tensors, rows = [], []
    for picture in pictures:
        result, (x, y, left, top) = fit(picture[:, :, :3], width, height)
        result = result[:, :, ::-1] if swaps else result
        tensors.append(((result * scale - numpy.float32(mean)) / numpy.float32(std)).transpose(2, 0, 1))
        rows.append([x, 0, -left * x, 0, y, -top * y, picture.shape[1], picture.shape[0]])
    return {"tensor": numpy.float32(tensors), "to_image": numpy.float32(rows)}


def preprocess(name, pictures, fit, width, height, attributes=None, images=None, tolerance=(2e-4, 2e-4), half=False,
               **norm):
    fixed = {"tensor", "to_image"}
    outputs = expected(pictures, fit, width, height, **norm)
    if half:
        outputs["tensor"] = outputs["tensor"].astype("float16")
    case("PreprocessImagesHalf" if half else "PreprocessImages", name,
         {"height": height, "width": width, "fit": FITS[fit], **(attributes or {})},
         {"images": numpy.stack(pictures) if images is None else images}, outputs, fixed=fixed, tolerance=tolerance)


def luma_and_chroma(height, width, seed):
    """Planes of Y, and of U and V side by side for each 2x2 pixels."""
    random = numpy.random.default_rng(seed)
    chroma = cv2.resize(random.integers(64, 192, (2, 2, 2)).astype("float32"), (width // 2, height // 2))
    return image(height, width, 1, seed)[:, :, 0], chroma.astype("uint8")


def nv12(luma, chroma):
    """Bytes, and what OpenCV makes of them."""
    planes = numpy.concatenate([luma, chroma.reshape(-1, luma.shape[1])])
    return planes, cv2.cvtColor(planes, cv2.COLOR_YUV2BGR_NV12)


def i420(luma, chroma):
    planes = numpy.concatenate([luma, chroma.transpose(2, 0, 1).reshape(-1, luma.shape[1])])
    return planes, cv2.cvtColor(planes, cv2.COLOR_YUV2BGR_I420)


def yuyv(luma, chroma):
    """Rows of the image share what two of them share in `chroma`."""
    pixels = numpy.stack([luma, chroma.repeat(2, 0).reshape(luma.shape)], -1)
    return pixels, cv2.cvtColor(pixels, cv2.COLOR_YUV2BGR_YUYV)


def main():
    wide = [image(9, 14, 3, seed) for seed in (1, 2)]
    preprocess("two wide images", wide, letterboxed, 16, 16)
    preprocess("a tall image made smaller", [image(23, 11, 3, 3)], letterboxed, 8, 12)
    preprocess("mean and std of ImageNet, blue first", wide[:1], letterboxed, 16, 16,
               {"swap_rb": 1, "mean": numpy.float32([0.485, 0.456, 0.406]), "std": numpy.float32([0.229, 0.224, 0.225])},
               swaps=True, mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])
    preprocess("one mean for all", wide[:1], stretched, 8, 4, {"scale": 1.0, "mean": numpy.float32([127.5]),
                                                              "std": numpy.float32([128])}, scale=1, mean=127.5, std=128)
    preprocess("grey", [image(7, 7, 1, 4)], letterboxed, 10, 12)
    preprocess("alpha is left out", [image(8, 6, 4, 5)], stretched, 12, 9)
    preprocess("centred to fractions", wide, centred, 13, 15)
    for name, convert in ("NV12", nv12), ("I420", i420), ("YUYV", yuyv):
        given, blue_first = convert(*luma_and_chroma(12, 20, 6))
        preprocess(name, [blue_first], letterboxed, 16, 16, {"pixels": name.lower(), "swap_rb": 1}, images=given[None],
                   swaps=True, tolerance=(3e-3, 3e-3))
    planes = [i420(*luma_and_chroma(8, 10, seed)) for seed in (7, 8)]
    preprocess("two of I420", [blue_first for _, blue_first in planes], stretched, 12, 10, {"pixels": "i420"},
               images=numpy.stack([given for given, _ in planes]), tolerance=(3e-3, 3e-3))
    preprocess("halves", wide, letterboxed, 16, 16, half=True, tolerance=(0, 2e-3))
    preprocess("halves of one mean", wide[:1], stretched, 8, 4, {"scale": 1.0, "mean": numpy.float32([127.5]),
                                                                "std": numpy.float32([128])}, half=True, scale=1,
               mean=127.5, std=128, tolerance=(1e-5, 2e-3))
    write(__file__)


if __name__ == "__main__":
    main()
