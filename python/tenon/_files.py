"""Files that are whole or not there."""
import os
import pathlib


def write_file(path, content):
    """Writes bytes to a file, which is replaced at once when they are all on disk."""
    path = pathlib.Path(path)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_bytes(content)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
