"""Runs a program in this process, as Python or an installed command would."""
import importlib.metadata
import os
import pathlib
import runpy
import sys
from typing import Callable, List


def _reach_children(package: str) -> None:
    folder = str(pathlib.Path(__file__).with_name("_children"))
    given = [f for f in os.environ.get("PYTHONPATH", "").split(os.pathsep) if f and f != folder]
    os.environ["PYTHONPATH"] = os.pathsep.join([folder, *given])
    packages = os.environ.get("TENON_STANDS_FOR", "").split(",")  # such a program may start one of the other kind
    os.environ["TENON_STANDS_FOR"] = ",".join(dict.fromkeys([*filter(None, packages), package]))


def run_program(arguments: List[str], usage: str, package: str, install: Callable[[], object]) -> int:
    """Runs a file, a module (after -m), or a command that a package installed, after `install`.

    package: what `install` puts in place, as Python programs that the program starts find it, too (_children).
    Returns the exit status; `usage` is printed where there is nothing to run.
    """
    if not arguments or arguments[0] in ("-h", "--help"):
        print(usage)
        return 0 if arguments else 2
    install()
    _reach_children(package)
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
