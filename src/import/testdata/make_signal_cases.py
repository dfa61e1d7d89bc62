"""Writes signal.json: transforms of many lengths by NumPy, in float64 (ONNX Runtime has only powers
of two right at short lengths), and STFT as ONNX Runtime computes it.

Run: python src/import/testdata/make_signal_cases.py   (needs numpy, onnx, onnxruntime)
"""
import numpy as np

from node_cases import Constant, case, floats, write


def parts(z):
    return np.stack([z.real, z.imag], -1).astype(np.float32)


def dft(name, x, length=None, axis=1, inverse=0, onesided=0):
    axes = axis if axis >= 0 else axis + 1  # the parts are no axis of z
    z = x[..., 0].astype(np.float64) + (1j * x[..., 1] if x.shape[-1] == 2 else 0)
    if inverse and onesided:
        y = np.fft.irfft(z, length, axes)[..., None].astype(np.float32)
    else:
        y = (np.fft.ifft if inverse else np.fft.fft)(z, length, axes)
        if onesided:
            y = np.take(y, np.arange(y.shape[axes] // 2 + 1), axes)
        y = parts(y)
    inputs = [x, None if length is None else Constant(np.array(length, np.int64)),
              Constant(np.array(axis, np.int64))]
    case("DFT", name, inputs, domain="", opset=20, expected=[y], static="heads", inverse=inverse,
         onesided=onesided)


for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15, 16, 17, 20, 22, 26, 29, 30, 32, 34, 37, 40, 49, 60, 64, 97):
    dft(f"real, {n}", floats(1, n, 1))
    dft(f"complex, {n}", floats(1, n, 2))
    dft(f"inverse, {n}", floats(1, n, 2), inverse=1)
    dft(f"one-sided, {n}", floats(1, n, 1), onesided=1)
    if n > 1:
        dft(f"one-sided inverse, {n}", floats(1, n // 2 + 1, 2), n, inverse=1, onesided=1)
dft("one-sided inverse, length by default", floats(1, 9, 2), inverse=1, onesided=1)
dft("cut", floats(2, 10, 1), 6)
dft("filled up", floats(2, 10, 2), 16)
dft("other axis", floats(2, 5, 3, 2), axis=2)
dft("first axis", floats(4, 5, 2), axis=0)
dft("negative axis", floats(2, 5, 3, 1), axis=-2, onesided=1)
case("DFT", "opset 17", [floats(2, 8, 1)], domain="", opset=17, axis=1, static="heads")

WINDOW = Constant(np.hanning(9)[:8].astype(np.float32))
STEP = Constant(np.array(3, np.int64))
case("STFT", "window", [floats(2, 20, 1), STEP, WINDOW], domain="", opset=17, static="heads")
case("STFT", "window and length", [floats(2, 21, 1), STEP, WINDOW, Constant(np.array(8, np.int64))],
     domain="", opset=17, static="heads")
case("STFT", "length", [floats(2, 20, 1), STEP, None, Constant(np.array(8, np.int64))], domain="",
     opset=17, static="heads", onesided=0)
case("STFT", "two-sided", [floats(1, 20, 1), STEP, WINDOW], domain="", opset=17, static="heads",
     onesided=0)
for window in ("HannWindow", "HammingWindow", "BlackmanWindow"):
    for periodic in (0, 1):
        case(window, f"periodic {periodic}", [Constant(np.array(10, np.int64))], domain="", opset=17,
             periodic=periodic, output_datatype=1)
case("MelWeightMatrix", "", [Constant(np.array(v, t)) for v, t in (
    (8, np.int64), (32, np.int64), (8000, np.int64), (100, np.float32), (3800, np.float32))],
     domain="", opset=17)

write("signal")
