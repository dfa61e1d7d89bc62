"""The timing cache of a build, kept in a file. It only saves time: one that cannot be used is a warning."""
import logging

from tenon._files import check_writable, write_file
from tenon._messages import report

_MAGIC = b"TENONTC"


def use(path, config, messages):
    """Gives a build what the file holds; returns a function that writes what the build knows then.

    A file of something else is left as it is. Raises OSError at once if it cannot be written.
    """
    file = check_writable(path)
    stored = file.read_bytes() if file.exists() else b""
    is_ours = not stored or stored.startswith(_MAGIC)
    cache = config.create_timing_cache(stored) if is_ours else None
    if cache is None:
        why = "it is not a timing cache of Tenon; it is ignored, and left as it is"
        if is_ours:
            why = "; ".join([*report(messages), "it is made anew"])
        logging.getLogger("tenon").warning("timing cache '%s': %s", path, why)
        cache = config.create_timing_cache(b"")
    config.set_timing_cache(cache, ignore_mismatch=True)

    def save():
        if is_ours:
            write_file(path, bytes(cache.serialize()))
    return save
