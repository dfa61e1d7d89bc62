#!/usr/bin/env python3
"""Refuses words that docs/glossary.md does not know, in names and comments of the sources.

    check_words.py                   all sources
    check_words.py --as-if FILE:TEXT also TEXT, as if FILE held it
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = re.compile(r"\.(cc|h|hpp|cu|cuh|fbs)$")
PARTS = re.compile(
    r'(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<text>R"(\w*)\(.*?\)\3"|"(?:\\.|[^"\\\n])*")', re.DOTALL
)
OURS = "src|kernels|kit|tools|session|serve|check|plugins"
GPU = "src/cuda|kernels|plugins|check"  # kernels of plugins and of the CUDA target, and what checks them

# (names, comments or code, the word, folders, what to say instead). Names are looked at word by word,
# and those of std are not looked at; code is all that is neither comment nor text.
# What matches EXCEPT is left: it is a name of others.
EXCEPT = re.compile(
    r"fetch_(add|sub|or|and)|[Pp]refetch|V3Quick|QuickPlugin|QuickGelu|_QUICK|mapped|OutputMaps|"
    r"at_least|at_most|narrow_cast|kSTRIP|strip_(white|ansi)|finish_switch|(phase|Config)Finish|FinishPlan"
)
TABLE = [
    ("name", r"\w*(output|panel|padded)_maps\w*|kPanelMaps", "src", "output channels"),
    ("name", r"maps_?", "src(?!/api/layers/convolution)", "output_channels"),  # where TensorRT says setNbOutputMaps
    ("comment", r"(?<!feature )\bmaps\b(?! to)", "src/(cpu|optimize|plan)", "output channels"),
    ("name", r"fetch\w*|\w*Fetch", "src/cpu", "prefetch"),
    ("comment", r"\bfetch(es|ed)?\b", "src/cpu", "prefetch"),
    ("comment", r"\bask(s|ed)? for\b", "src/cpu/simd", "prefetch"),
    ("name", r"\w*[Rr]ooms?_?", "src/(cpu|cuda|import|api)|kernels|session|serve|check|plugins", "workspace, scratch or buffer"),
    ("comment", r"\brooms\b|\ba room\b", "src", "workspace"),
    ("name", r"(\w+_)?late(_\w*)?|kLate|Late(Size|Memory)\w*", "src|kit|check", "data-dependent"),
    ("comment", r"\b[Ll]ate (extent|size|symbol|output|one)s?\b", "src|kit", "data-dependent"),
    ("name", r"\w*_?told", "src/(plan|run)", "data-dependent"),
    ("name", r"(\w+_)?[Ff]inish(es|ed)?\w*", "src/cpu", "epilogue, store or requantize"),
    ("name", r"finish|\w*Finish\w*", "src/cuda", "epilogue, finalize, store or requantize"),
    ("comment", r"\bfinish(es)?\b", "src/cpu", "epilogue, store or requantize"),
    ("name", r"\w*(is|read|write|not|convert|quantize)_narrow", "src", "low precision, or reduced"),
    ("name", r"(\w+_)?narrow(_\w*)?|k?Narrow\w*", "src/(base|cpu|plan|run|cuda|import|api)|kit", "low precision, reduced, few-channel"),
    ("comment", r"\bnarrow\b", "src/(base|cpu)", "low precision, reduced, few-channel"),
    ("name", r"(\w+_)?strips?(_\w*)?|\w*Strips?([A-Z]\w*)?", "src/cpu", "panel, or block"),
    ("comment", r"\bstrips?\b", "src/cpu", "panel, or block"),
    ("name", r"(\w+_)?quick(er|est)?(_\w*)?|\w*Quick\w*", OURS, "fast"),
    ("comment", r"\b[Qq]uick(er|est)?\b", OURS, "fast"),
    ("name", r"k(Most|Least)[A-Z]\w*|(most|least)_[a-z]\w*", "src|kernels|plugins", "max or min"),
    ("name", r"k?(most|least|Most|Least)_?|set_least", "src|kernels|plugins|kit|tools|session|serve", "max or min"),
    ("name", r"k?[Pp]laces?_?|(\w+_)?(?<!in_)place_\w+|[a-z_]*(?<!in)_places?|Place[A-Z]\w*", GPU, "position, location, index or pixel"),
    ("comment", r"(?<!in )(?<!units in the last )\bplaces?\b", "src/cuda|kernels", "position, location, index or pixel"),
    ("name", r"(\w+_)?turned(_\w*)?|\w*Turned\w*|[Tt]urn|launch_turn|turn_tiles", GPU + "|src/(api|import)", "rotated, or transposed"),
    ("comment", r"\bturned\b", "src/cuda|kernels|plugins", "rotated, or transposed"),
    ("name", r"kPiece|pieces?", "src/(cuda|api|import)|kernels|plugins", "chunk, block or slice"),
    ("name", r"asked_?|[Aa]sk|\w+Ask", "src/(api|import)|kit|check", "query, or request"),
    ("name", r"Given|GivenShapes", "tools|plugins", "options, or values"),
    ("name", r"(\w+_)?said", "check", "log, message or reply"),
    ("name", r"Walk|walk_along|ElementWay|way_of", "src/cuda", "axes, offsets, or form"),
    ("name", r"Borders|borders_|FlowBorder\w*|\w*BorderView", "src", "bindings, or boundary"),
    ("comment", r"\bborder layers?\b", "src", "boundary layers"),
    ("name", r"makers|only_maker|\w*Maker", "src", "producers, or builder"),
    ("name", r"JoinedAxes|joined_axes", "src", "coalesced axes"),
    ("name", r"ConcatenationPieces|pieces_of|part_places|PartPlace", "src", "slices"),
    ("name", r"launch_beginnings|beginnings", "src", "exclusive scan"),
    ("code", r"\bstd::variant\b", r"src(?!/base/variant\b)", "Variant of base/variant.h"),
    ("comment", r"\b(first|second)-level cache", OURS, "L1 cache, L2 cache"),
]
# most_common_layout: the layout that most have.
ALLOWED = {"most_common_layout"}


def rules_for(path):
    return [
        (kind, re.compile(word), instead)
        for kind, word, folders, instead in TABLE
        if re.match(rf"({folders})/", path)
    ]


def findings(path, text):
    rules = rules_for(path)
    if not rules:
        return
    names = [(w, i) for k, w, i in rules if k == "name"]
    comments = [(w, i) for k, w, i in rules if k == "comment"]
    codes = [(w, i) for k, w, i in rules if k == "code"]
    known = {}
    at = 0
    spans = []
    for m in PARTS.finditer(text):
        spans.append((at, text[at : m.start()]))
        if m["comment"]:
            for word, instead in comments:
                for found in word.finditer(m[0]):
                    yield m.start() + found.start(), found[0], instead
        at = m.end()
    spans.append((at, text[at:]))
    for start, code in spans:
        for word, instead in codes:
            for found in word.finditer(code):
                yield start + found.start(), found[0], instead
        for m in re.finditer(r"(?<!std::)\b[A-Za-z_]\w*", code):
            name = m[0]
            if name not in known:
                known[name] = next(
                    (i for w, i in names if w.fullmatch(name)), None
                ) if name not in ALLOWED and not EXCEPT.search(name) else None
            if known[name] and not code.startswith("#include <", m.start() - 10):
                yield start + m.start(), name, known[name]


def main():
    listed = subprocess.run(
        ["git", "ls-files", *OURS.split("|")], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split("\n")
    files = [f for f in listed if SOURCES.search(f) and (ROOT / f).is_file()]
    if not files:  # no repository, as where the sources were only copied
        files = [
            str(f.relative_to(ROOT))
            for folder in OURS.split("|")
            for f in (ROOT / folder).rglob("*")
            if SOURCES.search(f.name)
        ]
    sources = [(f, (ROOT / f).read_text(encoding="utf-8")) for f in files]
    if sys.argv[1:2] == ["--as-if"]:
        sources.append(tuple(sys.argv[2].split(":", 1)))
    count = 0
    for path, text in sources:
        for at, word, instead in findings(path, text):
            count += 1
            print(f"{path}:{text.count(chr(10), 0, at) + 1}: '{word}': say {instead}")
    print(f"{len(sources)} files, {count} banned words")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
