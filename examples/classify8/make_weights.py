"""Writes lenet.wts (random weights), images.bin and expected.npy (NumPy's result) into a folder."""
import pathlib
import sys

import numpy as np


def convolve(x, kernel, bias):
    windows = np.lib.stride_tricks.sliding_window_view(x, kernel.shape[2:], axis=(2, 3))
    return np.einsum("nchwyx,ocyx->nohw", windows, kernel) + bias[:, None, None]


def pool(x, how):
    n, c, h, w = x.shape
    return how(x.reshape(n, c, h // 2, 2, w // 2, 2), axis=(3, 5))


def lenet(x, w):
    x = pool(np.maximum(convolve(x, w["conv1.weight"], w["conv1.bias"]), 0), np.max)
    x = pool(np.maximum(convolve(x, w["conv2.weight"], w["conv2.bias"]), 0), np.mean)
    x = x.reshape(len(x), -1) @ w["fc.weight"].T + w["fc.bias"]
    x = np.exp(x - x.max(axis=1, keepdims=True))
    return x / x.sum(axis=1, keepdims=True)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    random = np.random.default_rng(8)
    shapes = {"conv1.weight": (4, 1, 5, 5), "conv1.bias": (4,), "conv2.weight": (8, 4, 3, 3), "conv2.bias": (8,),
              "fc.weight": (10, 200), "fc.bias": (10,)}
    weights = {name: random.normal(0, 0.2, shape).astype(np.float32) for name, shape in shapes.items()}
    with open(folder / "lenet.wts", "w", encoding="ascii") as file:
        print(len(weights), file=file)
        for name, values in weights.items():
            words = " ".join(f"{word:08x}" for word in values.ravel().view(np.uint32))
            print(name, values.size, words, file=file)
    images = random.random((3, 1, 28, 28), np.float32)
    images.tofile(folder / "images.bin")
    doubles = {name: values.astype(np.float64) for name, values in weights.items()}
    np.save(folder / "expected.npy", lenet(images.astype(np.float64), doubles))


main()
