"""Finds NVIDIA's libraries where `pip install tenon[cuda]` puts them: in lib/ of the packages nvidia.*, beside this one.

A wheel with the target cuda opens them by their names when it needs them.
"""
import ctypes
import glob
import importlib.util
import os

_NAMES = ("libcudart.so.13", "libcublasLt.so.13", "libcudnn.so.9", "libnvrtc.so.13")


def folders():
    """The folders with libraries, in the order of sys.path; none without such packages."""
    found = importlib.util.find_spec("nvidia")
    places = found.submodule_search_locations if found else None
    return [folder for place in places or () for folder in sorted(glob.glob(os.path.join(glob.escape(place), "*", "lib")))]


def search_path():
    """LD_LIBRARY_PATH of a program that is to find them: behind what it says already."""
    return ":".join(filter(None, [os.environ.get("LD_LIBRARY_PATH"), *folders()]))


def load():
    """Loads them into this process, where later calls find them by their names. Those that are not there are left out."""
    for folder in folders():
        for name in _NAMES:
            path = os.path.join(folder, name)
            if os.path.exists(path):
                ctypes.CDLL(path)
