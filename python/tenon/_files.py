"""Files that are whole or not there."""
import os
import pathlib


def check_writable(path):
    """The path as a pathlib.Path; raises OSError if no file can come to lie there."""
    path = pathlib.Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder '{path.parent}' to write '{path.name}' into")
    if path.is_dir():
        raise IsADirectoryError(f"'{path}' is a folder; expected the path of a file")
    return path


def write_file(path, content):
    """Writes bytes to a file, which is replaced at once when they are all on disk."""
    path = check_writable(path)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_bytes(content)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
