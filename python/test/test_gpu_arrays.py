"""Arrays of the host and of a GPU as engine(x) treats them, on the GPU of host_gpu.py."""
import gc

import numpy as np
import pytest
import tenon
import tenon.tensorrt as trt
from host_gpu import LEGACY, ByDlpack, OnGpu, X, doubler, finish, on_gpu, to_host  # noqa: F401, on_gpu is for all tests
from networks import build, new_network
from tenon import _native
from tenon._tensor_memory import GpuArray


def test_arrays_of_the_host_go_there_and_back():
    engine = doubler()
    assert engine.gpu == 0
    for rows in 4, 64, 1, 0, 33:
        x = np.random.default_rng(rows).random((rows, 3), np.float32)
        y = engine(x)
        assert type(y) is np.ndarray and y.flags.writeable
        np.testing.assert_array_equal(y, x + x)
    np.testing.assert_array_equal(engine(X[:, ::-1]), X[:, ::-1] * 2)
    out = np.empty_like(X)
    assert engine(X, out=out) is out
    np.testing.assert_array_equal(out, X * 2)
    assert set(engine({"x": X})) == {"y0"}


def test_results_keep_their_memory():
    engine = doubler(most=4096)
    x = np.ones((4096, 3), np.float32)  # large enough for pinned memory, which is used again
    kept = [engine(x * i) for i in range(5)]
    del engine
    gc.collect()
    for i, y in enumerate(kept):
        np.testing.assert_array_equal(y, x * 2 * i)
    assert len({y.ctypes.data for y in kept}) == 5


def test_memory_of_results_is_used_again():
    engine = doubler(most=4096)
    x = np.ones((4096, 3), np.float32)
    places = {engine(x).ctypes.data for _ in range(5)}
    assert len(places) == 1
    on_gpu = OnGpu(x)
    places = {engine(on_gpu).__cuda_array_interface__["data"][0] for _ in range(5)}
    assert len(places) == 1


@pytest.mark.parametrize("stream", [None, LEGACY, 2])
def test_an_array_of_the_gpu_is_not_copied(stream):
    seen = []

    class Probe(trt.IPluginV2DynamicExt):
        plugin_type, plugin_version, num_outputs, plugin_namespace = "Probe", "1", 1, ""

        def __init__(self):
            trt.IPluginV2DynamicExt.__init__(self)

        def clone(self):
            return Probe()

        def get_output_datatype(self, index, types):
            return types[0]

        def get_output_dimensions(self, index, inputs, builder):
            return trt.DimsExprs(inputs[0])

        def supports_format_combination(self, pos, in_out, num_inputs):
            return in_out[pos].format == trt.TensorFormat.LINEAR and in_out[pos].type == trt.float32

        def configure_plugin(self, inputs, outputs):
            pass

        def get_workspace_size(self, inputs, outputs):
            return 0

        def get_serialization_size(self):
            return 0

        def serialize(self):
            return b""

        def initialize(self):
            return 0

        def terminate(self):
            pass

        def destroy(self):
            pass

        def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
            seen.append((inputs[0], outputs[0]))
            tenon.as_array(outputs[0], output_desc[0])[:] = tenon.as_array(inputs[0], input_desc[0]) + 1
            return 0

    class Creator(trt.IPluginCreator):
        name, plugin_version, plugin_namespace = "Probe", "1", ""
        field_names = trt.PluginFieldCollection([])

        def __init__(self):
            trt.IPluginCreator.__init__(self)

        def deserialize_plugin(self, name, data):
            return Probe()

    creator = Creator()
    trt.get_plugin_registry().register_creator(creator, "")
    try:
        network = new_network()
        x = network.add_input("x", trt.float32, (4, 3))
        engine = finish(network, [network.add_plugin_v2([x], Probe()).get_output(0)], {})
        on_gpu = OnGpu(X, stream=stream)
        y = engine(on_gpu)
        np.testing.assert_array_equal(to_host(y), X + 1)
        assert seen == [(on_gpu.pointer, y.__cuda_array_interface__["data"][0])]
        np.testing.assert_array_equal(engine(X), X + 1)  # copied to memory of the device
        assert seen[1][0] != X.ctypes.data
        whole = OnGpu(np.concatenate([[9], X.ravel()]).astype(np.float32), stream=stream)
        part = OnGpu(X, stream=stream, data=(whole.pointer + 4, False))
        np.testing.assert_array_equal(to_host(engine(part)), X + 1)
        assert seen[2][0] % 16 == 0  # kernels cannot read at any address
    finally:
        trt.get_plugin_registry().deregister_creator(creator)


