"""Loads _native so that it calls our CUDA runtime, even if PyTorch has loaded NVIDIA's before.

PyTorch puts that library where every library loaded later looks first, and without a GPU it
refuses all. Libraries loaded with RTLD_DEEPBIND look at what they were linked with first.
"""
import ctypes
import os
import sys

from tenon import _cuda_libraries

_flags = sys.getdlopenflags()
if hasattr(ctypes.CDLL(None), "cudaStreamCreate"):
    sys.setdlopenflags(os.RTLD_NOW | os.RTLD_DEEPBIND)
try:
    from tenon import _native  # noqa: F401
finally:
    sys.setdlopenflags(_flags)
# Nothing was asked of it yet, so that nothing was looked for.
if _native._has_cuda_target and os.path.exists("/dev/nvidiactl"):
    _cuda_libraries.load()
