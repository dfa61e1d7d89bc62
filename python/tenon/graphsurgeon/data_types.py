"""Types of elements: NumPy's where it has one, ONNX's number where it has none."""
from typing import Any, Optional, Sequence, Union

import numpy as np
import onnx

from tenon.graphsurgeon.errors import OnnxGraphSurgeonException

# A type as tensors have it: NumPy's (also ml_dtypes'), a Python class, or a number of onnx.TensorProto.
DataType = Union[np.dtype, type, int]

_NUMPY = {1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 8: "object",
          9: "bool", 10: "float16", 11: "float64", 12: "uint32", 13: "uint64", 14: "complex64", 15: "complex128"}
# Types of the package ml_dtypes by ONNX's numbers, and the bits of an element.
_ML_DTYPES = {16: ("bfloat16", 16), 17: ("float8_e4m3fn", 8), 18: ("float8_e4m3fnuz", 8), 19: ("float8_e5m2", 8),
              20: ("float8_e5m2fnuz", 8), 21: ("uint4", 4), 22: ("int4", 4), 23: ("float4_e2m1fn", 4),
              24: ("float8_e8m0fnu", 8), 25: ("uint2", 2), 26: ("int2", 2)}
_NUMBERS = {**{name: number for number, name in _NUMPY.items()},
            **{name: number for number, (name, _) in _ML_DTYPES.items()}}


def from_onnx(number: int) -> Optional[DataType]:
    """NumPy's type of a number of onnx.TensorProto; the number itself where NumPy has none; None for 0."""
    if number in _NUMPY:
        return np.dtype(_NUMPY[number])
    return number or None


def to_onnx(dtype: DataType) -> int:
    """The number of onnx.TensorProto of a type; OnnxGraphSurgeonException where ONNX has none."""
    if isinstance(dtype, int):  # also the values of onnx.TensorProto.DataType
        number = int(dtype)
    else:
        numpy_type = np.dtype(dtype)
        number = 8 if numpy_type.kind in "OSU" else _NUMBERS.get(numpy_type.name, 0)
    if number not in onnx.TensorProto.DataType.values() or not number:
        raise OnnxGraphSurgeonException(f"the type {dtype!r} has no number in ONNX {onnx.__version__}")
    return number


def bits_of(number: int) -> int:
    """The bits of an element of a type of ONNX; 0 for strings, which have no size."""
    if number in _ML_DTYPES:
        return _ML_DTYPES[number][1]
    return 0 if number == 8 or number not in _NUMPY else 8 * np.dtype(_NUMPY[number]).itemsize


def to_numpy(dtype: DataType) -> np.dtype:
    """NumPy's type, with ml_dtypes for what NumPy itself lacks."""
    if not isinstance(dtype, int):
        return np.dtype(dtype)
    if dtype in _NUMPY:
        return np.dtype(_NUMPY[dtype])
    import ml_dtypes
    return np.dtype(getattr(ml_dtypes, _ML_DTYPES[dtype][0]))


def raw_bytes(values: np.ndarray, number: int) -> bytes:
    """The elements as TensorProto.raw_data has them: little endian, those of 4 and 2 bits packed, low bits first."""
    bits = bits_of(number)
    if bits >= 8:
        return np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
    per_byte, mask = 8 // bits, (1 << bits) - 1
    single = np.ascontiguousarray(values).reshape(-1).view(np.uint8) & mask
    padded = np.zeros(-(-single.size // per_byte) * per_byte, np.uint8)
    padded[:single.size] = single
    packed = np.zeros(padded.size // per_byte, np.uint8)
    for i in range(per_byte):
        packed |= padded[i::per_byte] << (bits * i)
    return packed.tobytes()


def shape_of(proto: Any) -> Optional[list]:
    """The shape that a message of onnx states: ints, names of dimensions, None for what is not known; None without rank."""
    if isinstance(proto, (onnx.TensorProto, onnx.SparseTensorProto)):
        return list(proto.dims)
    kind = proto.type.WhichOneof("value")
    if kind not in ("tensor_type", "sparse_tensor_type"):
        return None
    declared = getattr(proto.type, kind)
    if not declared.HasField("shape"):
        return None
    return [_extent_of(dim) for dim in declared.shape.dim]


def _extent_of(dim: Any) -> Union[int, str, None]:
    if dim.HasField("dim_param"):
        return str(dim.dim_param)
    return int(dim.dim_value) if dim.HasField("dim_value") else None


def data_type_of(proto: Any) -> Optional[DataType]:
    """The type of elements that a message of onnx states; None where it states none."""
    if isinstance(proto, onnx.TensorProto):
        return from_onnx(proto.data_type)
    if isinstance(proto, onnx.SparseTensorProto):
        return from_onnx(proto.values.data_type)
    declared = proto.type
    while declared.WhichOneof("value") in ("sequence_type", "optional_type"):
        declared = getattr(declared, declared.WhichOneof("value")).elem_type
    kind = declared.WhichOneof("value")
    return from_onnx(getattr(declared, kind).elem_type) if kind in ("tensor_type", "sparse_tensor_type") else None


def volume(shape: Sequence[int]) -> int:
    """The number of elements."""
    count = 1
    for extent in shape:
        count *= extent
    return count