@pytest.mark.parametrize("dtype", [trt.float32, trt.float16, trt.int32, trt.int64, trt.int8, trt.bool, trt.uint8])
def test_types(dtype):
    network = new_network()
    x = network.add_input("x", dtype, (2, -1))
    engine = finish(network, [network.add_identity(x).get_output(0)], {"x": [(2, 0), (2, 3), (2, 9)]})
    for columns in 3, 0:
        values = np.random.default_rng(1).integers(0, 2, (2, columns)).astype(trt.nptype(dtype))
        y = engine(values)
        assert y.dtype == values.dtype
        np.testing.assert_array_equal(y, values)
        for array in OnGpu(values), ByDlpack(values):
            y = engine(array)
            assert isinstance(y, GpuArray) and y.dtype == values.dtype and y.gpu == 0
            np.testing.assert_array_equal(to_host(y), values)


def test_bfloat16_by_dlpack():
    network = new_network()
    x = network.add_input("x", trt.bfloat16, (3,))
    engine = finish(network, [network.add_identity(x).get_output(0)], {})
    bits = np.array([0x3F80, 0xC000, 0], np.uint16)  # 1, -2, 0
    y = engine(ByDlpack(bits, trt.bfloat16))
    np.testing.assert_array_equal(to_host(y), bits)
    np.testing.assert_array_equal(to_host(engine(y)), bits)  # goes in as it came out
    with pytest.raises(TypeError, match="input 'x' expects an array of bfloat16, found uint16 of shape"):
        engine(OnGpu(bits))


def test_results_go_in_again():
    engine = doubler()
    y = engine(OnGpu(X))
    for _ in range(3):
        y = engine(y)
    np.testing.assert_array_equal(to_host(y), X * 16)


def test_memory_of_both():
    network = new_network()
    a, b = (network.add_input(name, trt.float32, (4, 3)) for name in "ab")
    engine = finish(network, [network.add_elementwise(a, b, trt.ElementWiseOperation.SUB).get_output(0)], {})
    y = engine(X, OnGpu(X + 1))
    assert type(y) is np.ndarray
    np.testing.assert_array_equal(y, -np.ones_like(X))
    y = engine(OnGpu(X + 1), X)
    assert isinstance(y, GpuArray)
    np.testing.assert_array_equal(to_host(y), np.ones_like(X))
    out = np.empty_like(X)
    assert engine(OnGpu(X + 1), X, out=out) is out
    np.testing.assert_array_equal(out, np.ones_like(X))
    on_gpu = OnGpu(np.zeros_like(X))
    assert engine(X + 2, X, out=on_gpu) is on_gpu
    np.testing.assert_array_equal(to_host(on_gpu), np.full_like(X, 2))


def test_sizes_that_depend_on_data():
    network = new_network()
    x = network.add_input("x", trt.float32, (-1,))
    engine = finish(network, [network.add_non_zero(x).get_output(0), network.add_identity(x).get_output(0)],
                    {"x": [(1,), (8,), (64,)]})
    for size, found in ((8, 3), (64, 64), (5, 0), (64, 1)):
        x = np.zeros(size, np.float32)
        x[:found] = 1
        expected = np.nonzero(x)[0][None]
        indices, same = engine(x)
        np.testing.assert_array_equal(indices, expected)
        np.testing.assert_array_equal(same, x)
        indices, same = engine(OnGpu(x))
        np.testing.assert_array_equal(to_host(indices), expected)
        np.testing.assert_array_equal(to_host(same), x)
    out = np.empty((1, 2), indices.dtype)
    with pytest.raises(ValueError, match=r"out: output 'y0' has shape \(1, 1\), found int\d+ of shape \(1, 2\)"):
        engine(x, out={"y0": out})


