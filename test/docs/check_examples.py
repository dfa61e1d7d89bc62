"""Fails when a block of C++ in the documentation, or one of Python that names an example, is not, word
for word, part of the example it names, or when a relative link leads nowhere.

A block names its file in a comment on the line before: `<!-- from: examples/readme/run_model.cc -->`.
The examples are compiled and run by tests of their own.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FROM = re.compile(r"<!-- from: (\S+) -->")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)|<img src=\"([^\"]+)\"")


def pages():
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def problems_of(page):
    text = page.read_text()
    name = page.relative_to(ROOT)
    blocks = re.findall(r"([^\n]*)\n```(cpp|c\+\+|python)\n(.*?)\n```", text, re.S)
    for before, language, block in blocks:
        source = FROM.search(before)
        if source is None:
            if language != "python":
                yield f"{name}: a C++ block does not say which example it is from"
        elif not (ROOT / source[1]).is_file():
            yield f"{name}: {source[1]} does not exist"
        elif block not in (ROOT / source[1]).read_text():
            yield f"{name}: a block differs from {source[1]}"
    for match in LINK.finditer(text):
        target = match[1] or match[2]
        if "://" not in target and not (page.parent / target).exists():
            yield f"{name}: the link to {target} leads nowhere"


def main():
    problems = [problem for page in pages() for problem in problems_of(page)]
    print("\n".join(problems + [f"{len(pages())} pages, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
