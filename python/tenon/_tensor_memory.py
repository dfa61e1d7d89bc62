"""Arrays over memory of the engine: what a plugin's enqueue() is given, without copies."""
from typing import Any

import numpy as np

from tenon import _native

_Type = _native.DataType

# NumPy has no name for the last ones: their bits are shown, two values of 4 bits in a byte.
_DTYPES = {_Type.FLOAT: "<f4", _Type.HALF: "<f2", _Type.INT8: "|i1", _Type.INT32: "<i4",
           _Type.BOOL: "|b1", _Type.UINT8: "|u1", _Type.INT64: "<i8", _Type.BF16: "<u2",
           _Type.FP8: "|u1", _Type.E8M0: "|u1", _Type.INT4: "|u1", _Type.FP4: "|u1"}
_PACKED = (_Type.INT4, _Type.FP4)
_DEFAULT_STREAM = 1  # as DLPack and CUDA's array interface number it


class _Memory:
    def __init__(self, pointer, shape, dtype):
        self.__array_interface__ = {"data": (pointer, False), "shape": shape, "typestr": dtype,
                                    "version": 3}


class GpuArray:
    """A tensor in the memory of a GPU, for PyTorch, CuPy and others, without copies: what a plugin
    is given, which does not keep the memory, and what an engine gives for arrays of others than
    PyTorch, which does.

    torch.as_tensor(), torch.from_dlpack(), cupy.asarray() and numba.cuda.as_cuda_array() take it.
    What a plugin does with it must go into the stream that it is given, and may go on after
    enqueue() has returned. Results carry the stream that fills them, which those functions wait for,
    but torch.as_tensor(): that one must be called in the same stream. Whoever uses a result in
    another stream waits for that before letting go of it.

    shape: of ints; dtype: NumPy's; gpu: the number of the GPU. The elements' types are those of
    as_array(), but DLPack has bfloat16 as it is.
    """

    def __init__(self, pointer, shape, dtype, gpu, stream=None, owner=None):
        """`stream`: the handle of the one that fills it; `owner`: what keeps the memory."""
        self.shape, self.gpu = shape, gpu
        self.dtype = np.dtype(_DTYPES[dtype])
        self._type, self._pointer, self._stream, self._owner = dtype, pointer, stream, owner

    @property
    def __cuda_array_interface__(self):
        interface = {"shape": self.shape, "typestr": self.dtype.str, "data": (self._pointer, False),
                     "strides": None, "version": 3}
        return interface if self._stream is None else {**interface, "stream": self._stream}

    def _exported(self):
        return _native.gpu_array(self._pointer, self.shape, self._type, self.gpu, self._owner)

    def __dlpack__(self, *, stream=None, **arguments):
        if self._stream is not None and stream != -1:
            _native.order_streams(self._stream, stream or _DEFAULT_STREAM, self.gpu)
        return self._exported().__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self._exported().__dlpack_device__()

    def __array__(self, *arguments, **named):
        raise TypeError(f"the tensor is in the memory of GPU {self.gpu}, where NumPy does not work: "
                        "take it with torch.as_tensor() or cupy.asarray()")

    def __repr__(self):
        return f"GpuArray({self.dtype.name} of shape {self.shape}, GPU {self.gpu})"


def as_array(pointer, desc, shape=None) -> Any:
    """The tensor at an address as an array, without a copy: what is written goes there.

    pointer: an address (int), as enqueue() of a plugin is given.
    desc: the PluginTensorDesc of the tensor, or its DataType.
    shape: the shape, if it is not that of `desc`: that of an output whose size running tells.
    Returns a NumPy array of host memory; a GpuArray of a GPU's, where the engine runs on CUDA.
    The array is valid for as long as the memory is: in enqueue(), until it returns. bfloat16 and
    8-bit floats come as unsigned integers of their bits, 4-bit types as bytes of two values.
    Raises ValueError when the shape is not known or the format is not linear, TypeError when `desc`
    is neither.
    """
    dtype = getattr(desc, "type", desc)
    if not isinstance(dtype, _Type):
        raise TypeError(f"expected a PluginTensorDesc or a DataType, found {type(desc).__name__}")
    if getattr(desc, "format", _native.TensorFormat.LINEAR) != _native.TensorFormat.LINEAR:
        raise ValueError(f"the tensor lies in memory as {desc.format.name}; expected LINEAR")
    if shape is None:
        if not hasattr(desc, "dims"):
            raise ValueError("as_array() was given a DataType alone: give it the shape, too")
        shape = desc.dims
    shape = tuple(int(extent) for extent in shape)
    if any(extent < 0 for extent in shape):
        raise ValueError(f"the shape {shape} is known only once the plugin has run: give the one "
                         "that it has found, as `shape`")
    if dtype in _PACKED:
        shape = ((int(np.prod(shape, dtype=np.int64)) + 1) // 2,)
    gpu = _native.gpu_of(pointer or 0)
    if gpu is not None:
        return GpuArray(int(pointer), shape, dtype, gpu)
    typestr = _DTYPES[dtype]
    if 0 in shape:
        return np.empty(shape, typestr)
    if not pointer:
        raise ValueError(f"a null pointer for a tensor of shape {shape}")
    return np.asarray(_Memory(int(pointer), shape, typestr))


def as_tensor(pointer, desc, shape=None):
    """The same as a PyTorch tensor, on the GPU where the engine runs on CUDA; bfloat16 has its own
    type. There, PyTorch must work in the plugin's stream: `with torch.cuda.stream(
    torch.cuda.ExternalStream(stream))`."""
    import torch

    array = as_array(pointer, desc, shape)
    if isinstance(array, GpuArray):
        return torch.from_dlpack(array)
    if getattr(desc, "type", desc) == _Type.BF16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)
