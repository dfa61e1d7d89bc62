"""`import tensorrt` gives tenon.tensorrt."""
import ctypes
import os
import pathlib
import sys


def install_as_tensorrt():
    """From now on `import tensorrt` gives tenon.tensorrt, in this process; returns it.

    tensorrt_bindings and tensorrt.plugin are ours, too, and ctypes finds our libraries (libcudart,
    libnvinfer, libnvinfer_plugin, libnvonnxparser) by their names. RuntimeError if NVIDIA's
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
    return tensorrt


def _offer_libraries():
    # Programs look for libraries in LD_LIBRARY_PATH or by their names, which are found when loaded.
    folder = pathlib.Path(__file__).with_name("lib")
    folders = [str(folder / "compatible"), str(folder)]
    given = [f for f in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if f]
    os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(dict.fromkeys(folders + given))
    for name in ("compatible/libcudart.so.13", "libnvinfer.so.10", "libnvinfer_plugin.so.10",
                 "libnvonnxparser.so.10"):
        ctypes.CDLL(str(folder / name))
