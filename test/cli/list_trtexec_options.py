"""Writes trtexec_options.txt: the names of trtexec's options, one a line, from NVIDIA's sources.

    python3 test/cli/list_trtexec_options.py TENSORRT/samples/common/sampleOptions.cpp

They are the literals that trtexec's own parsers compare arguments with; messages are longer.
"""
import pathlib
import re
import sys

PARSERS = (r"(?:BaseModel|Model|Build|System|Inference|Reporting)Options::parse", "parseHelp")


def names_in(source):
    names = set()
    for parser in PARSERS:
        for body in re.findall(rf"\n\w+ {parser}\(Arguments& arguments\)\n\{{\n(.*?)\n\}}\n", source, re.DOTALL):
            names.update(re.findall(r'"(--?[A-Za-z]\w*)"', body))
    return sorted(names)


if __name__ == "__main__":
    found = names_in(pathlib.Path(sys.argv[1]).read_text())
    pathlib.Path(__file__).with_name("trtexec_options.txt").write_text("".join(f"{name}\n" for name in found))
    print(f"{len(found)} options")
