#!/usr/bin/env python3
"""Writes enumerators.txt: the enumerators of NVIDIA's Python bindings of TensorRT 10.16 and 11.4, in which they are.

Each argument is VERSION=FOLDER, the folder of an unpacked wheel tensorrt-cu13-bindings. Its libraries, which are only
loaded, are found by LD_LIBRARY_PATH: Tenon's will do.
"""
import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def enumerators(folder):
    """(enumeration, enumerator) of the bindings in `folder`, as Python spells them."""
    path = str(pathlib.Path(folder) / "tensorrt_bindings" / "tensorrt.so")
    loader = importlib.machinery.ExtensionFileLoader("tensorrt", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_file_location("tensorrt", path, loader=loader))
    loader.exec_module(module)
    return [(name, entry) for name, found in vars(module).items() if isinstance(found, type)
            for entry in getattr(found, "__members__", ())]


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--list":
        print(*(" ".join(pair) for pair in enumerators(sys.argv[2])), sep="\n")
        return
    versions = {}
    for argument in sys.argv[1:]:
        version, folder = argument.split("=")
        listed = subprocess.run([sys.executable, __file__, "--list", folder], check=True, capture_output=True, text=True)
        for line in listed.stdout.splitlines():
            versions.setdefault(line, []).append(version)
    text = "# Enumerators of NVIDIA's Python bindings, and the versions that have them: made by make_enumerators.py.\n"
    text += "".join(f"{pair} {' '.join(found)}\n" for pair, found in sorted(versions.items()))
    (HERE / "enumerators.txt").write_text(text)


if __name__ == "__main__":
    main()
