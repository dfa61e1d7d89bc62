"""Engines: models that were built, and how they are called."""
import numbers
import os
import typing

from tenon import _native
from tenon import tensorrt as trt
from tenon._files import write_file
from tenon._messages import failure, listen, report
from tenon._plugins import load_plugins

_NAMES = {
    "FLOAT": "float32", "HALF": "float16", "BF16": "bfloat16", "FP8": "float8_e4m3fn",
    "E8M0": "float8_e8m0fnu",
}


class Tensor(typing.NamedTuple):
    """An input or output of an engine.

    `dtype` is NumPy's name of the element type. `shape` has -1 where the extent depends on the
    inputs. `min`, `opt` and `max` are an input's shapes in the engine's profile; None for outputs.
    """
    name: str
    dtype: str
    shape: tuple
    min: typing.Optional[tuple] = None
    opt: typing.Optional[tuple] = None
    max: typing.Optional[tuple] = None

    def __str__(self):
        text = f"{self.name}: {self.dtype} {_shape_text(self.shape)}"
        if self.min is not None and self.min != self.max:
            shapes = ", ".join(_shape_text(s) for s in (self.min, self.opt, self.max))
            text += f", min/opt/max {shapes}"
        return text


class Engine(_native.Session):
    """A model that is ready to run; tenon.compile() and tenon.load() make it.

    engine(a, b), engine(images=a, scale=b): arrays in the order of `inputs` or by name. NumPy's
    arrays come in without a copy if they are C-contiguous, and so do PyTorch's tensors and whatever
    DLPack describes; results are like the first input. One output is returned as it is, several as
    a tuple in the order of `outputs`. engine({"images": a}) returns a dictionary of all outputs.

    An engine on a GPU, whose number is `gpu`, takes arrays of the host, which it copies there and
    back, and arrays of that GPU: PyTorch's tensors, and what has CUDA's array interface or DLPack's.
    Those are not copied, unless their address is no multiple of 16. Results are where the first
    input is: PyTorch's tensors for its own, and for others objects that have both interfaces.
    Without arrays of the host a call returns when its work is in PyTorch's current stream, or that
    of the first array; nothing waits, unless sizes of outputs depend on data.

    `out` takes arrays to write to, which are returned, too: one array, a list or tuple for all
    outputs, or a dictionary for some. Several threads may call one engine at a time.

    Raises TypeError for a wrong element type or name, ValueError for a wrong shape, and tenon.Error
    with the engine's messages when it fails.
    """

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    cuda_engine: trt.ICudaEngine
    profile: int
    gpu: typing.Optional[int]

    def __init__(self, cuda_engine, *, profile=0, messages=None):
        """`cuda_engine` is a tensorrt.ICudaEngine; `messages` its logger, if that is ours."""
        if not isinstance(cuda_engine, trt.ICudaEngine):
            raise TypeError(f"expected a tensorrt.ICudaEngine, found {type(cuda_engine).__name__}; "
                            "tenon.load() takes a plan's path or bytes")
        if not isinstance(profile, numbers.Integral):
            raise TypeError(f"profile: expected a number from 0 to {cuda_engine.num_optimization_profiles - 1}, "
                            f"found {profile!r}")
        gpu = _native.gpu_of_engine(cuda_engine)
        super().__init__(cuda_engine, messages, profile, gpu)
        self.cuda_engine = cuda_engine
        self.gpu = gpu
        self.profile = profile
        self._messages = messages
        self.inputs, self.outputs = _tensors(cuda_engine, profile)

    def context(self, profile=None) -> "Engine":
        """The same engine with execution contexts of its own, in the optimization profile number
        `profile`. The first context is made now, so that the first call takes no longer."""
        context = Engine(self.cuda_engine, profile=self.profile if profile is None else profile,
                         messages=self._messages)
        context._prepare()
        return context

    def serialize(self) -> bytes:
        """The plan, as bytes for tenon.load()."""
        plan = self.cuda_engine.serialize()
        if plan is None:
            raise failure("cannot serialize the engine", self._messages)
        return bytes(plan)

    def save(self, path) -> None:
        """Writes the plan to a file, which is replaced at once when it is whole."""
        write_file(path, self.serialize())

    def describe(self) -> str:
        """What is in the plan, as `tenon inspect` prints it: layers, kernels, memory, plugins."""
        memory = os.memfd_create("plan")
        try:
            with open(memory, "wb", closefd=False) as file:
                file.write(self.serialize())
            return _native.describe_plan(f"/proc/self/fd/{memory}")
        finally:
            os.close(memory)

    def __repr__(self):
        lines = [f"<tenon.Engine {self.cuda_engine.name!r}, {self.cuda_engine.num_layers} layers"]
        for kind, tensors in (("in", self.inputs), ("out", self.outputs)):
            lines += [f"  {kind:3} {tensor}" for tensor in tensors]
        profiles = self.cuda_engine.num_optimization_profiles
        if profiles > 1:
            lines.append(f"  profile {self.profile} of {profiles}")
        return "\n".join(lines) + ">"

    def __reduce__(self):
        return _unpickle, (self.serialize(), self.profile)


