"""Opens the page of `tenon report` in headless Chromium: the graph, the table, the timeline and the roofline of a run, and what a user does.

    .venv/bin/python test/browser/run_report.py [--tenon build/release/tools/tenon/tenon] [--chromium chromium] [--pictures FOLDER]
"""
import argparse
import json
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
HARM = "</script><img src=x onerror='throw 1'> & relu {{report}}"
MANY = 20000
SECONDS = 30  # in which a page of so many layers is there, on a busy machine


def check(what, expected, found):
    if expected != found:
        sys.exit(f"{what}: expected {expected!r}, found {found!r}")
    print(f"{what}: {found!r}")


def blocks(count):
    """Convolutions of which each second one has a branch around it; the last one has a name that would harm a careless page."""
    random, nodes, weights, last = np.random.default_rng(3), [], [], "x"
    for i in range(count):
        weights.append(numpy_helper.from_array(random.standard_normal((16, 16, 3, 3), np.float32) / 12, f"w{i}"))
        nodes.append(helper.make_node("Conv", [last, f"w{i}"], [f"c{i}"], f"conv {i}", pads=[1] * 4))
        nodes.append(helper.make_node("Relu", [f"c{i}"], [f"r{i}"], HARM if i == count - 1 else f"relu {i}"))
        if i % 2:
            nodes.append(helper.make_node("Concat", [last, f"r{i}"], [f"j{i}"], f"join {i}", axis=1))
            nodes.append(helper.make_node("MaxPool", [f"j{i}"], [f"p{i}"], f"pool {i}", kernel_shape=[3, 3], pads=[1] * 4))
            weights.append(numpy_helper.from_array(random.standard_normal((16, 32, 1, 1), np.float32) / 6, f"v{i}"))
            nodes.append(helper.make_node("Conv", [f"p{i}", f"v{i}"], [f"s{i}"], f"squeeze {i}"))
        last = f"s{i}" if i % 2 else f"r{i}"
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 16, 40, 40])
    graph = helper.make_graph(nodes, "blocks", [value("x")], [value(last)], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def write_page(tenon, folder):
    model, page, errors = folder / "blocks.onnx", folder / "blocks.html", folder / "errors.json"
    onnx.save(blocks(6), model)
    subprocess.run([tenon, "compare", model, "--layers", f"--exportJson={errors}", "--target=cpu"], check=True, capture_output=True)
    subprocess.run([tenon, "report", model, "-o", page, f"--errors={errors}", f"--exportJson={folder / 'report.json'}", "--duration=0.2",
                    "--target=cpu"], check=True, capture_output=True)
    return page, json.loads((folder / "report.json").read_text())


def grown(report, count):
    """The same report with its layers again and again, one chain of at least so many: what a user may have, without building it."""
    layers, tensors = [], report["tensors"]
    size = len(tensors)
    (last,) = [t for t, tensor in enumerate(tensors) if tensor["place"] == "output"]
    (first,) = [t for t, tensor in enumerate(tensors) if tensor["place"] == "input"]
    copies = -(-count // len(report["layers"]))
    all_tensors = []
    for copy in range(copies):
        for tensor in tensors:
            place = tensor["place"]
            is_inner = place == "input" and copy > 0 or place == "output" and copy < copies - 1
            more = {**tensor, "place": "arena" if is_inner else place}
            if "shares" in more:
                more["shares"] += copy * size
            all_tensors.append(more)
        for layer in report["layers"]:
            inputs = [(copy - 1) * size + last if t == first and copy > 0 else copy * size + t for t in layer["inputs"]]
            layers.append({**layer, "name": f"{copy}/{layer['name']}", "inputs": inputs, "outputs": [copy * size + t for t in layer["outputs"]]})
    return {**report, "layers": layers, "tensors": all_tensors}


def click(page, canvas, place):
    x, y = page.value(f"(({{left, top}}, [x, y]) => [left + x, top + y])(document.getElementById('{canvas}').getBoundingClientRect(), {place})")
    for kind in "mousePressed", "mouseReleased":
        page.mouse(kind, x, y, button="left", clickCount=1)


def colours_drawn(page, canvas):
    """How many different colours there are in its pixels."""
    return page.value(f"""(canvas => {{
        const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data, seen = new Set();
        for (let k = 0; k < data.length; k += 4) if (data[k + 3] === 255) seen.add(data[k] << 16 | data[k + 1] << 8 | data[k + 2]);
        return seen.size;
    }})(document.getElementById('{canvas}'))""")


def use_page(page, file, report):
    page.open(file.as_uri())
    check("errors", [], page.errors)
    check("requests", [file.as_uri()], [url for url in page.requests if not url.startswith("data:")])
    names = [layer["name"] for layer in report["layers"]]
    check("boxes", len(names) + 2, page.value("graph.count"))
    check("rows of the table", str(len(names)), page.value("document.querySelector('table').dataset.rows"))
    check("bars of the timeline", str(len(names)), page.value("document.getElementById('lanes').dataset.bars"))
    timed = [layer for layer in report["layers"] if layer["ms"] > 0 and layer["bytes"] > 0]
    check("dots of the roofline", str(len(timed)), page.value("document.getElementById('roofline').dataset.dots"))
    slowest = max(report["layers"], key=lambda layer: layer["ms"])
    check("the slowest is chosen", slowest["name"], page.value("chosen.name"))
    check("and told of", slowest["name"], page.value("document.getElementById('details').textContent").splitlines()[0])
    for canvas in "graph", "lanes", "roofline":
        check(f"{canvas} has colours", True, colours_drawn(page, canvas) > 10)

    first_row = "[...document.querySelectorAll('tbody tr:not(.spacer)')][0].lastChild.title"
    check("first row by time", slowest["name"], page.value(first_row))
    page.value("[...document.querySelectorAll('th')].find(th => th.textContent === 'layer').click()")
    check("first row by name", True, page.value(first_row) == page.value("[...names].sort((a, b) => a.localeCompare(b, undefined, {numeric: true}))[0]".replace("names", json.dumps(names))))
    click(page, "graph", "(graph.moveTo(items[0]), graph.place(items[0]))")
    check("a click on a box", "input", page.value("chosen.kind"))
    click(page, "lanes", "[times.x_of((layers[1].begin + layers[1].end) / 2), laneTop + 5]")
    check("a click on a bar", names[1], page.value("chosen.name"))
    click(page, "roofline", "[dots.at(-1).x, dots.at(-1).y]")
    check("a click on a dot", True, page.value("dots.some(dot => dot.layer === chosen && Math.hypot(dot.x - dots.at(-1).x, dot.y - dots.at(-1).y) <= dot.r + 2)"))

    ways = page.value("[...document.getElementById('by').options].map(option => option.value)")
    check("colours", ["time", "lost", "precision", "output", "bytes", "error", "kind", "kernel"], ways)
    legends = []
    for way in ways:
        page.value(f"(by => {{ by.value = '{way}'; by.onchange(); }})(document.getElementById('by'))")
        legends.append(page.value("document.getElementById('legend').textContent"))
    check("a legend for each", len(ways), len(set(legends)))
    check("shares of kinds", True, "Convolution" in legends[ways.index("kind")] and "% of the time" in legends[ways.index("kind")])
    largest = max((t["bytes"], t["name"]) for layer in report["layers"] for t in [report["tensors"][i] for i in layer["outputs"]])
    check("the largest output is the reddest", True, page.value("(document.getElementById('by').value = 'output', colours(), "
          f"fill(layers.find(layer => layer.outputs.some(t => tensors[t].name === {largest[1]!r}))) === heat(1))"))

    # Tensors that live while each layer runs, in another way.
    tensors, owner = report["tensors"], lambda t: t if "shares" not in report["tensors"][t] else report["tensors"][t]["shares"]
    live = []
    for i in range(len(names)):
        made = {owner(t) for layer in report["layers"][:i + 1] for t in layer["outputs"]}
        read = {owner(t) for layer in report["layers"][i:] for t in layer["inputs"]} | {owner(t) for t in report["layers"][i]["outputs"]}
        live.append(sum(tensors[t]["bytes"] for t in made & read if tensors[t]["place"] == "arena"))
    check("bytes that live", live, page.value("live"))

    page.value("(s => { s.value = 'SQUEEZE'; s.oninput(); })(document.getElementById('search'))")
    found = sum("squeeze" in name.lower() for name in names)
    check("rows of what is found", True, found > 0 and page.value("document.querySelector('table').dataset.rows") == str(found))
    check("what is found is chosen", True, "squeeze" in page.value("chosen.name"))
    before = page.value("[graph.view.x, graph.view.y, graph.view.zoom]")
    page.mouse("mouseWheel", 300, 300, deltaX=0, deltaY=-300)
    check("nearer by the wheel", True, page.value("graph.view.zoom") > before[2])
    page.value("document.getElementById('all').click()")
    check("all boxes in sight", str(len(names) + 2), page.value("document.getElementById('graph').dataset.boxes"))
    check("errors after all that", [], page.errors)


def use_many(page, text, count, folder, pictures):
    file = folder / "many.html"
    file.write_text(text)
    start = time.monotonic()
    page.open(file.as_uri())
    check("boxes of many layers", count + 2, page.value("graph.count"))
    check("rows of many layers", str(count), page.value("document.querySelector('table').dataset.rows"))
    check("rows that are there", True, page.value("document.querySelectorAll('tbody tr').length") < 100)
    page.value("document.getElementById('rows').scrollTop = 1e9")
    time.sleep(0.3)
    check("the last row by scrolling", page.value("table.shown.at(-1).name"), page.value("[...document.querySelectorAll('tbody tr:not(.spacer)')].at(-1).lastChild.title"))
    page.value("document.getElementById('slowest').click()")
    check("boxes in sight", True, 0 < int(page.value("document.getElementById('graph').dataset.boxes")) < 100)
    print(f"{time.monotonic() - start:.1f} s")
    check("soon enough", True, time.monotonic() - start < SECONDS)
    # Moving about is smooth: a picture of all of it in less than half a second on a busy machine, and of the rest much less.
    check("milliseconds for a picture", True, page.value("(() => { graph.showAll(); const start = performance.now(); for (let i = 0; i < 5; ++i) "
          "graph.showAll(); return (performance.now() - start) / 5; })()") < 500)
    if pictures:
        page.picture(pictures / "report_many.png")
    check("errors of many layers", [], page.errors)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenon", type=pathlib.Path, default=ROOT / "build/release/tools/tenon/tenon")
    parser.add_argument("--chromium", default="chromium")
    parser.add_argument("--pictures", type=pathlib.Path)
    options = parser.parse_args()
    if options.pictures:
        options.pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:  # the browser may still write its profile
        folder = pathlib.Path(name)
        file, report = write_page(options.tenon, folder)
        text = file.read_text()
        begin = text.index('id="report">') + len('id="report">')
        end = text.index("</script>", begin)
        larger = grown(report, MANY)
        many = text[:begin] + json.dumps(larger).replace("<", "\\u003c") + text[end:]
        for scheme in "light", "dark":
            with Page(options.chromium, folder / f"profile {scheme}", 1400, 900) as page:
                page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
                if options.pictures:
                    page.open(file.as_uri())
                    page.picture(options.pictures / f"report_{scheme}.png")
                    page.requests.clear()
                if scheme == "light":
                    use_page(page, file, report)
                    use_many(page, many, len(larger["layers"]), folder, options.pictures)


if __name__ == "__main__":
    main()
