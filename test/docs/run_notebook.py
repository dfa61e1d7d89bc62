"""Runs the cells of notebooks one after the other, as Jupyter does, without it.

    test/docs/run_notebook.py --package build/release/python [NOTEBOOK…]

A cell ends with a value that Jupyter shows: that it is a picture is said, with its extents. `./dev site` runs the same by Jupyter.
"""
import argparse
import ast
import json
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(source, names, what):
    """The value that the cell shows, None for none."""
    tree = ast.parse(source, what)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, what, "exec"), names)  # noqa: S102
    return eval(compile(ast.Expression(last.value), what, "eval"), names) if last else None  # noqa: S307


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", type=pathlib.Path, default=ROOT / "build/release/python")
    parser.add_argument("notebooks", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    sys.path.insert(0, str(options.package.resolve()))
    notebooks = [path.resolve() for path in options.notebooks] or sorted((ROOT / "examples/notebook").glob("*.ipynb"))
    for notebook in notebooks:
        os.chdir(notebook.parent)
        names, pictures = {"__name__": "__main__"}, 0
        cells = json.loads(notebook.read_text())["cells"]
        for number, cell in enumerate(cells):
            if cell["cell_type"] != "code":
                continue
            if cell["outputs"] or cell["execution_count"] is not None:
                sys.exit(f"{notebook.name}, cell {number}: has stored outputs: clear them before it is committed")
            shown = run("".join(cell["source"]), names, f"{notebook.name}, cell {number}")
            if hasattr(shown, "size") and hasattr(shown, "getpixel"):
                pictures += 1
                print(f"[{number}] picture of {shown.size[0]}x{shown.size[1]}")
            elif shown is not None:
                print(f"[{number}] {shown!r}")
        print(f"{notebook.relative_to(ROOT)}: {len(cells)} cells, {pictures} pictures")


if __name__ == "__main__":
    main()