def load(plan, *, plugins=(), verbose=False) -> Engine:
    """Loads an engine.

    `plan` is a path or bytes of Engine.save(), `tenon build` or TensorRT's API on Tenon; a file is
    mapped, not read, so it must stay as it is while the engine lives. `plugins` are libraries whose
    plugins it needs. Raises FileNotFoundError, or tenon.Error when it is no intact plan.
    """
    messages = listen(verbose)
    engine = open_engine(plan, messages, plugins=plugins)
    report(messages)
    return Engine(engine, messages=messages)


def open_engine(plan, messages, *, plugins=(), allocator=None):
    """The tensorrt.ICudaEngine of a plan's path or bytes; raises as load() does.

    messages: the logger of the engine. allocator: an IGpuAllocator for its memory.
    """
    register_plugins(plugins, messages)
    runtime = trt.Runtime(messages)
    if allocator is not None:
        runtime.gpu_allocator = allocator
    if isinstance(plan, (str, os.PathLike)):
        path = os.fspath(plan)
        if not os.path.isfile(path):
            raise FileNotFoundError(f"there is no plan '{path}'")
        engine, what = _native.open_plan(runtime, path), f"'{path}'"
    else:
        try:
            engine, what = runtime.deserialize_cuda_engine(memoryview(plan)), "the plan"
        except TypeError:
            raise TypeError("expected a plan's path or bytes, found "
                            + type(plan).__name__) from None
    if engine is None:
        raise failure(f"cannot load {what}", messages)
    return engine


def register_plugins(libraries, messages):
    """Registers the plugins that come with Tenon, and those of shared libraries (paths)."""
    trt.init_libnvinfer_plugins(messages, "")
    for library in [libraries] if isinstance(libraries, (str, os.PathLike)) else libraries:
        load_plugins(library)


def _unpickle(plan, profile):
    engine = load(plan)
    return engine if profile == 0 else engine.context(profile)


def _tensors(engine, profile):
    inputs, outputs = [], []
    for i in range(engine.num_io_tensors):
        name = engine.get_tensor_name(i)
        kind = engine.get_tensor_dtype(name).name
        shape = tuple(engine.get_tensor_shape(name))
        dtype = _NAMES.get(kind, kind.lower())
        if engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT:
            shapes = (tuple(s) for s in engine.get_tensor_profile_shape(name, profile))
            inputs.append(Tensor(name, dtype, shape, *shapes))
        else:
            outputs.append(Tensor(name, dtype, shape))
    return tuple(inputs), tuple(outputs)


def _shape_text(shape):
    return "x".join(str(extent) if extent >= 0 else "?" for extent in shape) or "scalar"