def test_an_input_that_decides_shapes_may_be_on_the_gpu():
    network = new_network()
    x = network.add_input("x", trt.float32, (-1, 3))
    shape = network.add_input("shape", trt.int32, (2,))
    layer = network.add_shuffle(x)
    layer.set_input(1, shape)
    layer.get_output(0).name = "y0"
    network.mark_output(layer.get_output(0))
    config = network.builder.create_builder_config()
    profile = network.builder.create_optimization_profile()
    profile.set_shape("x", (1, 3), (4, 3), (8, 3))
    profile.set_shape_input("shape", (1, 1), (4, 3), (24, 24))
    config.add_optimization_profile(profile)
    engine = tenon.Engine(build(network, config))
    for new in (2, 6), (12, 1):
        numbers = np.array(new, np.int32)
        np.testing.assert_array_equal(engine(X, numbers), X.reshape(new))
        np.testing.assert_array_equal(engine(X, OnGpu(numbers)), X.reshape(new))
        np.testing.assert_array_equal(to_host(engine(OnGpu(X), OnGpu(numbers))), X.reshape(new))


@pytest.mark.parametrize("entries, error, text", [
    ({"typestr": "<f8"}, TypeError, r"expects an array of float32, found float64 of shape \(4, 3\)"),
    ({"typestr": ">f4"}, TypeError, "expects an array of float32"),
    ({"strides": (4, 16)}, ValueError, "not C-contiguous, and lies on a GPU"),
    ({"mask": X}, TypeError, "has a mask"),
    ({"stream": 0}, ValueError, "stream 0, which means nothing"),
    ({"data": (X.ctypes.data, False)}, ValueError, "its address is in no memory of a GPU"),
    ({"data": "here"}, TypeError, "as version 3 wants them"),
    ({"shape": (4,)}, ValueError, r"expects shape from \(0, 3\) to \(64, 3\) \(profile 0\), found \(4,\)"),
    ({"shape": (4, 4)}, ValueError, r"found \(4, 4\)")])
def test_what_is_refused(entries, error, text):
    engine = doubler()
    with pytest.raises(error, match="input 'x'.*" + text):
        engine(OnGpu(X, **entries))
    np.testing.assert_array_equal(engine(X), X * 2)


def test_outputs_that_are_refused():
    engine = doubler()
    with pytest.raises(ValueError, match="out: output 'y0': the array cannot be written to"):
        engine(X, out=(given := OnGpu(X), given.interface.update(data=(given.pointer, True)))[0])
    with pytest.raises(ValueError, match=r"out: output 'y0' has shape \(4, 3\), found float32 of shape \(3, 4\)"):
        engine(X, out=OnGpu(X.T))
    with pytest.raises(ValueError, match=r"out: output 'y0' has shape \(4, 3\), found float32 of shape \(2, 3\)"):
        engine(OnGpu(X), out=OnGpu(X[:2]))
    x = OnGpu(X)
    with pytest.raises(ValueError, match="shares memory with input 'x'"):
        engine(x, out=x)


def test_an_engine_on_the_cpu_refuses_them(monkeypatch):
    monkeypatch.setattr(_native, "gpu_of_engine", lambda engine: None)
    engine = doubler()
    assert engine.gpu is None
    for array in OnGpu(X), ByDlpack(X):
        with pytest.raises(TypeError, match="input 'x': .*(runs on the CPU|no memory of the CPU)"):
            engine(array)


def test_a_failed_run_is_an_error_and_the_next_one_works():
    network = new_network()
    x = network.add_input("x", trt.float32, (-1, 3))
    layer = network.add_shuffle(x)
    layer.reshape_dims = (2, 6)
    engine = finish(network, [layer.get_output(0)], {"x": [(1, 3), (4, 3), (8, 3)]})
    for make in (lambda x: x), OnGpu:
        with pytest.raises(tenon.Error):
            engine(make(X[:3]))
        assert engine(make(X)).shape == (2, 6)
