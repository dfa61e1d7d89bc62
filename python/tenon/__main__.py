"""The command line, `tenon`, as a module: `python -m tenon`."""
import os
import pathlib
import signal
import sys

from tenon._cuda_libraries import search_path


def main():
    """Becomes the program bin/tenon of this package, with the same arguments."""
    os.environ.setdefault("TENON_PYTHON", sys.executable)  # for `tenon serve --ray`
    if path := search_path():
        os.environ["LD_LIBRARY_PATH"] = path
    # Python ignores it, and what it becomes would: `tenon … | head` ends with head.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    program = pathlib.Path(__file__).with_name("bin") / "tenon"
    os.execv(program, [str(program), *sys.argv[1:]])


if __name__ == "__main__":
    main()
