"""Builds and runs networks made by hand."""
import numpy as np

import tenon.tensorrt as trt

NUMPY_TYPES = {np.dtype(trt.nptype(t)): t for t in (
    trt.float32, trt.float16, trt.int8, trt.int32, trt.int64, trt.bool, trt.uint8)}


class Messages(trt.ILogger):
    """Keeps what is logged as an error."""

    def __init__(self):
        trt.ILogger.__init__(self)
        self.errors = []

    def log(self, severity, msg):
        if severity <= trt.ILogger.ERROR:
            self.errors.append(msg)


def new_network(logger=None):
    """An empty network, which keeps its builder."""
    builder = trt.Builder(logger or trt.Logger(trt.Logger.ERROR))
    return builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH))


def add_inputs(network, arrays):
    """Inputs of the arrays' shapes and types, called x0, x1.."""
    return [network.add_input(f"x{i}", NUMPY_TYPES[array.dtype], array.shape)
            for i, array in enumerate(arrays)]


def constant(network, values):
    """A constant tensor; `values` is a NumPy array."""
    return network.add_constant(values.shape, values).get_output(0)


def build(network, config=None):
    """The engine of a network."""
    builder = network.builder
    plan = builder.build_serialized_network(network, config or builder.create_builder_config())
    assert plan is not None, "the network was not built"
    return trt.Runtime(builder.logger).deserialize_cuda_engine(plan)


def run(network, *arrays):
    """Builds a network and runs it; its outputs in their order."""
    context = build(network).create_execution_context()
    for i, array in enumerate(arrays):
        assert context.set_tensor_address(f"x{i}", array.ctypes.data)
    names = [network.get_output(i).name for i in range(network.num_outputs)]
    memory = {name: np.empty(context.get_max_output_size(name), np.uint8) for name in names}
    for name in names:
        assert context.set_tensor_address(name, memory[name].ctypes.data)
    assert context.execute_async_v3(0)

    def result(name):
        dtype = np.dtype(trt.nptype(context.engine.get_tensor_dtype(name)))
        shape = tuple(context.get_tensor_shape(name))
        return memory[name][:trt.volume(shape) * dtype.itemsize].view(dtype).reshape(shape)
    return [result(name) for name in names]


def evaluate(define, *arrays):
    """Runs the network that `define(network, inputs..)` adds; it gives one tensor or several."""
    network = new_network()
    outputs = define(network, *add_inputs(network, arrays))
    for i, tensor in enumerate(outputs if isinstance(outputs, tuple) else (outputs,)):
        tensor.name = f"y{i}"
        network.mark_output(tensor)
    return run(network, *arrays)


def check(define, expected, *arrays, rtol=1e-5, atol=1e-6):
    """The network's outputs are `expected`, a function of the arrays, in value, shape and type."""
    found = evaluate(define, *arrays)
    wanted = expected(*arrays)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    assert len(found) == len(wanted)
    for have, want in zip(found, wanted):
        assert have.shape == want.shape and have.dtype == want.dtype
        np.testing.assert_allclose(have, want, rtol=rtol, atol=atol)


RANDOM = np.random.default_rng(0)


def normal(*shape):
    """Random numbers."""
    return RANDOM.standard_normal(shape).astype(np.float32)


def integers(high, *shape):
    """Random int32 below `high`."""
    return RANDOM.integers(0, high, shape).astype(np.int32)


def softmax(x, axis):
    """Softmax by NumPy."""
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def _engine_of_rows(add_layer, min_batch):
    """A tenon.Engine of y = add_layer(network, x) for min_batch to four rows of three."""
    import tenon
    network = new_network()
    x = network.add_input("x", trt.float32, (-1, 3))
    y = add_layer(network, x).get_output(0)
    y.name = "y"
    network.mark_output(y)
    config = network.builder.create_builder_config()
    profile = network.builder.create_optimization_profile()
    profile.set_shape("x", (min_batch, 3), (max(min_batch, 2), 3), (4, 3))
    config.add_optimization_profile(profile)
    return tenon.Engine(build(network, config))


def sum_engine():
    """A tenon.Engine of y = x + x for one to four rows of three."""
    return _engine_of_rows(lambda network, x: network.add_elementwise(x, x, trt.ElementWiseOperation.SUM), 1)


def mean_engine(min_batch):
    """A tenon.Engine whose every row is the mean of all of them, of min_batch to four rows of three."""
    def add_layers(network, x):
        mean = network.add_reduce(x, trt.ReduceOperation.AVG, 1 << 0, True).get_output(0)
        zeros = network.add_elementwise(x, x, trt.ElementWiseOperation.SUB).get_output(0)
        return network.add_elementwise(zeros, mean, trt.ElementWiseOperation.SUM)
    return _engine_of_rows(add_layers, min_batch)
