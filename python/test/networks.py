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


class Results(trt.IOutputAllocator):
    """Gives outputs memory when their size is known."""

    def __init__(self):
        trt.IOutputAllocator.__init__(self)
        self.memory = None
        self.shape = None

    def reallocate_output_async(self, tensor_name, memory, size, alignment, stream):
        self.memory = np.empty(max(size, 1) + alignment, np.uint8)
        return -(-self.memory.ctypes.data // alignment) * alignment

    def notify_shape(self, tensor_name, shape):
        self.shape = tuple(shape)

    def array(self, address, dtype):
        offset = address - self.memory.ctypes.data
        count = int(np.prod(self.shape)) * dtype.itemsize
        return self.memory[offset:offset + count].view(dtype).reshape(self.shape)


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
    results = {name: Results() for name in names}
    for name, result in results.items():
        assert context.set_output_allocator(name, result)
    assert context.execute_async_v3(0)
    return [result.array(context.get_tensor_address(name),
                         np.dtype(trt.nptype(context.engine.get_tensor_dtype(name))))
            for name, result in results.items()]


def evaluate(define, *arrays):
    """Runs the network that `define(network, inputs..)` adds; it gives one tensor or several."""
    network = new_network()
    outputs = define(network, *add_inputs(network, arrays))
    for i, tensor in enumerate(outputs if isinstance(outputs, tuple) else (outputs,)):
        tensor.name = f"y{i}"
        network.mark_output(tensor)
    return run(network, *arrays)
