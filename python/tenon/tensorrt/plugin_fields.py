"""Attributes of plugins: PluginField and its collections.

tenon.tensorrt shows every name that does not begin with an underscore.
"""
from collections.abc import MutableSequence as _MutableSequence, Sequence as _Sequence

import numpy as _np

from tenon import _native

_Type = _native.PluginFieldType

# The NumPy type of the values of each field type. NumPy has none for the others: bfloat16 values are
# shown by their bits, and types of less than a byte, like unknown values, as bytes.
_DTYPES = {
    _Type.FLOAT16: _np.float16,
    _Type.FLOAT32: _np.float32,
    _Type.FLOAT64: _np.float64,
    _Type.INT8: _np.int8,
    _Type.INT16: _np.int16,
    _Type.INT32: _np.int32,
    _Type.INT64: _np.int64,
    _Type.BF16: _np.uint16,
    _Type.FP8: _np.uint8,
    _Type.CHAR: _np.int8,
    _Type.UNKNOWN: _np.int8,
}
_DIMS_BYTES = 72  # nvinfer1::Dims: a count and eight int64


def _text(name):
    return name.decode() if isinstance(name, bytes) else str(name)


class PluginField:
    """A named attribute of a plugin: an array of values of one type.

    name: str or bytes.
    data: what holds the values: a NumPy array, bytes or another buffer, or a str, whose type is
        CHAR. It is kept, and copied only if it is not contiguous.
    type: a PluginFieldType. An array must have that element type; bytes are taken as they are.
    Raises ValueError when `data` does not fit `type`, and TypeError when it is no buffer.
    """

    name: str
    type: _Type
    size: int

    def __init__(self, name="", data=None, type=_Type.UNKNOWN):  # noqa: A002
        self.name = _text(name)
        self.type = _Type(type)
        self.size = 0
        self._array = None
        if data is not None:
            self.data = data

    @property
    def data(self):
        """The values: an array of `size` elements of the type, [] if there are none."""
        dtype = _np.dtype(_DTYPES.get(self.type, _np.int8))
        if self._array is None:
            return _np.empty(0, dtype)
        return self._array.view(dtype) if self._array.size % dtype.itemsize == 0 else self._array

    @data.setter
    def data(self, values):
        if isinstance(values, str):
            # Some plugins read `size` characters, others up to the terminator: it is behind.
            values = _np.frombuffer(values.encode() + b"\0", _np.int8)[:-1]
            if self.type == _Type.UNKNOWN:
                self.type = _Type.CHAR
        try:
            array = _np.ascontiguousarray(memoryview(values) if not isinstance(values, _np.ndarray)
                                         else values)
        except TypeError as error:
            raise TypeError(
                f"PluginField '{self.name}': data is a {type(values).__name__}; expected a NumPy "
                "array, bytes, a buffer or a str: numpy.array(values, dtype) makes one") from error
        self.size = self._count(array)
        self._array = array.reshape(-1).view(_np.uint8)

    def _count(self, array):
        expected = _DTYPES.get(self.type)
        if self.type == _Type.UNKNOWN or array.size == 0:  # [] stands for a field without values
            return array.size
        if self.type == _Type.DIMS:
            width = _DIMS_BYTES
        elif expected is None:  # INT4 and FP4: two in a byte
            return array.nbytes * 2
        else:
            width = _np.dtype(expected).itemsize
            is_bytes = array.dtype.itemsize == 1 and array.dtype.kind in "iuSVb"
            if not is_bytes and array.dtype != expected and self.type not in (_Type.BF16, _Type.FP8):
                raise ValueError(
                    f"PluginField '{self.name}' of type {self.type.name} was given an array of "
                    f"{array.dtype}; expected {_np.dtype(expected)}: "
                    f"convert it with astype(numpy.{_np.dtype(expected)})")
        if array.nbytes % width:
            raise ValueError(f"PluginField '{self.name}' of type {self.type.name} was given "
                             f"{array.nbytes} bytes; expected a multiple of {width}")
        return array.nbytes // width

    def __repr__(self):
        return f"PluginField({self.name!r}, {self.data!r}, {self.type!r})"


class PluginFieldCollection_(_Sequence):  # noqa: N801
    """Attributes of a plugin that cannot be changed. Made from a PluginFieldCollection."""

    def __init__(self, fields=()):
        self._fields = [self._checked(field) for field in fields]

    @staticmethod
    def _checked(field):
        if not isinstance(field, PluginField):
            raise TypeError(f"a PluginFieldCollection holds PluginField objects, not "
                            f"{type(field).__name__}")
        return field

    def __len__(self):
        return len(self._fields)

    def __getitem__(self, s):
        return type(self)(self._fields[s]) if isinstance(s, slice) else self._fields[s]

    def __repr__(self):
        return f"{type(self).__name__}({self._fields!r})"


class PluginFieldCollection(PluginFieldCollection_, _MutableSequence):
    """A list of attributes (PluginField) of a plugin."""

    def __setitem__(self, index, value):
        is_slice = isinstance(index, slice)
        self._fields[index] = [self._checked(f) for f in value] if is_slice else self._checked(value)

    def __delitem__(self, index):
        del self._fields[index]

    def insert(self, i, x):
        """Puts field `x` before the one at index `i`."""
        self._fields.insert(i, self._checked(x))

    # As MutableSequence has them, with TensorRT's names of the arguments.
    def append(self, x):
        """Puts field `x` behind the last one."""
        self.insert(len(self), x)

    def extend(self, L):  # noqa: N803
        """Puts all fields of `L` behind the last one."""
        self._fields.extend([self._checked(x) for x in L])

    def pop(self, i=-1):
        """Takes out the field at index `i` and gives it."""
        return self._fields.pop(i)
