"""Writes goldens/*.tensor: what OpenCV makes of small images, for goldens_test.cc.

    python3 -m venv FOLDER && FOLDER/bin/pip install numpy opencv-python-headless==5.0.0.*
    FOLDER/bin/python serve/image/make_goldens.py

Before version 4.12 OpenCV's warps rounded positions to 1/32 of a pixel; these are of 5.0.0. The files are
serve::save_to_file's. Matrices are cv2's: from the image to the result; the test has their inverses by itself.
"""
import pathlib
import struct

import cv2
import numpy as np

FOLDER = pathlib.Path(__file__).parent / "goldens"
TYPES = {np.dtype(np.float32): 0, np.dtype(np.uint8): 3}
AFFINE = np.array([[0.83, -0.41, 11.3], [0.38, 0.9, -6.7]], np.float32)
PERSPECTIVE = np.array([[0.9, 0.2, 3], [-0.1, 1.1, 2], [0.002, -0.003, 1]], np.float32)
LANDMARKS = np.array([[20.5, 14.2], [39.1, 18.4], [28.3, 24.9], [19.8, 31.7], [35.2, 35.5]], np.float32)
ARCFACE = np.array([[38.2946, 51.6963], [73.5318, 51.5014], [56.0252, 71.7366], [41.5493, 92.3655],
                    [70.7299, 92.2041]], np.float32)


def save(name, array):
    array = np.ascontiguousarray(array)
    head = struct.pack("<III", 0xFCCFE2E2, array.ndim, TYPES[array.dtype]) + struct.pack(f"<{array.ndim}i", *array.shape)
    (FOLDER / f"{name}.tensor").write_bytes(head + array.tobytes())


def image_of(random, height, width, channels):
    """Noise over a gradient: neighbours differ, and so do distant parts."""
    y, x = np.mgrid[:height, :width]
    slope = (x * 2 + y)[..., None] + np.arange(channels) * 40
    return ((slope + random.integers(0, 120, (height, width, channels))) % 256).astype(np.uint8)


def warp(image, matrix, width, height, border=114):
    return cv2.warpAffine(image, matrix, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT,
                          borderValue=(border,) * 4)


def ultralytics(image, size, scaleup=True, center=True):
    """By the description of Ultralytics' LetterBox: whole pixels, then a border."""
    height, width = image.shape[:2]
    scale = min(size[0] / height, size[1] / width)
    scale = scale if scaleup else min(scale, 1.0)
    inner = round(width * scale), round(height * scale)
    rest = [size[1] - inner[0], size[0] - inner[1]]
    halves = [r / 2 if center else r for r in rest]
    left, top = [round(h - 0.1) if center else 0 for h in halves]
    resized = cv2.resize(image, inner, interpolation=cv2.INTER_LINEAR)
    return cv2.copyMakeBorder(resized, top, rest[1] - top, left, rest[0] - left, cv2.BORDER_CONSTANT, value=(114,) * 3)


def centred(image, size):
    """tensorRT_Pro's matrix."""
    height, width = image.shape[:2]
    scale = min(size[0] / height, size[1] / width)
    shift = [(-scale * a + b + scale - 1) / 2 for a, b in ((width, size[1]), (height, size[0]))]
    return warp(image, np.array([[scale, 0, shift[0]], [0, scale, shift[1]]]), size[1], size[0])


def umeyama(points, to):
    """Umeyama 1991, without the step for mirrors."""
    a, b = points - points.mean(0), to - to.mean(0)
    u, s, v = np.linalg.svd(b.T @ a)
    turn = u @ v
    scale = s.sum() / (a ** 2).sum()
    return np.hstack([scale * turn, (to.mean(0) - scale * turn @ points.mean(0))[:, None]])


def bt709(y, u, v):
    y, u, v = 255 / 219 * (y - 16.0), u - 128.0, v - 128.0
    bgr = np.stack([y + 2 * (1 - 0.0722) * 255 / 224 * u,
                    y - 255 / 224 / 0.7152 * (2 * (1 - 0.0722) * 0.0722 * u + 2 * (1 - 0.2126) * 0.2126 * v),
                    y + 2 * (1 - 0.2126) * 255 / 224 * v], -1)
    return np.clip(np.round(bgr), 0, 255).astype(np.uint8)


def main():
    FOLDER.mkdir(exist_ok=True)
    random = np.random.default_rng(29)
    bgr, bgra = image_of(random, 45, 67, 3), image_of(random, 45, 67, 4)
    grey = image_of(random, 45, 67, 1)
    for name, image in ("bgr", bgr), ("bgra", bgra), ("grey", grey):
        save(name, image)
        for width, height in (41, 30), (75, 52), (12, 10):
            resized = cv2.resize(image, (width, height), interpolation=cv2.INTER_LINEAR)
            save(f"resize_{name}_{width}x{height}", resized.reshape(height, width, -1))
        save(f"affine_{name}", warp(image, AFFINE, 60, 50).reshape(50, 60, -1))
    save("affine_inverse", cv2.invertAffineTransform(AFFINE.astype(np.float64)).astype(np.float32))
    save("perspective", cv2.warpPerspective(bgr, PERSPECTIVE, (60, 50), flags=cv2.INTER_LINEAR,
                                            borderMode=cv2.BORDER_CONSTANT, borderValue=(9,) * 3))
    save("perspective_inverse", np.linalg.inv(PERSPECTIVE.astype(np.float64)).astype(np.float32))
    save("centred_48x64", centred(bgr, (48, 64)))
    save("centred_90x70", centred(bgr, (90, 70)))
    save("ultralytics_48x64", ultralytics(bgr, (48, 64)))
    save("ultralytics_91x70", ultralytics(bgr, (91, 70)))
    save("ultralytics_91x70_not_larger", ultralytics(bgr, (91, 70), scaleup=False))
    save("ultralytics_91x70_corner", ultralytics(bgr, (91, 70), center=False))
    save("blob", cv2.dnn.blobFromImage(bgr, 1 / 255, (48, 40), (104, 117, 123), swapRB=True))
    save("crop", cv2.resize(bgr[7:29, 10:53], (32, 24), interpolation=cv2.INTER_LINEAR))
    matrix = umeyama(LANDMARKS.astype(np.float64), ARCFACE.astype(np.float64))
    save("arcface_matrix", matrix.astype(np.float32))
    save("arcface", warp(bgr, matrix, 112, 112, 0))
    yuv = random.integers(0, 256, (48, 38), np.uint8)  # 32 rows of Y, then chroma
    save("yuv", yuv)
    for name, code in ("nv12", cv2.COLOR_YUV2BGR_NV12), ("i420", cv2.COLOR_YUV2BGR_I420):
        converted = cv2.cvtColor(yuv, code)
        save(f"{name}_bgr", converted)
        save(f"{name}_resized", cv2.resize(converted, (29, 21), interpolation=cv2.INTER_LINEAR))
    yuyv = random.integers(0, 256, (32, 38, 2), np.uint8)
    save("yuyv", yuyv)
    save("yuyv_bgr", cv2.cvtColor(yuyv, cv2.COLOR_YUV2BGR_YUYV))
    luma = yuv[:32].clip(16).astype(np.float64)
    chroma = yuv[32:].reshape(16, 19, 2).repeat(2, 0).repeat(2, 1).astype(np.float64)
    save("nv12_bgr_bt709", bt709(luma, chroma[..., 0], chroma[..., 1]))


if __name__ == "__main__":
    main()
