"""tenon.cudart: cuda-python's calling style over the host runtime."""
import numpy as np
import pytest
from tenon import cudart

SUCCESS = cudart.cudaError_t.cudaSuccess
TO_DEVICE = cudart.cudaMemcpyKind.cudaMemcpyHostToDevice
TO_HOST = cudart.cudaMemcpyKind.cudaMemcpyDeviceToHost


def check(results):
    """What samples do with every call: the values, after a look at the error."""
    error, *values = results
    assert error == SUCCESS
    return values[0] if len(values) == 1 else tuple(values) or None


def test_memory_goes_there_and_back():
    x = np.arange(12, dtype=np.float32)
    y = np.zeros_like(x)
    device = check(cudart.cudaMalloc(x.nbytes))
    check(cudart.cudaMemcpy(device, x.ctypes.data, x.nbytes, TO_DEVICE))
    check(cudart.cudaMemcpy(y, device, x.nbytes, TO_HOST))
    np.testing.assert_array_equal(x, y)
    check(cudart.cudaMemset(device, 0, x.nbytes))
    check(cudart.cudaMemcpy(y, device, x.nbytes, TO_HOST))
    assert not y.any()
    check(cudart.cudaFree(device))


def test_host_memory():
    for address in check(cudart.cudaMallocHost(64)), check(cudart.cudaHostAlloc(64, 0)):
        assert address > 0
        check(cudart.cudaFreeHost(address))


def test_streams_and_events():
    stream = check(cudart.cudaStreamCreate())
    start, end = check(cudart.cudaEventCreate()), check(cudart.cudaEventCreate())
    memory = check(cudart.cudaMallocAsync(1 << 20, stream))
    check(cudart.cudaEventRecord(start, stream))
    check(cudart.cudaMemsetAsync(memory, 1, 1 << 20, stream))
    check(cudart.cudaEventRecord(end, stream))
    check(cudart.cudaEventSynchronize(end))
    assert check(cudart.cudaEventElapsedTime(start, end)) > 0
    check(cudart.cudaFreeAsync(memory, stream))
    check(cudart.cudaStreamSynchronize(stream))
    assert cudart.cudaStreamQuery(stream) == (SUCCESS,)
    for event in start, end:
        check(cudart.cudaEventDestroy(event))
    check(cudart.cudaStreamDestroy(stream))


def test_devices():
    assert check(cudart.cudaGetDeviceCount()) == 1
    check(cudart.cudaSetDevice(0))
    assert check(cudart.cudaGetDevice()) == 0
    free, total = check(cudart.cudaMemGetInfo())
    assert 0 < free <= total
    check(cudart.cudaDeviceSynchronize())
    assert check(cudart.cudaRuntimeGetVersion()) >= 11000


def test_errors_are_results():
    error, = cudart.cudaSetDevice(7)
    assert error == cudart.cudaError_t.cudaErrorInvalidDevice
    assert check(cudart.cudaGetErrorName(error)) == b"cudaErrorInvalidDevice"
    assert b"device" in check(cudart.cudaGetErrorString(error))
    assert cudart.cudaGetLastError() == (error,)
    assert cudart.cudaGetLastError() == (SUCCESS,)
    error, address = cudart.cudaMalloc(1 << 60)
    assert error == cudart.cudaError_t.cudaErrorMemoryAllocation and address is None


def test_wrong_types_raise():
    with pytest.raises(TypeError):
        cudart.cudaMalloc("text")
    with pytest.raises(TypeError):
        cudart.cudaMemcpy(1.5, 0, 4, TO_HOST)
    with pytest.raises(TypeError):
        cudart.cudaMemcpy(0, 0, 4, "kind")
