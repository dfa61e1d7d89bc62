#!/usr/bin/env python3
"""Compares the public headers with TensorRT 10.16: virtual tables slot by slot, and layouts."""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from check_dialect11 import REMOVED_NAMES, REMOVED_TYPES

HERE = pathlib.Path(__file__).resolve().parent
HEADERS = ("NvInfer.h", "NvInferPlugin.h", "NvOnnxConfig.h", "NvOnnxParser.h",
           "impl/NvInferPythonPlugin.h")
INSTALL = ("clang++ is needed to read virtual tables and was not found.\n"
           "Install it with: apt-get install clang-19 (any clang from 16 on will do)")


def read_tables(path):
    """Class name -> signatures in slot order. Lines starting with '+' are tail slots of our own."""
    tables, tails, current = {}, {}, None
    for line in path.read_text().splitlines():
        if line.startswith("= "):
            current = line[2:]
            tables[current] = []
        elif line.startswith("+ "):
            tails.setdefault(current, []).append(line[2:])
        elif line and not line.startswith("#"):
            tables[current].append(line)
    return tables, tails


def normalise(signature):
    """The same spelling for what compilers print and for what the tables hold."""
    kind = ""
    for suffix in (" [complete]", " [deleting]"):
        if suffix in signature:
            kind = suffix
    signature = re.sub(r" \[(complete|deleting|pure)\]", "", signature)
    signature = re.sub(r"\b(nvinfer1|nvonnxparser|apiv|std)::", "", signature)
    signature = re.sub(r"\b(class|struct|enum) ", "", signature)
    signature = re.sub(r"\s*([*&,()])\s*", r"\1", signature)
    signature = re.sub(r"(v_\d_0::)?\w+::(?=(Severity|ErrorDesc|RefCount|PluginLibraryHandle|"
                       r"Verbosity)\b)", "", signature)
    signature = re.sub(r"v_\d_0::(?=\w+[^\w:])", "", signature)
    signature = re.sub(r"\*const(?=[,)])", "*", signature)
    signature = re.sub(r"(?<=[(,])const (\w+)(?=[,)])", r"\1", signature)
    return signature.strip() + kind


def probe_source(tables):
    """A program that makes the compiler lay out every class: it deletes one, or calls its first."""
    lines = [f'#include "{header}"' for header in HEADERS]
    for number, (name, slots) in enumerate(tables.items()):
        if any("~" in slot for slot in slots):
            use = "delete object;"
        else:
            method = re.search(r"(\w+)\(", slots[0]).group(1)
            use = f"object->{method}();"
        lines.append(f"void probe{number}({name}* object) {{ {use} }}")
    return "\n".join(lines) + "\n"


def dump_tables(compiler, flags, tables):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "probe.cc"
        source.write_text(probe_source(tables))
        command = [compiler, "-std=c++20", "-Xclang", "-fdump-vtable-layouts", "-Xclang",
                   "-fno-access-control", "-Wno-everything", "-S", "-emit-llvm", "-o", "/dev/null"]
        command += flags + [str(source)]
        result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"the headers do not compile:\n{result.stderr}")
    found, current = {}, None
    for line in result.stdout.splitlines():
        title = re.match(r"Vtable for '(.+)' \(\d+ entr", line)
        entry = re.match(r"\s*\d+ \| (.+)$", line)
        if title:
            current = found.setdefault(title.group(1), [])
        elif not line.strip() or line.startswith("VTable indices"):
            current = None
        elif entry and current is not None:
            text = entry.group(1)
            if "offset_to_top" not in text and not text.endswith(" RTTI"):
                current.append(normalise(text))
    return found


def check_layouts(compiler, flags):
    """Compiles the static assertions of layout_test.cc with clang too."""
    command = [compiler, "-std=c++20", "-fsyntax-only", "-Wno-invalid-offsetof", "-Xclang",
               "-fno-access-control"]
    command += flags + [str(HERE / "layout_test.cc")]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"layouts or values differ:\n{result.stderr}")
    print("layouts and values: all as expected")


def compare(tables, tails, found):
    problems = []
    for name, expected in tables.items():
        expected = expected + tails.get(name, [])
        actual = found.get(name)
        if actual is None:
            problems.append(f"{name}: has no virtual table")
            continue
        for slot in range(max(len(expected), len(actual))):
            want = expected[slot] if slot < len(expected) else "nothing"
            have = actual[slot] if slot < len(actual) else "nothing"
            if want != have:
                problems.append(f"{name} slot {slot}: expected {want}, found {have}")
    return problems


def swapped_copy(include, folder):
    """A copy of the headers in which the first two slots of VTensor have changed places."""
    copy = pathlib.Path(folder) / "include"
    shutil.copytree(include, copy)
    for header in copy.rglob("*.h"):
        text = header.read_text()
        swapped = re.sub(r"(class VTensor : public VRoot \{\s*public:\n)(.*;\n)(.*;\n)",
                         r"\1\3\2", text)
        if swapped != text:
            header.write_text(swapped)
            return copy
    sys.exit("VTensor was not found in the headers: the self-test needs it")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--include", required=True, help="folder of the public headers")
    parser.add_argument("--cuda-include", required=True, help="folder of cuda_runtime_api.h")
    parser.add_argument("--compiler", default="clang++-19")
    parser.add_argument("--define", action="append", default=[], help="a macro that chooses the dialect")
    parser.add_argument("--removed-in-11", action="store_true", help="leave out the classes that TensorRT 11 has not")
    parser.add_argument("--layouts", action="store_true",
                        help="check sizes, offsets and enumerator values instead")
    parser.add_argument("--self-test", action="store_true",
                        help="swap two slots in a copy of the headers; succeed if that is found")
    options = parser.parse_args()
    compiler = shutil.which(options.compiler) or shutil.which("clang++")
    if compiler is None:
        sys.exit(INSTALL)
    def flags(include):
        return [f"-I{include}", f"-I{options.cuda_include}", *(f"-D{define}" for define in options.define)]
    if options.layouts:
        check_layouts(compiler, flags(options.include))
        return
    tables, tails = read_tables(HERE / "vtables.txt")
    if options.removed_in_11:
        removed = {*REMOVED_TYPES, *(f"V{name[1:]}" for name in REMOVED_NAMES)}  # VAlgorithm is what IAlgorithm has inside
        tables = {name: slots for name, slots in tables.items() if name.split("::")[-1] not in removed}
    with tempfile.TemporaryDirectory() as folder:
        include = swapped_copy(options.include, folder) if options.self_test else options.include
        found = dump_tables(compiler, flags(include), tables)
    problems = compare(tables, tails, found)
    if options.self_test:
        if not any(problem.startswith("nvinfer1::apiv::VTensor slot 2") for problem in problems):
            sys.exit("two slots of VTensor were swapped and the check did not notice")
        print("swapped slots were noticed:", *problems, sep="\n  ")
        return
    if problems:
        sys.exit("\n".join(problems))
    print(f"{len(tables)} virtual tables, {sum(map(len, tables.values()))} slots: all as expected")


if __name__ == "__main__":
    main()
