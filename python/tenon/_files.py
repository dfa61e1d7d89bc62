"""Files that are whole or not there."""
import contextlib
import fcntl
import os
import pathlib
import time


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


_LONGEST_WAIT = 10  # seconds


@contextlib.contextmanager
def folder_lock(path):
    """While it lasts, no other process has one of the file's folder, also not the program `tenon`.

    Gives whether that is so; it is not where another has held the folder for 10 seconds, and nobody knows in a folder
    that cannot be read or locked, as on some network file systems, which counts as locked.
    """
    try:
        folder = os.open(pathlib.Path(path).parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        yield True
        return
    try:
        yield _is_locked(folder)
    finally:
        os.close(folder)


def _is_locked(folder):
    end = time.monotonic() + _LONGEST_WAIT
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(0.01)
        except OSError:
            return True
