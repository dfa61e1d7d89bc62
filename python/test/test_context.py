"""Execution contexts: shapes, addresses, profiles, streams, and wrong use of them."""
import numpy as np
import pytest
import tenon.tensorrt as trt
from models import dense, engine_of, model, plan_of, relu, run, shapes_of, value
from onnx import TensorProto, helper
from tenon import cudart

SHAPES = ((1, 4), (2, 4), (3, 4))


@pytest.fixture
def context():
    logger = trt.Logger(trt.Logger.INTERNAL_ERROR)
    return engine_of(relu(), logger, x=SHAPES).create_execution_context()


def test_shapes(context):
    assert context.engine.get_tensor_shape("x") == (-1, 4)
    assert context.engine.get_tensor_profile_shape("x", 0) == list(SHAPES)
    for form in (2, 4), [2, 4], trt.Dims([2, 4]), np.array([2, 4]):
        assert context.set_input_shape("x", form)
        assert context.get_tensor_shape("y") == (2, 4)
        assert context.get_tensor_strides("y") == (4, 1)
    assert context.all_binding_shapes_specified
    assert context.get_max_output_size("y") >= 32
    assert not context.set_input_shape("x", (4, 4))
    assert not context.set_input_shape("nothing", (2, 4))
    for wrong, error, text in (("text", TypeError, "Sequence"), (3, TypeError, "Sequence"),
                               (None, TypeError, "Sequence"),
                               ((1.5, 4), TypeError, "a dimension is an int, not a float"),
                               (("a", 4), TypeError, "a dimension is an int, not a str"),
                               (range(9), ValueError, "Input length 9. Max expected length is 8")):
        with pytest.raises(error, match=text):
            context.set_input_shape("x", wrong)
        with pytest.raises(error, match=text):
            context.set_binding_shape(0, wrong)


def test_what_is_missing_is_named(context):
    assert context.infer_shapes() == ["x"]
    context.set_input_shape("x", (2, 4))
    assert not context.execute_async_v3(0)


def test_addresses(context):
    x = np.zeros((2, 4), np.float32)
    assert context.get_tensor_address("x") == 0
    assert context.set_tensor_address("x", x.ctypes.data)
    assert context.get_tensor_address("x") == x.ctypes.data
    assert context.set_tensor_address("x", np.uint64(x.ctypes.data))
    assert not context.set_tensor_address("nothing", x.ctypes.data)
    for wrong in "text", None, 1.5, x, -1:
        with pytest.raises(TypeError):
            context.set_tensor_address("x", wrong)


def test_bindings_are_counted(context):
    context.set_input_shape("x", (2, 4))
    array = np.zeros((2, 4), np.float32).ctypes.data
    for wrong in [], [array], [array] * 3:
        with pytest.raises(ValueError, match="2 inputs and outputs, not"):
            context.execute_v2(wrong)
    with pytest.raises(TypeError):
        context.execute_v2([array, "text"])
    assert not context.execute_v2([0, 0])
    assert context.execute_v2([array, array])


def test_streams_run_in_order():
    weights = np.random.default_rng(0).standard_normal((5, 5), dtype=np.float32)
    context = engine_of(dense(weights), x=((1, 5), (2, 5), (8, 5))).create_execution_context()
    x = np.random.default_rng(1).standard_normal((8, 5), dtype=np.float32)
    y = np.zeros((8, 5), np.float32)
    _, stream = cudart.cudaStreamCreate()
    _, device_x = cudart.cudaMalloc(x.nbytes)
    _, device_y = cudart.cudaMalloc(y.nbytes)
    kind = cudart.cudaMemcpyKind
    cudart.cudaMemcpyAsync(device_x, x, x.nbytes, kind.cudaMemcpyHostToDevice, stream)
    context.set_input_shape("x", x.shape)
    context.set_tensor_address("x", device_x)
    context.set_tensor_address("y", device_y)
    assert context.execute_async_v3(stream_handle=stream)
    cudart.cudaMemcpyAsync(y, device_y, y.nbytes, kind.cudaMemcpyDeviceToHost, stream)
    cudart.cudaStreamSynchronize(stream)
    np.testing.assert_allclose(y, x @ weights, rtol=1e-5, atol=1e-6)
    for address in device_x, device_y:
        cudart.cudaFree(address)
    cudart.cudaStreamDestroy(stream)


