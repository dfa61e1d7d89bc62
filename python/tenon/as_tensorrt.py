"""Runs a program whose `import tensorrt` gives tenon.tensorrt.

    python -m tenon.as_tensorrt polygraphy run model.onnx --trt
    python -m tenon.as_tensorrt script.py …
    python -m tenon.as_tensorrt -m module …

So do the Python programs that it starts.
"""
import importlib.metadata
import os
import pathlib
import runpy
import sys

from tenon._as_tensorrt import install_as_tensorrt


def _reach_children():
    folder = str(pathlib.Path(__file__).with_name("_children"))
    given = [f for f in os.environ.get("PYTHONPATH", "").split(os.pathsep) if f and f != folder]
    os.environ["PYTHONPATH"] = os.pathsep.join([folder, *given])


def main(arguments):
    """Runs a file, a module (after -m), or a command that a package installed."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if arguments else 2
    install_as_tensorrt()
    _reach_children()
    if arguments[0] == "-m":
        if len(arguments) < 2:
            print("-m: expected a module's name", file=sys.stderr)
            return 2
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return 0
    sys.argv = arguments
    if os.path.isfile(arguments[0]):
        sys.path.insert(0, os.path.dirname(os.path.abspath(arguments[0])))
        runpy.run_path(arguments[0], run_name="__main__")
        return 0
    for command in importlib.metadata.entry_points(group="console_scripts", name=arguments[0]):
        return command.load()()
    print(f"'{arguments[0]}' is no file, and no package that is installed has such a command",
          file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
