"""Opens the page of `tenon compare` in headless Chromium: a box for each tensor, in the colours of its errors.

    .venv/bin/python test/browser/run_compare.py [--package build/release/python] [--chromium chromium] [--pictures FOLDER]
"""
import argparse
import pathlib
import sys
import tempfile

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from chromium import Page

ROOT = pathlib.Path(__file__).resolve().parents[2]
HARM = "</script><img src=x onerror='throw 1'> & t1"


def chain(weights):
    """Two branches of products that meet; the first branch's last tensor has a name that would harm a careless page."""
    nodes = [helper.make_node("MatMul", ["x", "w0"], ["h0"]), helper.make_node("Tanh", ["h0"], ["t0"]),
             helper.make_node("MatMul", ["t0", "w1"], ["h1"]), helper.make_node("Tanh", ["h1"], [HARM]),
             helper.make_node("MatMul", ["t0", "w2"], ["h2"]), helper.make_node("Tanh", ["h2"], ["t2"]),
             helper.make_node("Mul", [HARM, "t2"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 16])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 16])],
                              [numpy_helper.from_array(w, f"w{i}") for i, w in enumerate(weights)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def check(what, expected, found):
    if expected != found:
        sys.exit(f"{what}: expected {expected!r}, found {found!r}")
    print(f"{what}: {found!r}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", type=pathlib.Path, default=ROOT / "build/release/python")
    parser.add_argument("--chromium", default="chromium")
    parser.add_argument("--pictures", type=pathlib.Path)
    options = parser.parse_args()
    sys.path.insert(0, str(options.package))
    import tenon

    random = np.random.default_rng(4)
    weights = [random.standard_normal((16, 16), np.float32) / 4 for _ in range(3)]
    changed = [w + np.float32(0.05) * (i == 1) for i, w in enumerate(weights)]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:  # the browser may still write its profile
        folder = pathlib.Path(name)
        file = folder / "page.html"
        report = tenon.compare(chain(changed), chain(weights), {"x": random.standard_normal((4, 16), np.float32)}, page=file)
        names = list(dict.fromkeys(t["tensor"] for t in report["tensors"] + report["outputs"]))
        with Page(options.chromium, folder / "profile") as page:
            page.open(file.as_uri())
            check("errors", [], page.errors)
            check("boxes", len(names), page.value("graph.count"))
            check("rows", sorted(names), sorted(page.value("[...document.querySelectorAll('#rows tr')].map(row => row.cells[2].textContent)")))
            check("lines between boxes", sum(i in names for t in {t["tensor"]: t for t in report["outputs"] + report["tensors"]}.values() for i in t["inputs"]),
                  page.value("graph.lines"))
            check("requests", [file.as_uri()], page.requests)
            fill = "(t => graph.fill(tensors.find(each => each.tensor === t)))"
            worst = page.value("graph.marked.tensor")
            check("the worst is chosen", True, worst in (HARM, "h1"))
            others = [n for n in names if n not in (HARM, "h1")]
            hue = lambda tensor: float(page.value(f"{fill}({tensor!r})").split("(")[1].split(" ")[0])
            check("only it is red", True, hue(worst) < 60 < min(hue(n) for n in others))
            page.value("(by.value = 'total', by.onchange())")
            check("what follows is red by all of the error", True, hue("y") < 60)
            page.value("document.querySelectorAll('#rows tr')[0].click()")
            check("details", names[0], page.value("document.getElementById('details').textContent").splitlines()[0])
            check("errors after all that", [], page.errors)
            if options.pictures:
                options.pictures.mkdir(parents=True, exist_ok=True)
                page.picture(options.pictures / "compare.png")


if __name__ == "__main__":
    main()
