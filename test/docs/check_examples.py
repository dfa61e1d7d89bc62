"""Fails when nothing says how a block of the documentation is tested (blocks.py lists the ways), when one is not, word for word, part of
the file that it names, when the test that it names does not read its page, or when a relative link leads nowhere. Prints which blocks
nothing runs, and why.
"""
import re
import sys

from blocks import ROOT, blocks_of, pages

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)|<img src=\"([^\"]+)\"")


def problems_of_block(block, page, earlier):
    file = ROOT / block.argument
    if not block.kind:
        yield "nothing says how this block is tested: test/docs/blocks.py lists what can"
    elif block.kind in ("from", "run by") and not file.is_file():
        yield f"{block.argument} does not exist"
    elif block.kind == "from" and block.text not in file.read_text() + "\n":
        yield f"the block differs from {block.argument}"
    elif block.kind == "run by" and page.name not in file.read_text():
        yield f"{block.argument} does not read this page"
    elif block.kind == "run" and block.language not in ("sh", "python"):
        yield f"only blocks of sh and python are run, not of {block.language!r}"
    elif block.kind == "printed" and "run" not in earlier:
        yield "nothing that runs before it can have printed this"


def problems_of(page):
    name, blocks = page.relative_to(ROOT), blocks_of(page)
    kinds = [block.kind for block in blocks]
    for i, block in enumerate(blocks):
        for problem in problems_of_block(block, page, kinds[:i]):
            yield f"{name}:{block.line}: {problem}"
        if block.kind == "file" and "run" not in kinds[i:]:
            yield f"{name}:{block.line}: nothing that runs after it can read this file"
    for match in LINK.finditer(page.read_text()):
        target = match[1] or match[2]
        if "://" not in target and not (page.parent / target).exists():
            yield f"{name}: the link to {target} leads nowhere"


def main():
    for page in pages():
        for block in blocks_of(page):
            if block.kind == "not run":
                print(f"{page.relative_to(ROOT)}:{block.line} is not run: {block.argument}")
    problems = [problem for page in pages() for problem in problems_of(page)]
    print("\n".join(problems + [f"{len(pages())} pages, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
