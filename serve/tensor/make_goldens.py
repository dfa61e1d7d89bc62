"""Writes goldens/: a tensor file of every type, byte by byte as tensor_file.h describes them, by NumPy and ml_dtypes.

    .venv/bin/python serve/tensor/make_goldens.py

Each has shape (2, 3) and holds 0, 1, 2, 3, 4, 5 as far as its type does: bool 0, 1, 1, 1, 1, 1, and e8m0, which has powers of two
alone, 1, 1, 2, 4, 4, 4.
"""
import pathlib
import struct

import ml_dtypes
import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent / "goldens"
# TensorRT's numbers behind 256, and the four that have their own.
NUMBERS = {
    np.float32: 0, np.float16: 1, np.int32: 2, np.uint8: 3, np.int8: 256 + 2, np.bool_: 256 + 4, ml_dtypes.float8_e4m3fn: 256 + 6,
    ml_dtypes.bfloat16: 256 + 7, np.int64: 256 + 8, ml_dtypes.float8_e8m0fnu: 256 + 11}

for kind, number in NUMBERS.items():
    values = np.array([1, 1, 2, 4, 4, 4] if kind is ml_dtypes.float8_e8m0fnu else range(6), np.float32)
    array = values.astype(kind).reshape(2, 3)
    head = struct.pack("<IIIii", 0xFCCFE2E2, 2, number, 2, 3)
    (FOLDER / f"{array.dtype.name}.tensor").write_bytes(head + array.tobytes())
