"""Python programs that a program of tenon.as_tensorrt starts find tenon.tensorrt, too.

Its folder is on their PYTHONPATH, where Python looks for sitecustomize when it starts. Nothing is
imported before the program imports TensorRT.
"""
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules of these names, each of which install_as_tensorrt() puts in place."""

    def __init__(self, *names):
        self.names = names

    def find_spec(self, name, path=None, target=None):
        if name not in self.names or importlib.util.find_spec("tenon") is None:
            return None
        return importlib.machinery.ModuleSpec(name, self)

    def exec_module(self, module):
        sys.meta_path[:] = [f for f in sys.meta_path if not isinstance(f, _Finder)]
        name = module.__name__
        del sys.modules[name]
        from tenon import install_as_tensorrt
        install_as_tensorrt()
        if name not in sys.modules:  # as the import of what is nowhere
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


# TensorRT's before NVIDIA's; cuda-python's where there are none.
sys.meta_path.insert(0, _Finder("tensorrt", "tensorrt_bindings"))
sys.meta_path.append(_Finder("cuda", "cuda.cudart", "cuda.bindings", "cuda.bindings.runtime"))

# The environment's own one, which this file hides.
_here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != _here]
del sys.modules["sitecustomize"]
try:
    import sitecustomize  # noqa: F401
except ImportError:
    pass
