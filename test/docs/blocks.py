"""What says how a block of the documentation is tested: a comment on the line before it.

    <!-- run -->                        by run_blocks.py, with bash or Python, in the page's folder
    <!-- run in examples/plugin -->     in a folder of that
    <!-- run with onnxruntime -->       where there is this module, as in a stage of ./dev nightly
    <!-- run, which fails -->           its exit code is not 0
    <!-- file: cases.json -->           it is written into the page's folder, for what follows
    <!-- printed -->                    what ran before it printed these lines, numbers and spaces aside; … is for anything
    <!-- from: examples/readme/run_model.cc -->      it is, word for word, a part of that file, which has a test of its own
    <!-- run by: test/cli/serve_test.py -->          that test reads the page
    <!-- not run: needs a GPU -->       why nothing runs it

What a reader need not see is in such comments, too: lines behind the word "after", as in "run after", stand before the block's own, and

    <!-- run unseen
    cp net.onnx model.onnx
    -->

is a block of its own.
"""
import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOW = re.compile(r"(?P<kind>run)(?: in (?P<folder>[\w./-]+))?(?: with (?P<module>\w+))?(?P<fails>, which fails)?(?: after)?"
                 r"|(?P<other>printed|(?:file|from|run by|not run): (?P<argument>.+?)(?: after)?)")
BLOCK = re.compile(r"^<!-- run unseen\n(?P<unseen>.*?)^-->$"
                   r"|(?:^<!-- (?P<how>(?:(?!-->).)*?)\s*-->\n)?^```(?P<language>[\w+-]*)[^\n]*\n(?P<text>.*?)^```$", re.S | re.M)


@dataclasses.dataclass
class Block:
    line: int  # of its first line
    language: str
    text: str
    kind: str = ""  # "run", "file", "printed", "from", "run by" or "not run"; "" where nothing says it
    argument: str = ""  # what is behind the colon
    before: str = ""  # unseen lines
    folder: str = "."
    module: str = ""
    fails: bool = False


def block_of(match):
    if match["unseen"] is not None:
        return Block(match.string.count("\n", 0, match.start("unseen")) + 1, "sh", match["unseen"], "run")
    first, _, before = (match["how"] or "").partition("\n")
    block = Block(match.string.count("\n", 0, match.start("text")) + 1, match["language"], match["text"], before=before and before + "\n")
    if how := HOW.fullmatch(first):
        block.kind = how["kind"] or how["other"].partition(":")[0]
        block.argument, block.folder, block.module = how["argument"] or "", how["folder"] or ".", how["module"] or ""
        block.fails = how["fails"] is not None
    return block


def blocks_of(page):
    """The blocks of a page in their order, unseen ones among them."""
    return [block_of(match) for match in BLOCK.finditer(page.read_text())]


def pages():
    """All whose blocks are tested."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
