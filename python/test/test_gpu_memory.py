"""Tensors in a GPU's memory as plugins get them. Whether frameworks compute with them, gpu_plugins.py
shows on a machine with a GPU; here nothing reads the memory."""
import numpy as np
import pytest
import tenon
import tenon.tensorrt as trt
from tenon import _native, _tensor_memory
from tenon.tensorrt.plugin.tensors import Tensor

ADDRESS = 0x7F0000001000


@pytest.fixture
def on_gpu(monkeypatch):
    """Addresses from ADDRESS on are those of GPU 1."""
    monkeypatch.setattr(_tensor_memory._native, "gpu_of",
                        lambda address: 1 if address >= ADDRESS else None)


def desc_of(dtype, shape):
    desc = trt.PluginTensorDesc()
    desc.type, desc.dims, desc.format = dtype, shape, trt.TensorFormat.LINEAR
    return desc


def test_memory_of_the_host_is_of_no_gpu():
    memory = np.zeros(4, np.float32)
    assert _native.gpu_of(memory.ctypes.data) is None
    assert _native.gpu_of(0) is None


@pytest.mark.parametrize("dtype, typestr, code, bits", [
    (trt.float32, "<f4", 2, 32), (trt.float16, "<f2", 2, 16), (trt.bfloat16, "<u2", 4, 16),
    (trt.int8, "|i1", 0, 8), (trt.int32, "<i4", 0, 32), (trt.int64, "<i8", 0, 64),
    (trt.bool, "|b1", 6, 8), (trt.uint8, "|u1", 1, 8), (trt.fp8, "|u1", 1, 8)])
def test_both_interfaces_describe_the_memory(on_gpu, dtype, typestr, code, bits):
    array = tenon.as_array(ADDRESS, desc_of(dtype, (2, 3)))
    assert array.__cuda_array_interface__ == {"shape": (2, 3), "typestr": typestr, "strides": None,
                                              "data": (ADDRESS, False), "version": 3}
    assert array.__dlpack_device__() == (2, 1)  # kDLCUDA
    assert dlpack_of(array) == (ADDRESS, 2, 1, code, bits, (2, 3))


def dlpack_of(array):
    """(address, kind of device, its number, type's code, its bits, shape) of DLPack's capsule."""
    import ctypes

    class DLTensor(ctypes.Structure):
        _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32),
                    ("number", ctypes.c_int32), ("ndim", ctypes.c_int32),
                    ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                    ("shape", ctypes.POINTER(ctypes.c_int64)),
                    ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]

    capsule = array.__dlpack__(stream=1)
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    found = DLTensor.from_address(get(capsule, b"dltensor"))
    return (found.data, found.device, found.number, found.code, found.bits,
            tuple(found.shape[:found.ndim]))


def test_numpy_does_not_take_it(on_gpu):
    array = tenon.as_array(ADDRESS, desc_of(trt.float32, (2,)))
    with pytest.raises(TypeError, match="in the memory of GPU 1, where NumPy does not work"):
        np.asarray(array)
    assert repr(array) == "GpuArray(float32 of shape (2,), GPU 1)"


def test_tensors_of_decorated_functions(on_gpu):
    tensor = Tensor(ADDRESS, desc_of(trt.float16, (4, 2)))
    assert tensor.__cuda_array_interface__["data"] == (ADDRESS, False)
    assert not hasattr(tensor, "__array_interface__")
    assert tensor.__dlpack_device__() == (2, 1)
    assert dlpack_of(tensor)[-1] == (4, 2)
    with pytest.raises(TypeError, match="memory of GPU 1"):
        np.asarray(tensor)


def test_tensors_of_decorated_functions_on_the_host():
    memory = np.arange(6, dtype=np.float32).reshape(2, 3)
    tensor = Tensor(memory.ctypes.data, desc_of(trt.float32, (2, 3)))
    assert not hasattr(tensor, "__cuda_array_interface__")
    assert np.asarray(tensor).ctypes.data == memory.ctypes.data
    assert tensor.__dlpack_device__() == (1, 0)


def test_empty_ones_and_unknown_shapes(on_gpu):
    assert tenon.as_array(ADDRESS, desc_of(trt.int32, (0, 3))).shape == (0, 3)
    with pytest.raises(ValueError, match="known only once the plugin has run"):
        tenon.as_array(ADDRESS, desc_of(trt.int32, (-1,)))
    assert tenon.as_array(ADDRESS, desc_of(trt.int32, (-1,)), (5,)).shape == (5,)
