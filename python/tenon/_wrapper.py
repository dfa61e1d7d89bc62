"""What the functions of MMCV, MMDeploy and tensorRT_Pro share."""
import contextlib
import os
import pathlib

from tenon import _native, cudart
from tenon import tensorrt as trt
from tenon._compile import add_profile, read
from tenon._engine import Engine, open_engine, register_plugins
from tenon._files import write_file
from tenon._messages import Error, failure, report
from tenon._native import Messages


def build(model, profile, *, log_level=trt.Logger.ERROR, fp16=False, calibrator=None, workspace=0,
          device_id=0):
    """A tensorrt.ICudaEngine of a model.

    model: an ONNX file, its bytes or an onnx.ModelProto. profile: {input: (min, opt, max)}, or
    a function that makes it of the network. calibrator: for INT8, an IInt8Calibrator, whose
    batches have the optimal shapes. device_id: the GPU, on machines that have one.
    Messages of `log_level` and graver ones go to standard error. RuntimeError, which lists the
    parser's errors, when the model cannot be read; tenon.Error when it cannot be built.
    """
    messages = Messages(log_level)
    register_plugins((), messages)
    try:
        network, what, _parser = read(model, messages)
    except Error as error:
        raise Error(f"Failed to parse onnx, {error}") from None
    builder = network.builder
    config = builder.create_builder_config()
    if workspace > 0:
        config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, workspace)
    if fp16:
        config.set_flag(trt.BuilderFlag.FP16)
    if calibrator is not None:
        config.set_flag(trt.BuilderFlag.INT8)
        config.int8_calibrator = calibrator
    add_profile(builder, config, network, profile(network) if callable(profile) else profile)
    with current_gpu(device_id):
        plan = builder.build_serialized_network(network, config)
        engine = plan and trt.Runtime(messages).deserialize_cuda_engine(plan)
    if engine is None:
        raise failure(f"Failed to create TensorRT engine from {what}", messages)
    report(messages)
    return engine


def save(engine, path):
    """Writes a tensorrt.ICudaEngine or its plan (IHostMemory, bytes) to a file."""
    plan = engine.serialize() if isinstance(engine, trt.ICudaEngine) else engine
    write_file(path, plan)


def load(path, allocator=None):
    """The tensorrt.ICudaEngine of a plan file. `allocator`, an IGpuAllocator, gives its memory."""
    return open_engine(os.fspath(path), Messages(trt.Logger.ERROR), allocator=allocator)


def deserialize(plan):
    """The tensorrt.ICudaEngine of a plan's bytes."""
    return open_engine(bytes(plan), Messages(trt.Logger.ERROR))


def load_plugin_library():
    """Registers every plugin that comes with Tenon; True, as they are always there."""
    return trt.init_libnvinfer_plugins(Messages(trt.Logger.ERROR), "")


def plugin_library():
    """The path of the library that ctypes.CDLL() would load the plugins from."""
    return str(pathlib.Path(__file__).with_name("lib") / "libnvinfer_plugin.so.10")


@contextlib.contextmanager
def current_gpu(index):
    """What is made meanwhile is on that GPU, where there are any; None: on the current one."""
    if index is None or not _native.on_gpu():
        yield
        return
    _, previous = cudart.cudaGetDevice()
    error, = cudart.cudaSetDevice(index)
    if error != cudart.cudaError_t.cudaSuccess:
        raise ValueError(f"there is no GPU {index}: {cudart.cudaGetErrorString(error)[1].decode()}")
    try:
        yield
    finally:
        cudart.cudaSetDevice(previous)


def device_index(device):
    """The number in "cuda:0"; "cpu" and None are device 0."""
    kind, _, index = str(device or "cpu").partition(":")
    if kind not in ("cpu", "cuda") or not (index == "" or index.isdigit()):
        raise ValueError(f"device '{device}': expected 'cpu' or 'cuda:0'")
    return int(index or 0)


def run_on_tensors(engine, inputs, output_names=None):
    """{output: tensor} of {input: tensor}, which are PyTorch's.

    Tensors of int64 become int32 where the engine wants that. Those of a device that is neither the
    CPU nor the engine's are copied there. Outputs are where the first input is.
    """
    for name, tensor in inputs.items():
        if not hasattr(tensor, "detach"):
            raise TypeError(f"input '{name}': expected a tensor, found {type(tensor).__name__}")
    device = next(iter(inputs.values())).device if inputs else "cpu"
    types = {tensor.name: tensor.dtype for tensor in engine.inputs}
    own = "cpu" if engine.gpu is None else f"cuda:{engine.gpu}"
    ready = {}
    for name, tensor in inputs.items():
        tensor = tensor.detach()
        if str(tensor.device) not in ("cpu", own):
            tensor = tensor.to(own)
        if str(tensor.dtype) == "torch.int64" and types.get(name) == "int32":
            tensor = tensor.int()
        ready[name] = tensor
    outputs = engine(ready)
    return {name: outputs[name].to(device) for name in output_names or outputs}


def as_engine(engine, device_id=None):
    """An Engine of a plan's path, a tensorrt.ICudaEngine or an Engine; a plan is loaded on the GPU
    `device_id`, where there are any."""
    if isinstance(engine, Engine):
        return engine
    if isinstance(engine, (str, os.PathLike)):
        with current_gpu(device_id):
            engine = load(engine)
    if not isinstance(engine, trt.ICudaEngine):
        raise TypeError(f"expected the path of a plan or an ICudaEngine, found {type(engine).__name__}")
    return Engine(engine)
