"""The timing cache of a build, kept in a file. It only saves time: one that cannot be used is a warning."""
import logging

from tenon._files import check_writable, folder_lock, write_file
from tenon._messages import report

_MAGIC = b"TENONTC"


class _File:
    """The file, and warnings that name it."""

    def __init__(self, path):
        self._path, self._file = path, check_writable(path)

    def read(self):
        """Its bytes, b"" if it is not there; None, and a warning, if it holds something else."""
        stored = self._file.read_bytes() if self._file.exists() else b""
        if not stored or stored.startswith(_MAGIC):
            return stored
        self.warn("it is not a timing cache of Tenon; it is ignored, and left as it is")
        return None

    def warn(self, text):
        logging.getLogger("tenon").warning("timing cache '%s': %s", self._path, text)


def use(path, config, messages):
    """Gives a build what the file holds; returns a function that writes what the build knows then.

    Writing joins what other builds have written since. A file of something else is left as it is. Raises OSError at once
    if it cannot be written.
    """
    file = _File(path)
    stored = file.read()
    cache = config.create_timing_cache(stored or b"")
    if cache is None:
        file.warn("; ".join([*report(messages), "it is made anew"]))
        cache = config.create_timing_cache(b"")
    config.set_timing_cache(cache, ignore_mismatch=True)

    def save():
        with folder_lock(path) as is_alone:
            if not is_alone:
                file.warn("its folder is locked by another process for long: it is written all the same")
            others = file.read()
            if others is None:
                return
            joined = config.create_timing_cache(others)
            if joined is None:
                messages.take()  # the warning was given when it was read first
            elif not cache.combine(joined, ignore_mismatch=False):
                file.warn("; ".join([*report(messages), "it is left as it is"]))
                return
            write_file(path, bytes(cache.serialize()))
    return save if stored is not None else lambda: None
