"""Names of TensorRT 8.x: bindings by number, implicit batches, `with` statements."""
import numpy as np
import pytest
import tenon.tensorrt as trt
from models import engine_of, relu
from tenon import cudart
from test_context import two_profiles

SHAPES = ((1, 4), (2, 4), (3, 4))


def test_bindings_have_numbers():
    engine = engine_of(relu(), x=SHAPES)
    assert engine.num_bindings == len(engine) == 2
    assert [engine.get_binding_name(i) for i in range(2)] == ["x", "y"]
    assert engine.get_binding_name(2) is None
    assert (engine.get_binding_index("y"), engine["y"]) == (1, 1)
    assert engine.get_binding_index("nothing") == -1
    for binding in 0, "x":
        assert engine.binding_is_input(binding)
        assert engine.get_binding_shape(binding) == (-1, 4)
        assert engine.get_binding_dtype(binding) == trt.float32
        assert engine.get_location(binding) == trt.TensorLocation.DEVICE
        assert engine.get_profile_shape(0, binding) == list(SHAPES)
        assert engine.is_execution_binding(binding) and not engine.is_shape_binding(binding)
    assert list(filter(engine.binding_is_input, engine)) == ["x"]
    with pytest.raises(IndexError, match="binding 2"):
        engine.get_binding_shape(2)
    with pytest.raises(ValueError, match="nothing"):
        engine.get_binding_shape("nothing")


def test_runs_take_bindings():
    context = engine_of(relu(), x=SHAPES).create_execution_context()
    assert context.set_binding_shape(0, (2, 4))
    assert context.get_binding_shape(1) == (2, 4)
    x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
    for run in (lambda b: context.execute_async_v2(b, 0), lambda b: context.execute(1, b),
                lambda b: context.execute_async(bindings=b, stream_handle=0), context.execute_v2):
        y = np.full((2, 4), 7, np.float32)
        assert run([x.ctypes.data, y.ctypes.data])
        cudart.cudaDeviceSynchronize()
        np.testing.assert_array_equal(y, np.maximum(x, 0))


def test_profiles_have_bindings_of_their_own():
    engine = two_profiles()
    assert engine.num_bindings == 4 and len(engine) == 2
    assert engine.get_binding_index("x [profile 1]") == 2
    context = engine.create_execution_context()
    context.active_optimization_profile = 1
    assert not context.set_binding_shape(0, (11, 4))
    assert context.set_binding_shape(2, (11, 4))
    x, y = np.full((11, 4), 3, np.float32), np.zeros((11, 4), np.float32)
    assert context.execute_v2([0, 0, x.ctypes.data, y.ctypes.data])
    assert (y == 3).all()
    y[:] = 0
    assert context.execute_async_v2([x.ctypes.data, y.ctypes.data], 0)
    cudart.cudaDeviceSynchronize()
    assert (y == 3).all()
    with pytest.raises(ValueError):
        context.active_optimization_profile = 2


def test_shape_inputs_have_values():
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network(1)
    x = network.add_input("x", trt.float32, (6,))
    s = network.add_input("s", trt.int32, (2,))
    shuffle = network.add_shuffle(x)
    shuffle.set_input(1, s)
    shuffle.get_output(0).name = "y"
    network.mark_output(shuffle.get_output(0))
    config, profile = builder.create_builder_config(), builder.create_optimization_profile()
    profile.set_shape_input("s", (1, 1), (2, 3), (6, 6))
    config.add_optimization_profile(profile)
    engine = builder.build_engine(network, config)
    assert engine.is_shape_binding(engine["s"])
    assert engine.get_profile_shape_input(0, "s") == [[1, 1], [2, 3], [6, 6]]
    context = engine.create_execution_context()
    with pytest.raises(ValueError, match="2 values, not 3"):
        context.set_shape_input(engine["s"], [1, 2, 3])
    with pytest.raises(TypeError, match="an element of a shape input is an int, not a float"):
        context.set_shape_input(engine["s"], [3.5, 2])
    with pytest.raises(ValueError, match="4294967296 is no int32"):
        context.set_shape_input(engine["s"], [3, 1 << 32])
    assert context.set_shape_input(engine["s"], [3, 2])
    assert context.get_shape(engine["s"]) == [3, 2]
    assert context.get_binding_shape(engine["y"]) == (3, 2)
    with pytest.raises(RuntimeError):
        context.get_shape(engine["x"])


def test_implicit_batches(monkeypatch):
    monkeypatch.setenv("TENON_TRT_API", "8")
    logger = trt.Logger(trt.Logger.INTERNAL_ERROR)
    with trt.Builder(logger) as builder, builder.create_network() as network, \
            builder.create_builder_config() as config:
        builder.max_batch_size = 4
        config.max_workspace_size = 1 << 20
        assert config.max_workspace_size == 1 << 20
        assert network.has_implicit_batch_dimension
        x = network.add_input("x", trt.float32, (3,))
        layer = network.add_activation(x, trt.ActivationType.RELU)
        layer.get_output(0).name = "y"
        network.mark_output(layer.get_output(0))
        engine = builder.build_engine(network, config)
    assert engine.has_implicit_batch_dimension and engine.max_batch_size == 4
    assert engine.get_binding_shape("x") == (3,)
    with engine, engine.create_execution_context() as context:
        x, y = np.full((4, 3), -1, np.float32), np.full((4, 3), 7, np.float32)
        assert context.execute(batch_size=2, bindings=[x.ctypes.data, y.ctypes.data])
        assert (y[:2] == 0).all() and (y[2:] == 7).all()
        assert not context.execute(batch_size=5, bindings=[x.ctypes.data, y.ctypes.data])


def test_batches_are_explicit_otherwise(monkeypatch):
    monkeypatch.delenv("TENON_TRT_API", raising=False)
    builder = trt.Builder(trt.Logger())
    assert not builder.create_network().has_implicit_batch_dimension
    monkeypatch.setenv("TENON_TRT_API", "8")
    explicit = 1 << int(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH)
    assert not builder.create_network(explicit).has_implicit_batch_dimension
