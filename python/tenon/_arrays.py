"""How arrays of NumPy, PyTorch and other frameworks cross into the engine and back, uncopied.

What is in the host's memory crosses as a NumPy array. What DLPack or a buffer describes comes in;
results go out as the first input came in.
"""
import functools
import sys

import numpy as np

NUMPY = np.empty(0)
STORAGE = {"bfloat16": np.uint16, "float8_e4m3fn": np.uint8, "float8_e8m0fnu": np.uint8}


def framework(kind):
    """(to_numpy, from_numpy, whether it is PyTorch's, whether it is another that may be on a GPU)
    for arrays of the class `kind`. to_numpy is None where nothing needs to become NumPy's.
    """
    if issubclass(kind, np.ndarray):
        return None, numpy_view, False, False
    root = kind.__module__.partition(".")[0]
    if any(base.__module__ == "torch" for base in kind.__mro__):
        return np.asarray, _torch_from_numpy(), True, False
    if hasattr(kind, "__dlpack__"):
        module = sys.modules.get({"jaxlib": "jax"}.get(root, root))
        module = getattr(module, "dlpack", None) or module
        back = getattr(module, "from_dlpack", None)
        return (_dlpack_to_numpy, (lambda array, name: back(array)) if back else numpy_view, False, True)
    if hasattr(kind, "__array_interface__") or issubclass(kind, (memoryview, bytearray)):
        return np.asarray, numpy_view, False, False
    if hasattr(kind, "__cuda_array_interface__"):
        return _refuse_cuda, numpy_view, False, True
    raise TypeError(f"expected an array (NumPy, PyTorch, DLPack), found {kind.__name__}")


def plain(array, writable):
    """(array, name): C-contiguous and with a buffer; the name of an element type that it hides."""
    name = array.dtype.name
    if writable and not array.flags.writeable:
        raise ValueError("the array cannot be written to")
    if writable and not array.flags.c_contiguous:
        raise ValueError("the array is not contiguous")
    array = np.ascontiguousarray(array)
    return (array.view(STORAGE[name]), name) if name in STORAGE else (array, "")


def text(array):
    """What an error says that it found."""
    dtype = getattr(array, "dtype", None)
    if dtype is None:
        interface = getattr(array, "__cuda_array_interface__", None)
        if interface is None:
            return type(array).__name__
        return f"{np.dtype(interface['typestr']).name} of shape {tuple(interface['shape'])}"
    return f"{str(dtype).removeprefix('torch.')} of shape {tuple(array.shape)}"


def numpy_view(array, name):
    if name not in STORAGE:
        return array
    try:
        import ml_dtypes
    except ImportError:
        raise TypeError(f"NumPy has no {name}: install ml_dtypes, or call with PyTorch's tensors")
    return array.view(getattr(ml_dtypes, name))


def _dlpack_to_numpy(array):
    try:
        return np.from_dlpack(array)
    except (BufferError, RuntimeError) as error:
        raise TypeError(f"{text(array)}: no memory of the CPU that DLPack gives ({error})")


def _refuse_cuda(array):
    raise TypeError(f"an array of {type(array).__name__} is in CUDA memory; the engine runs on the CPU")


def plain_tensor(tensor, writable, gpu):
    """A tensor without gaps, of the CPU or of the GPU that the engine runs on (-1: none)."""
    device = tensor.device
    if device.type != "cpu" and (device.type, device.index) != ("cuda", gpu):
        place, how = ("the CPU", "cpu()") if gpu < 0 else (f"GPU {gpu}", f"to('cuda:{gpu}')")
        raise TypeError(f"the tensor is on {device}; the engine runs on {place}: use .{how}")
    if writable:
        raise ValueError("the tensor is not contiguous")
    return tensor.detach().resolve_neg().contiguous()


def _torch_from_numpy():
    import torch

    def from_numpy(array, name):
        if name not in STORAGE:
            return torch.from_numpy(array)
        signed = np.int16 if array.itemsize == 2 else np.uint8
        return torch.from_numpy(array.view(signed)).view(getattr(torch, name))
    return from_numpy


def torch_stream():
    """A function that gives the handle of PyTorch's current stream on a GPU, an int."""
    import torch
    quick = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return quick or (lambda gpu: torch.cuda.current_stream(gpu).cuda_stream)


@functools.cache
def _new_tensors(name, gpu):
    import torch
    return functools.partial(torch.empty, dtype=getattr(torch, name), device=torch.device("cuda", gpu))


def new_tensor(shape, name, gpu):
    """A tensor in the memory of a GPU, not filled, and its address."""
    tensor = _new_tensors(name, gpu)(shape)
    return tensor, tensor.data_ptr()


def gpu_array(*arguments):
    """A tenon.GpuArray."""
    from tenon._tensor_memory import GpuArray
    return GpuArray(*arguments)
