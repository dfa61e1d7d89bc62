"""Tensor files, as tenon/serve/tensor_file.h describes them: what C++ writes Python reads, and the other way around."""
import math
import pathlib
import struct

import numpy as np

from tenon import _arrays
from tenon._files import write_file

_MAGIC, _OTHER_TYPES, _MAX_RANK = 0xFCCFE2E2, 256, 8
_NUMBERED = ("float32", "float16", "int32", "uint8")
# TensorRT's number of each type of whole bytes.
_TENSORRT = {"float32": 0, "float16": 1, "int8": 2, "int32": 3, "bool": 4, "uint8": 5, "float8_e4m3fn": 6, "bfloat16": 7,
             "int64": 8, "float8_e8m0fnu": 11}
_NUMBER_OF = {name: _OTHER_TYPES + number for name, number in _TENSORRT.items()} | {
    name: number for number, name in enumerate(_NUMBERED)}
_NAME_OF = {_OTHER_TYPES + number: name for name, number in _TENSORRT.items()} | dict(enumerate(_NUMBERED))


def save_tensor(path, array) -> None:
    """Writes an array (NumPy, PyTorch, DLPack) to a file that load_tensor(), and load_from_file() in C++, read.

    Its type is float32, float16, bfloat16, float8 (e4m3fn, e8m0fnu), int8, int32, int64, uint8 or bool, and it has at most 8
    dimensions. The file is whole or not there. Raises TypeError for other types, ValueError for more dimensions, and OSError
    when the file cannot be written.
    """
    to_numpy = _arrays.framework(type(array))[0]
    array = np.asarray(array if to_numpy is None else to_numpy(array))
    name = array.dtype.name
    if name not in _NUMBER_OF:
        raise TypeError(f"{path}: expected an array of one of {', '.join(_NUMBER_OF)}, found {name}")
    if array.ndim > _MAX_RANK:
        raise ValueError(f"{path}: expected at most {_MAX_RANK} dimensions, found {array.ndim}")
    if max(array.shape, default=0) > 0x7FFFFFFF:
        raise ValueError(f"{path}: an extent of shape {array.shape} does not fit 32 bits")
    head = struct.pack(f"<III{array.ndim}i", _MAGIC, array.ndim, _NUMBER_OF[name], *array.shape)
    little = array if array.dtype.byteorder != ">" else array.astype(array.dtype.newbyteorder("<"))
    write_file(path, head + little.tobytes())


def load_tensor(path) -> np.ndarray:
    """The array in a file that save_tensor(), or save_to_file() in C++, wrote. Its memory is its own.

    bfloat16 and float8 are of ml_dtypes, which has to be installed for them. Raises OSError when the file cannot be read, and
    ValueError, with the path, when it is no tensor file or is cut short.
    """
    content = pathlib.Path(path).read_bytes()

    def words(kind, at, count, what):
        if len(content) < 4 * (at + count):
            raise ValueError(f"{path}: it ends within {what}")
        return struct.unpack_from(f"<{count}{kind}", content, 4 * at)

    if words("I", 0, 1, "the head") != (_MAGIC,):
        raise ValueError(f"{path}: it is no tensor")
    rank, number = words("I", 1, 2, "the head")
    if number not in _NAME_OF:
        raise ValueError(f"{path}: there is no type {number}")
    if rank > _MAX_RANK:
        raise ValueError(f"{path}: {rank} dimensions, and {_MAX_RANK} are possible")
    shape = words("i", 3, rank, "the shape")
    if min(shape, default=0) < 0:
        raise ValueError(f"{path}: a negative extent in shape {shape}")
    name = _NAME_OF[number]
    kind = np.dtype(_arrays.STORAGE.get(name, name)).newbyteorder("<")
    begin, size = 4 * (3 + rank), math.prod(shape) * kind.itemsize
    if len(content) - begin != size:
        raise ValueError(f"{path}: a tensor of shape {shape} takes {size} bytes, and {len(content) - begin} are there")
    return _arrays.numpy_view(np.frombuffer(content, kind, offset=begin).reshape(shape).copy(), name)
