"""Opens the page of `tenon serve` in headless Chromium: its models, and a picture that is sent and drawn with its boxes.

    .venv/bin/python test/browser/run_serve.py [--tenon build/release/tools/tenon/tenon] [--chromium chromium] [--pictures FOLDER]
"""
import argparse
import os
import pathlib
import sys
import tempfile
import time

from PIL import Image

from chromium import Page

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHOWN = "[...document.querySelectorAll('#models tr')].slice(1).map(row => [...row.cells].slice(0, 5).map(cell => cell.textContent))"
# Of the answer's canvas: where the pixels of the boxes' lines are.
EDGES = """(() => {
    const canvas = document.querySelector('#answer canvas'), {width, height} = canvas;
    const {data} = canvas.getContext('2d').getImageData(0, 0, width, height);
    const xs = [], ys = [];
    for (let i = 0; i < width * height; ++i)
        if (Math.max(...data.slice(4 * i, 4 * i + 3)) - Math.min(...data.slice(4 * i, 4 * i + 3)) > 100) { xs.push(i % width); ys.push(Math.floor(i / width)); }
    return [width, height, Math.min(...xs), Math.max(...xs), Math.max(...ys)];
})()"""


def check(what, expected, found):
    if expected != found:
        sys.exit(f"{what}: expected {expected!r}, found {found!r}")
    print(f"{what}: {found!r}")


def wait_for(page, what, script, is_so):
    until = time.monotonic() + 60
    while not is_so(value := page.value(script)):
        if time.monotonic() > until:
            sys.exit(f"{what}: {value!r} after a minute")
        time.sleep(0.1)
    return value


def send(page, model, file):
    """What the page says when the model has answered."""
    page.value(f"document.getElementById('model').value = {model!r}")
    chosen = page.call("Runtime.evaluate", expression="document.getElementById('picture')")["result"]["objectId"]
    page.call("DOM.setFileInputFiles", files=[str(file)], objectId=chosen)
    page.value("document.getElementById('ask').requestSubmit()")
    return wait_for(page, "the answer", "document.getElementById('said').textContent", lambda said: said not in ("", "asking"))


def use_page(page, server, folder, pictures):
    address = f"http://127.0.0.1:{server.port}/"
    page.open(address)
    rows = wait_for(page, "models", SHOWN, lambda rows: len(rows) == 5)
    check("models", [["boxes", "1", "READY"], ["decode", "1", "READY"], ["detect", "1", "READY"]], [row[:3] for row in rows[:3]])
    check("what is not known of it", "", rows[4][3])
    check("a model that cannot be loaded", True, rows[4][0] == "nothing" and rows[4][2].startswith("UNAVAILABLE: nothing: step 1"))
    usable = wait_for(page, "models to ask", "[...document.getElementById('model').options].map(o => o.value)", len)
    check("models that take a picture", ["decode", "detect", "network"], usable)
    Image.new("RGB", (800, 400), (204, 204, 204)).save(folder / "grey.jpg")
    said = send(page, "detect", folder / "grey.jpg")
    check("the answer", True, said.startswith("answered in ") and said.endswith(", boxes: 1"))
    width, height, left, right, bottom = page.value(EDGES)
    check("the picture", [800, 400], [width, height])
    check("the box of (200, 0) to (600, 400)", True, 190 <= left <= 200 and 600 <= right <= 610 and bottom >= 395)
    if pictures:
        pictures.mkdir(parents=True, exist_ok=True)
        page.picture(pictures / "serve.png")
    wait_for(page, "the requests of the ensemble", SHOWN, lambda rows: rows[2][3] == "1")
    check("bars of its histogram", 1, page.value("[...document.querySelectorAll('#models svg')][2].querySelectorAll('rect').length"))
    send(page, "network", folder / "grey.jpg")  # pixels, made by the page
    check("the numbers of a model without boxes", "head: FP32 1x5x1", page.value("document.querySelector('#answer th').textContent"))
    (folder / "broken.jpg").write_bytes(b"no picture")
    check("a file that is no picture", True, "could not be decoded" in send(page, "detect", folder / "broken.jpg"))
    check("errors", [], page.errors)
    check("requests elsewhere", [], [url for url in page.requests if not url.startswith((address, "data:", "blob:"))])
    server.server.kill()
    said = wait_for(page, "a server that is gone", "document.getElementById('server').textContent", lambda said: "ready" not in said)
    check("a server that is gone", True, said.startswith("the server does not answer"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenon", type=pathlib.Path, default=ROOT / "build/release/tools/tenon/tenon")
    parser.add_argument("--chromium", default="chromium")
    parser.add_argument("--pictures", type=pathlib.Path)
    options = parser.parse_args()
    os.environ["TENON"] = str(options.tenon)
    sys.path.insert(0, str(ROOT / "test/cli"))
    from serve_models_test import ServeModels, steps

    server = ServeModels("test_an_ensemble_takes_a_jpeg_and_gives_boxes")  # for its folder, and what it writes there
    server.setUp()
    try:
        server.write_detector()
        server.write("nothing", {"platform": "ensemble", "input": [{"name": "x"}], "output": [{"name": "y"}],
                                 "ensemble_scheduling": steps(("none", {"x": "x"}, {"y": "y"}))})
        server.start()
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:  # the browser may still write its profile
            folder = pathlib.Path(name)
            with Page(options.chromium, folder / "profile") as page:
                use_page(page, server, folder, options.pictures)
    finally:
        server.doCleanups()


if __name__ == "__main__":
    main()
