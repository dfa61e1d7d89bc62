"""TensorRT's Python API over Tenon's engine: `import tenon.tensorrt as trt`."""
import sys as _sys

from tenon._native import *  # noqa: F403
from tenon._native import _version
from tenon.tensorrt.plugin_classes import *  # noqa: F403
from tenon.tensorrt.plugin_fields import *  # noqa: F403
from tenon.tensorrt import plugin  # noqa: E402,F401

__version__ = ".".join(map(str, _version))

# The stub of _native leaves it out, where it would hide Python's.
bool = DataType.BOOL  # noqa: A001,F405

# TensorRT's classes live in tensorrt.tensorrt, and type hints say so.
tensorrt = _sys.modules[__name__]
# The allocators are written in C++, the base class of all interfaces in Python.
IVersionedInterface.register(IGpuAllocator)  # noqa: F405
