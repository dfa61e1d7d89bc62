"""Inputs and outputs of int8, where the ranges of tensors say what an int8 stands for; NumPy says what has to come out."""
import numpy as np
import pytest
import tenon.tensorrt as trt
from networks import Messages

SHAPE = (1, 3, 4, 5)
RANDOM = np.random.default_rng(11)
X = (RANDOM.standard_normal(SHAPE) * 3).astype(np.float32)
BIAS = RANDOM.standard_normal((1, 3, 1, 1)).astype(np.float32)


def quantized(numbers, scale):
    """TensorRT's: to the nearest, ties to even, saturated."""
    return np.clip(np.rint(numbers / np.float32(scale)), -128, 127).astype(np.int8)


class Calibrator(trt.IInt8MinMaxCalibrator):
    """Gives batches of x as float32, and keeps the cache."""

    def __init__(self, batches, cache=None):
        trt.IInt8MinMaxCalibrator.__init__(self)
        self.batches, self.cache, self.asked = iter(batches), cache, 0

    def get_batch_size(self):
        return 1

    def get_batch(self, names):
        assert names == ["x"]
        self.asked += 1
        self.batch = next(self.batches, None)
        return None if self.batch is None else [self.batch.ctypes.data]

    def read_calibration_cache(self):
        return self.cache

    def write_calibration_cache(self, cache):
        self.cache = bytes(cache)


class Network:
    """y = max(x + bias, 0) - 1, which no layer in int8 makes; `also` is another output, of what y is made of."""

    def __init__(self, x_type=trt.float32, y_type=trt.int8):
        self.messages = Messages()
        self.builder = trt.Builder(self.messages)
        self.network = self.builder.create_network()
        self.x = self.network.add_input("x", trt.float32, SHAPE)
        bias = self.network.add_constant(BIAS.shape, BIAS).get_output(0)
        one = self.network.add_constant((1, 1, 1, 1), np.ones(1, np.float32)).get_output(0)
        added = self.network.add_elementwise(self.x, bias, trt.ElementWiseOperation.SUM).get_output(0)
        relu = self.network.add_activation(added, trt.ActivationType.RELU).get_output(0)
        self.y = self.network.add_elementwise(relu, one, trt.ElementWiseOperation.SUB).get_output(0)
        self.also = self.network.add_unary(self.y, trt.UnaryOperation.NEG).get_output(0)
        self.y.name, self.also.name = "y", "also"
        self.network.mark_output(self.y)
        self.network.mark_output(self.also)
        self.x.dtype, self.y.dtype = x_type, y_type
        self.config = self.builder.create_builder_config()

    def run(self, x, *flags):
        for flag in flags:
            self.config.set_flag(flag)
        plan = self.builder.build_serialized_network(self.network, self.config)
        assert plan is not None, self.messages.errors
        engine = trt.Runtime(self.messages).deserialize_cuda_engine(plan)
        assert engine.get_tensor_dtype("x") == self.x.dtype and engine.get_tensor_dtype("y") == self.y.dtype
        context = engine.create_execution_context()
        results = {"y": np.empty(SHAPE, trt.nptype(self.y.dtype)), "also": np.empty(SHAPE, np.float32)}
        for name, array in {"x": x, **results}.items():
            assert context.set_tensor_address(name, array.ctypes.data)
        assert context.execute_async_v3(0), self.messages.errors
        return results


def numbers(x):
    return np.maximum(x + BIAS, 0) - np.float32(1)


@pytest.mark.parametrize("flags", [(), (trt.BuilderFlag.INT8,)])
def test_dynamic_ranges_quantize_an_output(flags):
    """Whether layers run in int8 or not: the larger end is 127."""
    n = Network()
    assert n.y.set_dynamic_range(-2, 3)
    found = n.run(X, *flags)
    assert np.array_equal(found["y"], quantized(numbers(X), 3 / 127))
    assert found["y"].max() == 127, "larger numbers saturate"
    np.testing.assert_allclose(found["also"], -numbers(X), atol=1e-6)


