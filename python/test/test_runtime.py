"""Runtimes, engines and plans."""
import numpy as np
import pytest
import tenon.tensorrt as trt
from models import dense, engine_of, plan_of, relu, run

SHAPES = ((1, 4), (2, 4), (3, 4))


def test_onnx_to_result():
    weights = np.random.default_rng(0).standard_normal((5, 3), dtype=np.float32)
    engine = engine_of(dense(weights), x=((1, 5), (2, 5), (8, 5)))
    context = engine.create_execution_context()
    for rows in 1, 4, 8:
        x = np.random.default_rng(rows).standard_normal((rows, 5), dtype=np.float32)
        np.testing.assert_allclose(run(context, x=x)["y"], x @ weights, rtol=1e-5, atol=1e-6)


def test_plans_are_buffers():
    plan = plan_of(relu(), x=SHAPES)
    assert plan.dtype == trt.int8
    assert bytes(plan)[:4] == b"ftrt"
    assert len(plan) == plan.nbytes == len(bytes(plan))
    array = np.frombuffer(plan, dtype=np.uint8)
    assert array.ctypes.data == np.asarray(memoryview(plan)).ctypes.data
    del plan
    assert array[:4].tobytes() == b"ftrt"


@pytest.mark.parametrize("form", [bytes, bytearray, memoryview,
                                  lambda plan: np.frombuffer(plan, np.uint8), lambda plan: plan])
def test_plans_open_from_any_buffer(form):
    runtime = trt.Runtime(trt.Logger())
    engine = runtime.deserialize_cuda_engine(form(plan_of(relu(), x=SHAPES)))
    assert list(engine) == ["x", "y"]


def test_a_runtime_of_another_library_opens_plans():
    logger = trt.Logger(trt.Logger.ERROR)
    loaded = trt.Runtime(logger).load_runtime("libnvinfer_lean.so.10")
    assert isinstance(loaded, trt.Runtime)
    context = loaded.deserialize_cuda_engine(plan_of(relu(), x=SHAPES)).create_execution_context()
    x = np.array([[-1, 2, -3, 4]], np.float32)
    np.testing.assert_array_equal(run(context, x=x)["y"], np.maximum(x, 0))


def test_damaged_plans_are_none():
    logger = trt.Logger(trt.Logger.INTERNAL_ERROR)
    plan = bytes(plan_of(relu(), x=SHAPES))
    runtime = trt.Runtime(logger)
    assert runtime.deserialize_cuda_engine(plan[:-1]) is None
    assert runtime.deserialize_cuda_engine(b"") is None
    with pytest.raises(TypeError, match="serialized_engine"):
        runtime.deserialize_cuda_engine("text")
    with pytest.raises(TypeError):
        runtime.deserialize_cuda_engine(None)
