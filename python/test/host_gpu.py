"""What the tests of arrays on a GPU share. The GPU is the host CUDA runtime's: its memory, streams and copies are
checked as a GPU's are, though the engine itself runs on the CPU. gpu_arrays repeats this on a machine with a GPU."""
import contextlib
import ctypes
import pathlib
import threading

import numpy as np
import pytest
import tenon
import tenon.tensorrt as trt
from networks import NUMPY_TYPES, build, new_network
from tenon import _native, cudart

LEGACY, PER_THREAD = 1, 2


@pytest.fixture(autouse=True)
def on_gpu(monkeypatch):
    """Engines say that they run on GPU 0."""
    monkeypatch.setattr(_native, "gpu_of_engine", lambda engine: 0)


def check(results):
    """The values of a function of cudart."""
    error, *values = results
    assert error == cudart.cudaError_t.cudaSuccess, error
    return values[0] if values else None


class OnGpu:
    """A copy of an array in the runtime's device memory, with CUDA's array interface alone."""

    def __init__(self, array, *, stream=None, **entries):
        array = np.ascontiguousarray(array)
        self.pointer = check(cudart.cudaMalloc(max(array.nbytes, 1)))
        check(cudart.cudaMemcpy(self.pointer, array, array.nbytes, cudart.cudaMemcpyKind.cudaMemcpyHostToDevice))
        self.interface = {
            "shape": array.shape, "typestr": array.dtype.str, "data": (self.pointer, False), "version": 3,
            "strides": None, "stream": stream, **entries}

    @property
    def __cuda_array_interface__(self):
        return self.interface

    def __del__(self):
        check(cudart.cudaFree(self.pointer))


class ByDlpack:
    """The same with DLPack alone. It writes down which stream its consumer works in."""

    def __init__(self, array, dtype=None):
        self.memory = OnGpu(array)
        self.shape, self.dtype, self.streams = array.shape, array.dtype, []
        self.type = dtype or NUMPY_TYPES[array.dtype]

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        return _native.gpu_array(self.memory.pointer, self.shape, self.type, 0).__dlpack__()


def to_host(array):
    """A NumPy array of what has CUDA's array interface, after its stream's work, or all if it names none."""
    interface = array.__cuda_array_interface__
    stream = interface["stream"]
    check(cudart.cudaDeviceSynchronize() if stream is None else cudart.cudaStreamSynchronize(stream))
    result = np.empty(interface["shape"], interface["typestr"])
    check(cudart.cudaMemcpy(result, interface["data"][0], result.nbytes,
                            cudart.cudaMemcpyKind.cudaMemcpyDeviceToHost))
    return result


def doubler(dtype=trt.float32, shape=(-1, 3), most=64):
    """An engine that gives x + x."""
    network = new_network()
    x = network.add_input("x", dtype, shape)
    y = network.add_elementwise(x, x, trt.ElementWiseOperation.SUM).get_output(0)
    return finish(network, [y], {"x": [tuple(s if e < 0 else e for e in shape) for s in (0, 4, most)]})


def finish(network, outputs, profile):
    """The engine of a network whose outputs are called y0, y1…"""
    for i, output in enumerate(outputs):
        output.name = f"y{i}"
        network.mark_output(output)
    config = network.builder.create_builder_config()
    shapes = network.builder.create_optimization_profile()
    for name, three in profile.items():
        shapes.set_shape(name, *three)
    config.add_optimization_profile(shapes)
    return tenon.Engine(build(network, config))


def c_runtime():
    """The CUDA runtime, for what `cudart` lacks."""
    return ctypes.CDLL(str(pathlib.Path(tenon.__file__).with_name("lib") / "compatible/libcudart.so.13"))


@contextlib.contextmanager
def held(stream):
    """What is put into the stream meanwhile waits for the end, or ten seconds."""
    end, ended = threading.Event(), threading.Event()

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    def wait(_):
        end.wait(10)
        ended.set()

    assert c_runtime().cudaLaunchHostFunc(ctypes.c_void_p(stream), wait, None) == 0
    try:
        yield
    finally:
        end.set()
        ended.wait()


X = np.arange(12, dtype=np.float32).reshape(4, 3)


def two_large_arrays():
    """An engine that gives the sum of two, values for them, and arrays of zeros on the GPU, each in a stream of its own."""
    network = new_network()
    a, b = (network.add_input(name, trt.float32, (1024, 1024)) for name in "ab")
    engine = finish(network, [network.add_elementwise(a, b, trt.ElementWiseOperation.SUM).get_output(0)], {})
    streams = [check(cudart.cudaStreamCreateWithFlags(1)) for _ in range(2)]  # not ordered with the default stream
    values = [np.full((1024, 1024), i + 1, np.float32) for i in range(2)]
    return engine, values, [OnGpu(np.zeros_like(v), stream=s) for v, s in zip(values, streams)]


def fill(array, values):
    """Puts a copy into the array's stream."""
    check(cudart.cudaMemcpyAsync(array.pointer, values, values.nbytes, cudart.cudaMemcpyKind.cudaMemcpyHostToDevice,
                                 array.interface["stream"]))
