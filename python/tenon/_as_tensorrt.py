"""`import tensorrt` gives tenon.tensorrt."""
import ctypes
import importlib
import importlib.util
import os
import pathlib
import sys
import types


def install_as_tensorrt() -> types.ModuleType:
    """From now on `import tensorrt` gives tenon.tensorrt, in this process; returns it.

    tensorrt_bindings and tensorrt.plugin are ours, too, and ctypes finds our libraries (libcudart,
    libnvinfer, libnvinfer_plugin, libnvonnxparser) by their names. Where cuda-python is not
    installed, cuda.cudart and cuda.bindings.runtime are tenon.cudart. RuntimeError if NVIDIA's
    TensorRT was imported before.
    """
    from tenon import tensorrt
    for name in ("tensorrt", "tensorrt_bindings"):
        if sys.modules.get(name, tensorrt) is not tensorrt:
            raise RuntimeError(f"{sys.modules[name]!r} was imported already: call "
                               "tenon.install_as_tensorrt() before anything imports TensorRT")
    for name, module in list(sys.modules.items()):
        if name == "tenon.tensorrt" or name.startswith("tenon.tensorrt."):
            sys.modules[name.removeprefix("tenon.")] = module
    sys.modules["tensorrt_bindings"] = tensorrt
    _offer_libraries()
    if not _is_there("cuda.cudart") and not _is_there("cuda.bindings"):
        _offer_cudart()
    return tensorrt


def _is_there(name):
    if name in sys.modules:
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # not even the package that it would lie in
        return False


def _offer_cudart():
    from tenon import cudart
    for name in ("cuda", "cuda.bindings"):
        if not _is_there(name):  # other packages may have parts of `cuda`
            sys.modules[name] = types.ModuleType(name, "Holds tenon.cudart for programs of cuda-python.")
            sys.modules[name].__path__ = []
    cuda = importlib.import_module("cuda")
    cuda.bindings = sys.modules["cuda.bindings"]
    cuda.cudart = cuda.bindings.runtime = cudart
    sys.modules["cuda.cudart"] = sys.modules["cuda.bindings.runtime"] = cudart


def _offer_libraries():
    # Programs look for libraries in LD_LIBRARY_PATH or by their names, which are found when loaded.
    folder = pathlib.Path(__file__).with_name("lib")
    folders = [str(folder / "compatible"), str(folder)]
    given = [f for f in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if f]
    os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(dict.fromkeys(folders + given))
    for name in ("compatible/libcudart.so.13", "libnvinfer.so.10", "libnvinfer_plugin.so.10",
                 "libnvonnxparser.so.10"):
        ctypes.CDLL(str(folder / name))
