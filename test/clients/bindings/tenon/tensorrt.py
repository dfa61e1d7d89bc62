"""NVIDIA's bindings under the name by which the tests of Tenon's package know them."""
from tensorrt_bindings import *  # noqa: F401,F403
from tensorrt_bindings import __version__  # noqa: F401
