"""Every public name of TensorRT 10.16's Python API exists in tenon.tensorrt.

surface.json holds the names, made by make_surface.py. Names that are missing are listed here, each
with its reason; the list may not have a name that exists.
"""
import ast
import inspect
import json
import pathlib
import re

import tenon
import tenon.tensorrt as trt

SURFACE = json.loads(pathlib.Path(__file__).with_name("surface.json").read_text())

AHEAD = "plugins compiled ahead of time are not supported yet"
BY_POSITION = "the engine calls it by position, and Python has no argument named 'in'"

GIVES_BYTES = "in Python it has bytes as its result or argument, as NVIDIA's bindings call it"

# Name, or the start of names up to a dot -> why it is missing.
MISSING = {
    "IStreamReader.read": GIVES_BYTES,
    "IStreamReaderV2.read": GIVES_BYTES,
    "IStreamWriter.write": GIVES_BYTES,
    "Builder.build_serialized_network": "the argument kernel_text: kernels as text are not "
                                        "supported yet",
    "FallbackString": "names are str or bytes",
    "INetworkDefinition.add_plugin": "tuple and func are one argument, plugin",
    "IPluginCreatorV3Quick": "says that it is not supported yet: the decorators of tensorrt.plugin "
                             "make plugins of IPluginV3OneBuild's family",
    "IPluginV2DynamicExt.get_workspace_size": BY_POSITION,
    "IPluginV3OneBuild.configure_plugin": BY_POSITION,
    "IPluginV3OneBuild.get_workspace_size": BY_POSITION,
    "IPluginV3OneRuntime.on_shape_change": BY_POSITION,
    "IPluginV3QuickCore": "as IPluginCreatorV3Quick",
    "ISymExpr": AHEAD,
    "ISymExprs": AHEAD,
    "KernelLaunchParams": AHEAD,
    "NodeIndices": "what the parser gives are lists",
    "SubGraphCollection": "what the parser gives are lists",
    "plugin.SymIntExprs": AHEAD,
}


def resolve(name):
    """The object of a dotted name; raises AttributeError."""
    target = trt
    for part in name.split("."):
        target = getattr(target, part)
    return target


def split_arguments(text):
    """The arguments of a signature's text, split at commas outside of brackets."""
    depth, arguments, current = 0, [], ""
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            arguments.append(current)
            current = ""
        else:
            current += character
    return [argument.strip() for argument in [*arguments, current] if argument.strip()]


def overloads_of(function):
    """The argument names of each overload, without self; None stands for any arguments."""
    if hasattr(function, "__nb_signature__"):
        texts = [re.match(r"def \w+\((.*)\) ->", entry[0], re.S)[1]
                 for entry in function.__nb_signature__]
        lists = [[re.match(r"\**\w+|[*/]", argument)[0] for argument in split_arguments(text)]
                 for text in texts]
    else:
        try:
            parameters = inspect.signature(function).parameters.values()
        except ValueError:  # written in C, as those of object
            return None
        lists = [[str(p).split(":")[0].split("=")[0].strip() for p in parameters]]
    lists = [[name for name in names if name not in "/*"] for names in lists]
    lists = [names[1:] if names[:1] == ["self"] else names for names in lists]
    return None if any(names and names[0].startswith("*") for names in lists) else lists


def accepts(expected, names):
    """Whether a function with arguments `names` can be called as one with those `expected`."""
    return len(expected) <= len(names) and all(
        want in ("", have) for want, have in zip(expected, names))


def faults_of_function(name, function, expected):
    found = overloads_of(function)
    if found is None:
        return []
    if name.endswith("__") and not name.endswith("__init__"):  # an operator has no names to say
        expected = [[""] * len(names) for names in expected]
    return [f"{name}({', '.join(names)}) is {name}({'), ('.join(map(', '.join, found))})"
            for names in expected if not any(accepts(names, have) for have in found)]


def faults_of_member(name, expected, cls, member):
    static = inspect.getattr_static(cls, member, None)
    if static is None:
        annotated = any(member in base.__dict__.get("__annotations__", {}) for base in cls.__mro__)
        return [] if annotated else [f"{name} is missing"]
    if isinstance(expected, list):
        function = getattr(cls, member)
        if member == "__init__" and isinstance(cls.__dict__.get("__new__"), staticmethod):
            function = cls.__new__
        return faults_of_function(name, function, expected) if callable(function) else [
            f"{name} is not a method"]
    if expected == "rw" and isinstance(static, property) and static.fset is None:
        return [f"{name} cannot be set"]
    return []


def faults():
    """What differs from TensorRT's API, by the name it is about."""
    found = {}

    def add(name, messages):
        if messages:
            found[name] = messages

    for kind in ("classes", "enums", "functions", "values"):
        for name, facts in SURFACE[kind].items():
            try:
                target = resolve(name)
            except AttributeError:
                add(name, [f"{name} is missing"])
                continue
            if kind == "functions":
                add(name, faults_of_function(name, target, facts))
            members = facts if kind in ("classes", "enums") else {}
            for member, expected in members.items():
                full = f"{name}.{member}"
                if kind == "classes":
                    add(full, faults_of_member(full, expected, target, member))
                elif member not in target.__members__ or int(target[member]) != expected:
                    add(full, [f"{full} is not {expected}"])
    return found


def is_listed(name):
    return next((start for start in MISSING if name == start or name.startswith(start + ".")), None)


def test_stubs_are_python():
    for stub in pathlib.Path(tenon.__file__).parent.rglob("*.pyi"):
        ast.parse(stub.read_text())


FAULTS = faults()


def test_every_name_of_tensorrt_exists():
    unexpected = [message for name, messages in FAULTS.items() if not is_listed(name)
                  for message in messages]
    assert not unexpected, "\n".join(unexpected)


def test_the_list_of_missing_names_is_true(capsys):
    with capsys.disabled():
        for name, reason in MISSING.items():
            print(f"\nmissing: {name}: {reason}", end="")
    assert not [name for name in MISSING if not any(
        fault == name or fault.startswith(name + ".") for fault in FAULTS)]
