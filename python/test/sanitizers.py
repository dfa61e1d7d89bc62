"""What tests of builds with sanitizers need to know."""
import pathlib


def loaded(name):
    """Whether the runtime of a sanitizer ("asan", "tsan") is loaded ahead of the interpreter."""
    return f"lib{name}" in pathlib.Path("/proc/self/maps").read_text()