def two_profiles():
    logger = trt.Logger(trt.Logger.INTERNAL_ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network()
    parser = trt.OnnxParser(network, logger)
    parser.parse(relu())
    config = builder.create_builder_config()
    config.add_optimization_profile(shapes_of(builder, x=SHAPES))
    config.add_optimization_profile(shapes_of(builder, x=((10, 4), (11, 4), (12, 4))))
    return builder.build_engine_with_config(network, config)


def test_profiles_are_selected():
    engine = two_profiles()
    assert engine.num_optimization_profiles == 2 and list(engine) == ["x", "y"]
    context = engine.create_execution_context()
    assert not context.set_input_shape("x", (11, 4))
    assert context.set_optimization_profile_async(1, 0)
    assert context.active_optimization_profile == 1
    x = np.full((11, 4), -1, np.float32)
    assert not run(context, x=x)["y"].any()
    assert not context.set_optimization_profile_async(2, 0)


def test_shape_inputs_are_values():
    """The values of `s`, an input on the host, decide the shape of the output."""
    onnx_bytes = model([helper.make_node("Reshape", ["x", "s"], ["y"])],
                       [value("x", [6]), value("s", [2], TensorProto.INT64)], [value("y", ["a", "b"])])
    logger = trt.Logger(trt.Logger.INTERNAL_ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network()
    parser = trt.OnnxParser(network, logger)
    assert parser.parse(onnx_bytes)
    profile, config = builder.create_optimization_profile(), builder.create_builder_config()
    profile.set_shape_input("s", (1, 1), (2, 3), (6, 6))
    config.add_optimization_profile(profile)
    engine = builder.build_engine_with_config(network, config)
    assert engine.is_shape_inference_io("s") and not engine.is_shape_inference_io("x")
    assert engine.get_tensor_location("s") == trt.TensorLocation.HOST
    assert engine.get_tensor_profile_values("s", 0) == [[1, 1], [2, 3], [6, 6]]
    assert engine.get_tensor_profile_values(0, "s") == [[1, 1], [2, 3], [6, 6]]  # TensorRT's order
    assert engine.get_tensor_profile_values("x", 0) == []
    context = engine.create_execution_context()
    s = np.array([3, 2], np.int64)
    assert context.infer_shapes() == ["s"]
    context.set_tensor_address("s", s.ctypes.data)
    assert context.infer_shapes() == []
    assert context.get_tensor_shape("y") == (3, 2)


def test_engines_say_what_they_are():
    engine = engine_of(relu(), trt.Logger(trt.Logger.INTERNAL_ERROR), x=SHAPES)
    assert engine.num_io_tensors == 2 and engine.num_layers == 1
    assert [engine.get_tensor_name(i) for i in (0, 1, 2)] == ["x", "y", None]
    assert engine.get_tensor_mode("x") == trt.TensorIOMode.INPUT
    assert engine.get_tensor_mode("nothing") == trt.TensorIOMode.NONE
    assert engine.get_tensor_dtype("y") == trt.float32
    assert engine.get_tensor_format("y") == trt.TensorFormat.LINEAR
    assert "kLINEAR" in engine.get_tensor_format_desc("y", 0)
    assert engine.get_tensor_bytes_per_component("x") == -1
    assert (engine[0], engine[-1]) == ("x", "y")
    with pytest.raises(IndexError):
        engine[2]
    assert not engine.refittable and not engine.has_implicit_batch_dimension
    inspector = engine.create_engine_inspector()
    assert "relu" in inspector.get_engine_information(trt.LayerInformationFormat.JSON)
    assert "relu" in inspector.get_layer_information(0, trt.LayerInformationFormat.ONELINE)
    assert inspector.get_layer_information(1, trt.LayerInformationFormat.ONELINE) is None
    other = engine_of(relu(), x=SHAPES).create_execution_context()
    with pytest.raises(RuntimeError, match="another engine"):
        inspector.execution_context = other


def test_memory_of_the_program():
    engine = engine_of(dense(np.ones((64, 64), np.float32)), x=((1, 64), (8, 64), (8, 64)))
    context = engine.create_execution_context(
        trt.ExecutionContextAllocationStrategy.USER_MANAGED)
    memory = np.zeros(engine.device_memory_size_v2 + 256, np.uint8)
    start = memory.ctypes.data + -memory.ctypes.data % 256
    context.set_device_memory(start, engine.device_memory_size_v2)
    assert (run(context, x=np.ones((8, 64), np.float32))["y"] == 64).all()
    config = engine.create_runtime_config()
    config.set_execution_context_allocation_strategy(
        trt.ExecutionContextAllocationStrategy.ON_PROFILE_CHANGE)
    context = engine.create_execution_context(config)
    assert (run(context, x=np.ones((8, 64), np.float32))["y"] == 64).all()


def test_plans_are_written_again():
    plan = plan_of(relu(), x=SHAPES)
    engine = trt.Runtime(trt.Logger(trt.Logger.INTERNAL_ERROR)).deserialize_cuda_engine(plan)
    assert bytes(engine.serialize()) == bytes(plan)
    config = engine.create_serialization_config()
    assert bytes(engine.serialize_with_config(config)) == bytes(plan)
    assert config.set_flag(trt.SerializationFlag.EXCLUDE_WEIGHTS)
    assert config.get_flag(trt.SerializationFlag.EXCLUDE_WEIGHTS)
    assert engine.serialize_with_config(config) is None
