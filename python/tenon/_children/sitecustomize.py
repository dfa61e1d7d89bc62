"""Python programs that a program of tenon.as_tensorrt starts find tenon.tensorrt, too.

So do those of tenon.as_onnx_graphsurgeon. Its folder is on their PYTHONPATH, where Python looks for
sitecustomize when it starts, and TENON_STANDS_FOR names the packages. Nothing is imported before
the program imports one.
"""
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules of these names, each of which tenon's function `install` puts in place."""

    def __init__(self, install, *names):
        self.install, self.names = install, names

    def find_spec(self, name, path=None, target=None):
        if name not in self.names or importlib.util.find_spec("tenon") is None:
            return None
        return importlib.machinery.ModuleSpec(name, self)

    def exec_module(self, module):
        sys.meta_path[:] = [f for f in sys.meta_path
                            if not isinstance(f, _Finder) or f.install != self.install]
        name = module.__name__
        del sys.modules[name]
        import tenon
        getattr(tenon, self.install)()
        if name not in sys.modules:  # as the import of what is nowhere
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


# Ours before NVIDIA's; cuda-python's where there are none.
_packages = os.environ.get("TENON_STANDS_FOR", "tensorrt").split(",")
if "tensorrt" in _packages:
    sys.meta_path.insert(0, _Finder("install_as_tensorrt", "tensorrt", "tensorrt_bindings"))
    sys.meta_path.append(_Finder("install_as_tensorrt", "cuda", "cuda.cudart", "cuda.bindings",
                                 "cuda.bindings.runtime"))
if "onnx_graphsurgeon" in _packages:
    sys.meta_path.insert(0, _Finder("install_as_onnx_graphsurgeon", "onnx_graphsurgeon"))

# The environment's own one, which this file hides.
_here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != _here]
del sys.modules["sitecustomize"]
try:
    import sitecustomize  # noqa: F401
except ImportError:
    pass
