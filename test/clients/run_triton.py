"""Compares triton/abi.h with the headers of Triton Inference Server: values, signatures, and the version that they need.

    .venv/bin/python test/clients/run_triton.py [TRITON_CORE] [--only REGULAR_EXPRESSION]

A C++ file that includes NVIDIA's headers asserts what ours declares, line by line: the names are the same, so that both cannot be in
one file.
"""
import re
import sys

import clients

NAME = "triton-inference-server/core"
HEADER = "include/triton/core/tritonbackend.h"
ENUM = re.compile(r"enum (TRITON\w+) : unsigned \{(.*?)\};", re.S)
FUNCTION = re.compile(r"^(\w[\w ]*\*?) (TRITON\w+)\((.*?)\);", re.S | re.M)


def assertions(text):
    """(name, what C++ asserts) of each declaration of abi.h."""
    text = re.sub(r"//[^\n]*", "", text)
    major, minor = re.search(r"kApiMajor = (\d+), kApiMinor = (\d+)", text).groups()
    yield "version", f"TRITONBACKEND_API_VERSION_MAJOR == {major} && TRITONBACKEND_API_VERSION_MINOR >= {minor}"
    for enum, values in ENUM.findall(text):
        yield enum, f"sizeof({enum}) == sizeof(unsigned)"
        for name, value in re.findall(r"(\w+) = (\d+)", values):
            yield name, f"std::is_same_v<decltype({name}), {enum}> && {name} == {value}"
    for result, name, parameters in FUNCTION.findall(text):
        yield name, f"std::is_same_v<decltype(::{name}), {result}({' '.join(parameters.split())})>"


def main():
    options = clients.parse(clients.arguments(__doc__, NAME), HEADER, NAME)
    counts = clients.Counts("fine")
    checked = [(name, text) for name, text in assertions((clients.ROOT / "triton/abi.h").read_text()) if re.search(options.only, name)]
    lines = ["#include <triton/core/tritonbackend.h>", "#include <type_traits>"]
    lines += [f'static_assert({text}, "[{name}]");' for name, text in checked]
    with clients.work_folder(options) as folder:
        (folder / "abi.cc").write_text("\n".join(lines) + "\n")
        done = clients.run(["g++", "-std=c++20", "-fsyntax-only", "-fmax-errors=0", f"-I{options.checkout / 'include'}", folder / "abi.cc"], 120)
    errors = [line for line in done.text.splitlines() if "error:" in line]
    other = [line for line in errors if "static assertion failed" not in line]
    for name, text in checked:
        said = any(f"[{name}]" in line for line in errors) or any(re.search(rf"\b{name}\b", line) for line in other)
        counts.add("different" if said else "fine", name, text if said else "")
    print(f"triton/abi.h beside {HEADER}: {counts}")
    return 1 if done.status != 0 or counts["different"] or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
