"""Opens the page of `tenon onnx show=html` in headless Chromium: a box for each input, node and output, and what a user does with it.

    .venv/bin/python test/browser/run_onnx.py [--tenon build/release/tools/tenon/tenon] [--chromium chromium] [--pictures FOLDER]
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from chromium import Page

ROOT = pathlib.Path(__file__).resolve().parents[2]
HARM = "</script><img src=x onerror='throw 1'> & t1 {{report}}"
SECONDS = 30  # in which a page of 5,000 nodes is there, on a busy machine


def check(what, expected, found):
    if expected != found:
        sys.exit(f"{what}: expected {expected!r}, found {found!r}")
    print(f"{what}: {found!r}")


def value(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def model_of(nodes, inputs, outputs, initializers=()):
    graph = helper.make_graph(nodes, "a & b", inputs, outputs, list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def branches():
    """A convolution, a name that would harm a careless page, and an If with a node in each branch."""
    branch = [helper.make_graph([helper.make_node(op, ["r"], ["z"], op.lower())], op, [], [value("z", 1, 2, 4, 4)]) for op in ("Neg", "Abs")]
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], "conv", kernel_shape=[3, 3]), helper.make_node("Relu", ["c"], ["r"], HARM),
             helper.make_node("If", ["b"], ["y"], "choice", then_branch=branch[0], else_branch=branch[1])]
    condition = helper.make_tensor_value_info("b", TensorProto.BOOL, [])
    return model_of(nodes, [value("x", 1, 3, 6, 6), condition], [value("y", 1, 2, 4, 4)],
                    [numpy_helper.from_array(np.ones((2, 3, 3, 3), np.float32), "w")])


def many(count):
    """Blocks of a branch that meets again."""
    nodes, last = [], "x"
    for i in range(count // 4):
        nodes += [helper.make_node("Relu", [last], [f"a{i}"]), helper.make_node("Exp", [last], [f"b{i}"]),
                  helper.make_node("Tanh", [f"b{i}"], [f"c{i}"]), helper.make_node("Add", [f"a{i}", f"c{i}"], [f"d{i}"])]
        last = f"d{i}"
    return model_of(nodes, [value("x", 4)], [value(last, 4)])


def write_page(tenon, folder, name, model):
    onnx.save(model, folder / f"{name}.onnx")
    page = folder / f"{name}.html"
    page.write_bytes(subprocess.run([tenon, "onnx", "show=html", folder / f"{name}.onnx"], check=True, capture_output=True).stdout)
    return page


def use_small(page, file):
    page.open(file.as_uri())
    check("errors", [], page.errors)
    check("requests", [file.as_uri()], page.requests)
    check("title", "a & b", page.value("document.querySelector('h1').textContent"))
    names = page.value("items.map(item => item.name)")
    check("boxes in sight", str(len(names)), page.value("document.getElementById('graph').dataset.boxes"))
    check("boxes", sorted(["x", "b", "conv", HARM, "choice", "y"]), sorted(names))
    check("lines", 5, page.value("picture.lines"))  # one for what the branches read
    x, y = page.value("(([x, y]) => (({left, top}) => [left + x, top + y])(document.getElementById('graph').getBoundingClientRect()))"
                      "(picture.place(items.find(item => item.name === 'conv')))")
    for kind in "mousePressed", "mouseReleased":
        page.mouse(kind, x, y, button="left", clickCount=1)
    check("details", ["conv", "Conv", "reads x  float32[1,3,6,6]", "reads w  float32[2,3,3,3]  constant", "gives c  float32[1,2,4,4]",
                      "kernel_shape = [3, 3]"], page.value("document.getElementById('details').textContent").splitlines())
    page.value("(s => { s.value = 'RELU'; s.oninput(); })(document.getElementById('search'))")
    check("found", "1 found", page.value("document.getElementById('found').textContent"))
    check("what is found is chosen", HARM, page.value("picture.marked.name"))
    place = "[picture.view.x, picture.view.y, picture.view.zoom].join()"
    before = page.value(place)
    page.mouse("mouseWheel", 400, 400, deltaX=0, deltaY=-300)
    zoomed = page.value(place)
    page.mouse("mousePressed", 400, 400, button="left", clickCount=1)
    page.mouse("mouseMoved", 300, 350, button="left", buttons=1)
    page.mouse("mouseReleased", 300, 350, button="left", clickCount=1)
    check("three places by wheel and dragging", 3, len({before, zoomed, page.value(place)}))
    graphs = page.value("[...document.getElementById('which').options].map(o => o.textContent)")
    check("graphs", sorted(["graph", "graph / choice.then_branch", "graph / choice.else_branch"]), sorted(graphs))
    page.value("(w => { w.value = graphs.findIndex(g => g.name.endsWith('then_branch')); w.onchange(); document.getElementById('search').value = ''; search(); })(document.getElementById('which'))")
    check("boxes of a branch", ["neg", "z"], page.value("items.map(item => item.name)"))
    check("errors after all that", [], page.errors)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenon", type=pathlib.Path, default=ROOT / "build/release/tools/tenon/tenon")
    parser.add_argument("--chromium", default="chromium")
    parser.add_argument("--pictures", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:  # the browser may still write its profile
        folder = pathlib.Path(name)
        with Page(options.chromium, folder / "profile") as page:
            use_small(page, write_page(options.tenon, folder, "small", branches()))
            if options.pictures:
                options.pictures.mkdir(parents=True, exist_ok=True)
                page.picture(options.pictures / "onnx.png")
            file = write_page(options.tenon, folder, "many", many(5000))
            start = time.monotonic()
            page.open(file.as_uri())
            check("boxes of many nodes", 5002, page.value("picture.count"))
            page.value("(s => { s.value = 'c1200'; s.oninput(); })(document.getElementById('search'))")
            check("found among them", "2 found", page.value("document.getElementById('found').textContent"))
            print(f"{time.monotonic() - start:.1f} s")
            check("soon enough", True, time.monotonic() - start < SECONDS)
            check("errors after all that", [], page.errors)


if __name__ == "__main__":
    main()
