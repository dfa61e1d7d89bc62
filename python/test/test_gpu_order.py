"""The order of calls, streams and threads on the GPU of host_gpu.py, and how long arrays stay."""
import ctypes
import gc
import threading
import weakref

import numpy as np
from host_gpu import (  # noqa: F401, on_gpu is for all tests
    LEGACY,
    PER_THREAD,
    ByDlpack,
    OnGpu,
    X,
    c_runtime,
    check,
    doubler,
    fill,
    held,
    on_gpu,
    to_host,
    two_large_arrays,
)
from tenon import _native, cudart
from tenon._tensor_memory import GpuArray


def test_work_of_the_producers_stream_comes_first():
    engine = doubler(shape=(-1, 1024), most=1024)
    stream = check(cudart.cudaStreamCreateWithFlags(1))  # not ordered with the default stream
    values = np.full((1024, 1024), 3, np.float32)
    x = OnGpu(np.zeros_like(values), stream=stream)
    for _ in range(20):
        fill(x, values)
    y = engine(x)
    check(cudart.cudaMemsetAsync(x.pointer, 0, values.nbytes, stream))  # comes after the run
    assert y.__cuda_array_interface__["stream"] == stream
    np.testing.assert_array_equal(to_host(y), values * 2)


def test_two_producers_streams():
    engine, values, arrays = two_large_arrays()
    for _ in range(20):
        for x, v in zip(arrays, values):
            fill(x, v)
    y = engine(*arrays)
    for x, v in zip(arrays, values):
        check(cudart.cudaMemsetAsync(x.pointer, 0, v.nbytes, x.interface["stream"]))
    np.testing.assert_array_equal(to_host(y), values[0] + values[1])


def test_dlpack_is_told_the_stream():
    x = ByDlpack(X)
    y = doubler()(x)
    assert x.streams == [LEGACY]
    assert y.__cuda_array_interface__["stream"] == LEGACY
    stream = check(cudart.cudaStreamCreateWithFlags(1))
    y.__dlpack__(stream=stream)
    check(cudart.cudaStreamSynchronize(stream))
    np.testing.assert_array_equal(to_host(y), X * 2)


def test_threads():
    engine = doubler(shape=(-1, 256), most=64)
    problems = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for i in range(30):
            x = rng.random((int(rng.integers(1, 64)), 256), np.float32)
            y = engine(x) if (i + seed) % 2 else to_host(engine(OnGpu(x)))
            if not np.array_equal(y, x + x):
                problems.append((seed, i))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


def test_inputs_stay_while_work_is_in_flight():
    engine = doubler()
    x = OnGpu(X)
    stays = weakref.ref(x)
    y = engine(x)
    del x
    assert stays() is not None
    np.testing.assert_array_equal(engine(X), X * 2)
    assert stays() is None
    np.testing.assert_array_equal(to_host(y), X * 2)


def test_inputs_of_several_calls_stay_until_their_work_is_done():
    engine = doubler()
    stream = check(cudart.cudaStreamCreateWithFlags(1))
    for make in (lambda: OnGpu(X, stream=stream)), (lambda: ByDlpack(X)):
        arrays, out = [make() for _ in range(4)], [OnGpu(X, stream=stream) for _ in range(4)]
        stays = [weakref.ref(array) for array in arrays]
        with held(stream):
            for i in range(4):
                engine(arrays.pop(0), out=out[i])
                assert all(array() is not None for array in stays)
        check(cudart.cudaDeviceSynchronize())
        engine(X)
        assert not any(array() is not None for array in stays)


def test_what_dlpack_exports_stays():
    exported = []

    class Exporting(ByDlpack):
        """Each export is a copy of its own."""

        def __dlpack__(self, stream=None):
            copy = OnGpu(X + 1)
            exported.append(weakref.ref(copy))
            return _native.gpu_array(copy.pointer, X.shape, self.type, 0, copy).__dlpack__()

    engine = doubler()
    y = engine(Exporting(X))
    assert exported[0]() is not None
    np.testing.assert_array_equal(to_host(y), (X + 1) * 2)
    engine(X)
    assert exported[0]() is None


def test_each_thread_has_its_own_default_stream():
    engine = doubler()
    x, other = (OnGpu(values, stream=PER_THREAD) for values in (X, X + 1))
    places, called, leave = [], threading.Event(), threading.Event()

    def call():
        with held(PER_THREAD):
            places.append(engine(other).__cuda_array_interface__["data"][0])
            called.set()
            leave.wait(10)

    thread = threading.Thread(target=call)
    thread.start()
    called.wait(10)
    y = engine(x)  # in the context of the first call, which is in flight
    assert cudart.cudaStreamQuery(PER_THREAD)[0] == cudart.cudaError_t.cudaErrorNotReady
    assert y.__cuda_array_interface__["data"][0] != places[0]
    leave.set()
    thread.join()
    np.testing.assert_array_equal(to_host(y), X * 2)


def test_a_capture_when_other_contexts_have_work_in_flight(monkeypatch):
    engine = doubler()
    streams = [check(cudart.cudaStreamCreateWithFlags(1)) for _ in range(3)]
    x, y = (OnGpu(values, stream=streams[2]) for values in (X, X))

    def inner(*arguments):
        engine(OnGpu(X, stream=streams[0]), out=OnGpu(X, stream=streams[0]))
        return GpuArray(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr("tenon._arrays.gpu_array", inner)
        engine(OnGpu(X, stream=streams[1]))  # now the engine has two contexts
    runtime, stream = c_runtime(), ctypes.c_void_p(streams[2])
    graph, launchable = ctypes.c_void_p(), ctypes.c_void_p()
    assert runtime.cudaStreamBeginCapture(stream, 0) == 0
    engine(x, out=y)
    assert runtime.cudaStreamEndCapture(stream, ctypes.byref(graph)) == 0
    assert runtime.cudaGraphInstantiate(ctypes.byref(launchable), graph, ctypes.c_ulonglong(0)) == 0
    assert runtime.cudaGraphLaunch(launchable, stream) == 0
    np.testing.assert_array_equal(to_host(y), X * 2)
    assert runtime.cudaGraphExecDestroy(launchable) == 0 and runtime.cudaGraphDestroy(graph) == 0


def test_a_call_waits_for_the_one_before():
    engine, values, arrays = two_large_arrays()
    for _ in range(30):  # keeps the first stream busy
        fill(arrays[0], values[0])
    first = engine(arrays[0], values[0])
    second = engine(arrays[1], values[1])  # the same memory holds its copy of the host's array
    np.testing.assert_array_equal(to_host(second), values[1])
    np.testing.assert_array_equal(to_host(first), values[0] * 2)


def test_engines_that_go_while_results_stay():
    results = [doubler()(OnGpu(X)) for _ in range(3)]
    gc.collect()
    for y in results:
        np.testing.assert_array_equal(to_host(y), X * 2)
