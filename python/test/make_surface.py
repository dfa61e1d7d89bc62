"""Writes surface.json: the public names of TensorRT's own Python API, for test_surface.py.

Needs the wheel tensorrt-cu13-bindings 10.16.1, unpacked in a folder on PYTHONPATH, and libraries of
TensorRT's names on LD_LIBRARY_PATH (Tenon's do: out/lib and out/lib/compatible):

    LD_LIBRARY_PATH=out/lib:out/lib/compatible PYTHONPATH=FOLDER python make_surface.py

The file has facts only: classes with their members ("r" and "rw" are properties, a list holds the
argument names of each overload of a method), enumerations with their values, functions, and the
names of other values. Arguments without a name are "".
"""
import enum
import importlib
import inspect
import json
import pathlib
import re
import sys

OPERATORS = ("init", "len", "getitem", "setitem", "iter", "eq", "str", "repr", "enter", "exit")
# Left over in the module from how it is written; nobody is meant to use them.
ACCIDENTS = {"attr", "value", "common_enter", "common_exit", "os", "sys", "ctypes", "warnings"}


def is_enumeration(value):
    return inspect.isclass(value) and hasattr(value, "__members__")


def arguments_of(function, skip=0):
    """The argument names of each overload, without self; `skip` counts self in Python's own."""
    signatures = re.findall(r"^(?:\d+\. )?\w+\((.*)\) -> ", inspect.getdoc(function) or "", re.M)
    if not signatures and inspect.isfunction(function):
        return [list(inspect.signature(function).parameters)[skip:]]
    overloads = []
    for signature in signatures:
        names = re.findall(r"(?:^|, )(\w+): ", re.sub(r"\[[^\]]*\]", "", signature))
        overloads.append(["" if re.fullmatch(r"arg\d+", name) else name
                          for name in names if name != "self"])
    return [names for names in overloads if names != ["args", "kwargs"]]


def members_of(cls):
    members = {}
    for name, value in sorted(vars(cls).items()):
        if name.startswith("_") and name.strip("_") not in OPERATORS or is_enumeration(value):
            continue
        if isinstance(value, property):
            members[name] = "rw" if value.fset else "r"
        elif isinstance(value, staticmethod):
            members[name] = arguments_of(value.__func__)
        elif name in ("__enter__", "__exit__"):
            members[name] = []
        elif callable(value):
            members[name] = arguments_of(value, skip=1)
        elif value is not None:
            members[name] = "r"
    if not members.get("__init__"):
        members.pop("__init__", None)
    return members


def surface_of(module, prefix):
    found = {"enums": {}, "classes": {}, "functions": {}, "values": {}}

    def add_enumeration(name, cls):
        found["enums"][name] = {member: int(value) for member, value in cls.__members__.items()}

    for name, value in sorted(vars(module).items()):
        if name.startswith("_") or name in ACCIDENTS or inspect.ismodule(value):
            continue
        if is_enumeration(value):
            add_enumeration(prefix + name, value)
        elif inspect.isclass(value):
            if value.__module__.split(".")[0] != module.__name__.split(".")[0]:
                continue
            found["classes"][prefix + name] = members_of(value)
            for inner, cls in vars(value).items():
                if is_enumeration(cls):
                    add_enumeration(f"{prefix}{name}.{inner}", cls)
        elif callable(value):
            found["functions"][prefix + name] = arguments_of(value)
        elif isinstance(value, enum.Enum) or hasattr(value, "name"):
            found["values"][prefix + name] = "r"
    return found


def main():
    bindings = importlib.import_module("tensorrt_bindings")
    sys.modules["tensorrt"] = bindings
    surface = surface_of(bindings, "")
    for kind, names in surface_of(importlib.import_module("tensorrt_bindings.plugin"),
                                  "plugin.").items():
        surface[kind] = surface[kind] | names

    blocks = []
    for kind, names in surface.items():  # a class or enumeration is one line
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(facts)}"
                           for name, facts in names.items())
        blocks.append(f"{json.dumps(kind)}: {{\n{lines}\n}}")
    text = "{\n" + ",\n".join(blocks) + "\n}\n"
    pathlib.Path(__file__).with_name("surface.json").write_text(text)


if __name__ == "__main__":
    main()