def test_a_calibrator_quantizes_an_output():
    """By all of its batches, whose largest |y| is 127; the cache has it by the output's name, and serves as well."""
    batches = [X, (X / 2).astype(np.float32), (X * 2).astype(np.float32)]
    scale = max(np.abs(numbers(b)).max() for b in batches) / np.float32(127)
    n = Network()
    n.config.int8_calibrator = calibrator = Calibrator(batches)
    assert np.array_equal(n.run(X, trt.BuilderFlag.INT8)["y"], quantized(numbers(X), scale))
    lines = dict(line.rsplit(": ", 1) for line in calibrator.cache.decode().splitlines()[1:])
    found = np.array(int(lines["y"], 16), np.uint32).view(np.float32)
    np.testing.assert_allclose(found, scale, rtol=1e-6)
    n = Network()
    n.config.int8_calibrator = again = Calibrator([], calibrator.cache)
    assert np.array_equal(n.run(X, trt.BuilderFlag.INT8)["y"], quantized(numbers(X), found))
    assert again.asked == 0


def test_a_range_that_was_set_goes_before_the_calibrators():
    n = Network()
    assert n.y.set_dynamic_range(-8, 8)
    n.config.int8_calibrator = Calibrator([X])
    assert np.array_equal(n.run(X, trt.BuilderFlag.INT8)["y"], quantized(numbers(X), 8 / 127))


def test_a_calibrator_dequantizes_an_input():
    """Batches are in float32, as layers read it, also where the engine takes int8."""
    n = Network(x_type=trt.int8, y_type=trt.float32)
    n.config.int8_calibrator = Calibrator([X])
    scale = np.abs(X).max() / np.float32(127)
    given = quantized(X, scale)
    np.testing.assert_allclose(n.run(given, trt.BuilderFlag.INT8)["y"], numbers(given * scale), atol=1e-5)


def test_a_convolution_in_int8_gives_int8():
    """From bytes to bytes: what is multiplied are integers, and the sum is rounded once."""
    weights = RANDOM.integers(-127, 128, (2, 3, 1, 1)).astype(np.float32)
    weights[:, 0] = 127  # so that each channel's scale is 1
    messages = Messages()
    builder = trt.Builder(messages)
    network = builder.create_network()
    x = network.add_input("x", trt.float32, SHAPE)
    y = network.add_convolution_nd(x, 2, (1, 1), np.ascontiguousarray(weights)).get_output(0)
    y.name = "y"
    network.mark_output(y)
    x.dtype = y.dtype = trt.int8
    config = builder.create_builder_config()
    config.set_flag(trt.BuilderFlag.INT8)
    config.int8_calibrator = Calibrator([X])
    context = build_engine(builder, network, config, messages).create_execution_context()
    given = RANDOM.integers(-128, 128, SHAPE).astype(np.int8)
    found = np.empty((1, 2, *SHAPE[2:]), np.int8)
    assert context.execute_v2([given.ctypes.data, found.ctypes.data])
    exact = np.einsum("oi,nihw->nohw", weights[:, :, 0, 0].astype(np.float64), X.astype(np.float64))
    scale_x, scale_y = (np.float32(np.abs(a).max() / 127) for a in (X, exact.astype(np.float32)))
    sums = np.einsum("oi,nihw->nohw", weights[:, :, 0, 0].astype(np.int64), given.astype(np.int64))
    expected = quantized(sums * np.float64(scale_x) / scale_y, 1)
    # Scales differ in their last bit by the order of sums, and so may what lies in the middle between two integers.
    assert np.abs(found.astype(int) - expected).max() <= 1 and np.mean(found != expected) < 0.02


def build_engine(builder, network, config, messages):
    plan = builder.build_serialized_network(network, config)
    assert plan is not None, messages.errors
    return trt.Runtime(messages).deserialize_cuda_engine(plan)


@pytest.mark.parametrize("border", ["x", "y"])
def test_without_a_range_the_border_is_named(border):
    n = Network(**{f"{border}_type": trt.int8, "xy".replace(border, "") + "_type": trt.float32})
    assert n.builder.build_serialized_network(n.network, n.config) is None
    kind = "input 'x'" if border == "x" else "output 'y'"
    assert f"{kind} is int8, and layers" in n.messages.errors[-1] and "set_dynamic_range" not in n.messages.errors[-1]
    n.config.set_flag(trt.BuilderFlag.INT8)
    header = b"TRT-101600-MinMaxCalibration\n"
    n.config.int8_calibrator = Calibrator([], header + b"other: 3f800000\n")
    assert n.builder.build_serialized_network(n.network, n.config) is None
    assert f"{kind} is int8, and layers" in n.messages.errors[-1]
