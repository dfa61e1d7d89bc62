"""Allocators that users derive from in Python: what they give is used, what they raise comes out."""
import ctypes

import numpy as np
import pytest
import tenon.tensorrt as trt
from models import engine_of, model, plan_of, run, value
from networks import Messages
from onnx import helper
from tenon import cudart


class Output(trt.IOutputAllocator):
    def __init__(self, method):
        trt.IOutputAllocator.__init__(self)
        self.shape = None
        setattr(type(self), method, lambda self, *args: self.allocate(*args))

    def allocate(self, tensor_name, memory, size, alignment, stream=0):
        self.memory = np.zeros(size + alignment, np.uint8)
        self.start = -self.memory.ctypes.data % alignment
        return self.memory.ctypes.data + self.start

    def notify_shape(self, tensor_name, shape):
        self.shape = tuple(shape)


def nonzero():
    """The indices of what is not zero: how many is known only at run time."""
    return model([helper.make_node("NonZero", ["x"], ["y"])], [value("x", [6])],
                 [value("y", [1, "n"], helper.TensorProto.INT64)])


@pytest.mark.parametrize("method", ["reallocate_output", "reallocate_output_async"])
def test_output_allocators_give_memory(method):
    context = engine_of(nonzero()).create_execution_context()
    output = type("Mine", (Output,), {})(method)
    x = np.array([0, 3, 0, 0, 5, 7], np.float32)
    context.set_tensor_address("x", x.ctypes.data)
    assert context.set_output_allocator("y", output)
    assert context.get_output_allocator("y") is output
    assert context.execute_async_v3(0)
    cudart.cudaStreamSynchronize(0)
    assert output.shape == (1, 3)
    result = output.memory[output.start:output.start + 24].view(np.int64)
    assert result.tolist() == [1, 4, 5]
    assert not context.set_output_allocator("nothing", output)


@pytest.mark.parametrize("method", ["reallocate_output", "notify_shape"])
def test_what_output_allocators_raise_comes_out(method):
    def fail(*arguments):
        raise MemoryError("mine")

    context = engine_of(nonzero()).create_execution_context()
    output = type("Mine", (Output,), {})("reallocate_output")
    setattr(type(output), method, fail)
    x = np.ones(6, np.float32)
    context.set_tensor_address("x", x.ctypes.data)
    assert context.set_output_allocator("y", output)
    with pytest.raises(MemoryError, match="mine"):
        context.execute_v2([x.ctypes.data, 0])


class Memory(trt.IGpuAllocator):
    libc = ctypes.CDLL(None)
    libc.aligned_alloc.restype = ctypes.c_void_p
    libc.aligned_alloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]

    def __init__(self):
        trt.IGpuAllocator.__init__(self)
        self.blocks, self.total = set(), 0

    def allocate(self, size, alignment, flags):
        memory = self.libc.aligned_alloc(alignment, -(-size // alignment) * alignment)
        self.blocks.add(memory)
        self.total += size
        return memory

    def deallocate(self, memory):
        self.blocks.remove(memory)
        self.libc.free(memory)
        return True


class Careless(Memory):
    """Gives memory where numbers of float32 may begin, and nothing larger."""

    def allocate(self, size, alignment, flags):
        return super().allocate(size + 4, alignment, flags) + 4

    def deallocate(self, memory):
        return super().deallocate(memory - 4)


def two_steps():
    return model([helper.make_node("MatMul", ["x", "x"], ["a"]),
                  helper.make_node("Softmax", ["a"], ["b"]),
                  helper.make_node("MatMul", ["b", "x"], ["y"])],
                 [value("x", [64, 64])], [value("y", [64, 64])])


def test_gpu_allocators_give_memory():
    logger, memory = trt.Logger(), Memory()
    runtime = trt.Runtime(logger)
    runtime.gpu_allocator = memory
    engine = runtime.deserialize_cuda_engine(plan_of(two_steps()))
    context = engine.create_execution_context()
    x = np.eye(64, dtype=np.float32)
    run(context, x=x)
    assert memory.blocks and memory.total >= engine.device_memory_size_v2 > 0
    assert isinstance(memory, trt.IVersionedInterface)
    del context, engine
    assert not memory.blocks


class Lending(trt.IGpuAsyncAllocator):
    def __init__(self):
        trt.IGpuAsyncAllocator.__init__(self)
        self.memory, self.streams = Memory(), []

    def allocate_async(self, size, alignment, flags, stream):
        self.streams.append(stream)
        return self.memory.allocate(size, alignment, flags)

    def deallocate_async(self, memory, stream):
        return self.memory.deallocate(memory)


def test_temporary_allocators_lend_memory_for_a_run():
    # What is behind NonZero has a size that only running tells.
    network = model([helper.make_node("NonZero", ["x"], ["a"]), helper.make_node("Mul", ["a", "a"], ["y"])],
                    [value("x", [6])], [value("y", [1, "n"], helper.TensorProto.INT64)])
    context = engine_of(network).create_execution_context()
    lending = context.temporary_allocator = Lending()
    x, y = np.array([0, 3, 0, 0, 5, 7], np.float32), np.zeros(6, np.int64)
    context.set_tensor_address("x", x.ctypes.data)
    context.set_tensor_address("y", y.ctypes.data)
    _, stream = cudart.cudaStreamCreate()
    assert context.execute_async_v3(int(stream))
    cudart.cudaStreamSynchronize(stream)
    assert y[:3].tolist() == [1, 16, 25]
    assert set(lending.streams) == {int(stream)} and not lending.memory.blocks
    cudart.cudaStreamDestroy(stream)


class Failing(trt.IGpuAllocator):
    def allocate(self, size, alignment, flags):
        raise OverflowError("mine")

    def deallocate(self, memory):
        return True


def test_what_allocators_raise_comes_out():
    runtime = trt.Runtime(trt.Logger(trt.Logger.INTERNAL_ERROR))
    runtime.gpu_allocator = Failing()
    plan = plan_of(two_steps())
    with pytest.raises(OverflowError, match="mine"):
        engine = runtime.deserialize_cuda_engine(plan)
        run(engine.create_execution_context(), x=np.eye(64, dtype=np.float32))


def test_memory_must_be_aligned():
    logger, memory = Messages(), Careless()
    runtime = trt.Runtime(logger)
    runtime.gpu_allocator = memory
    context = runtime.deserialize_cuda_engine(plan_of(two_steps())).create_execution_context()
    array = np.eye(64, dtype=np.float32).ctypes.data
    assert not context.execute_v2([array, array])
    assert "not aligned to 256 bytes as it was asked to" in logger.errors[-1]
    assert not memory.blocks
