"""Opens what a pipeline's trace gives in headless Chromium: the page of trace_page(), and trace_json().

    .venv/bin/python test/browser/run_trace.py [--package build/release/python] [--chromium chromium] [--pictures FOLDER] [--trace FILE]

Each bar must be there, and no script may fail. --pictures keeps a picture of the page, light and dark; --trace opens another
trace, of which only the bars are counted.
"""
import argparse
import json
import pathlib
import sys
import tempfile
import time

from chromium import Page

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = """</script><img src=x onerror="throw 1"> & 'yolo' \N{GRINNING FACE}"""
JOBS = 60


def trace_of_pipeline():
    """The JSON and the page of a pipeline with batches, two instances, and names that would harm a careless page."""
    import tenon.serve

    def wait(seconds):
        def stage(job, *_):
            time.sleep(seconds)
            return job
        return stage

    def run(batch):
        time.sleep(0.004 + 0.001 * len(batch))
        return batch

    with tenon.serve.Pipeline([run, run], wait(0.002), wait(0.001), max_batch=8, preprocess_workers=2, trace_spans=1000,
                              model=MODEL) as pipeline:
        for future in [pipeline.submit(i, correlation_id=f"<b>{i}") for i in range(JOBS)]:
            future.result()
    return pipeline.trace_json(), pipeline.trace_page()


def check(what, expected, found):
    if expected != found:
        sys.exit(f"{what}: expected {expected!r}, found {found!r}")
    print(f"{what}: {found!r}")


def bars(page):
    return int(page.value("document.getElementById('lanes').dataset.bars"))


def colored_pixels(page):
    """Of the canvas, for each stage of the page."""
    return page.value("""(() => {
        const canvas = document.getElementById('lanes'), data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        return stages.map((stage, i) => {
            const hex = getComputedStyle(document.documentElement).getPropertyValue(`--stage-${i}`).trim();
            const color = [1, 3, 5].map(at => parseInt(hex.slice(at, at + 2), 16));
            let count = 0;
            for (let k = 0; k < data.length; k += 4) count += color.every((value, c) => data[k + c] === value);
            return count;
        });
    })()""")


def open_page(page, text, json_text, folder, name, spans):
    file = folder / f"{name}.html"
    file.write_text(text)
    page.open(file.as_uri())
    check(f"{name}: errors", [], page.errors)
    check(f"{name}: bars", len(spans), bars(page))
    check(f"{name}: requests", [file.as_uri()], [url for url in page.requests if not url.startswith("data:")])
    check(f"{name}: bars of the JSON", len(spans), page.value(f"JSON.parse({json.dumps(json_text)}).traceEvents.filter(event => "
                                                             "event.ph === 'X').length"))
    check(f"{name}: pixels of each stage's colour", True, all(count > 50 for count in colored_pixels(page)))


def use_page(page, trace):
    """What a user does: reads, zooms, points at a bar, chooses it, and goes back."""
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    check("title", MODEL, page.value("document.title"))
    check("heading", MODEL, page.value("document.querySelector('h1').innerText"))
    check("jobs of the table", [str(JOBS)] * 3,
          page.value("[...document.querySelectorAll('#stages tr')].slice(1).map(row => row.cells[1].innerText)"))
    box = page.value("(({left, top}) => [left, top])(document.getElementById('lanes').getBoundingClientRect())")
    # The middle of the first lane's first bar.
    x, y = page.value("""(() => { const lane = lanes[0], span = lane.spans[0];
        return [x_of((span.begin + span.end) / 2), lane.top + lane.row_height / 2]; })()""")
    x, y = box[0] + x, box[1] + y
    page.mouse("mouseMoved", x, y)
    about = page.value("document.getElementById('about').innerText").splitlines()
    job = page.value("lanes[0].spans[0].job")
    check("what a bar is", ["pre-process", f"job {job} (<b>{job})"], [about[0].split(":")[0], about[1]])
    page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-1000)
    check("fewer bars after the wheel", True, 0 < bars(page) < len(spans))
    for kind in "mousePressed", "mouseReleased":
        page.mouse(kind, x, y, button="left", clickCount=1)
    check("chosen job", job, page.value("chosen"))
    begin = page.value("view.begin")
    page.mouse("mousePressed", x, y, button="left", clickCount=1)
    page.mouse("mouseMoved", x - 200, y, button="left", buttons=1)
    page.mouse("mouseReleased", x - 200, y, button="left", clickCount=1)
    check("later times after dragging to the left", True, page.value("view.begin") > begin)
    page.value("document.getElementById('whole').click()")
    check("bars of the whole", len(spans), bars(page))
    check("errors after all that", [], page.errors)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", type=pathlib.Path, default=ROOT / "build/release/python")
    parser.add_argument("--chromium", default="chromium")
    parser.add_argument("--pictures", type=pathlib.Path)
    parser.add_argument("--trace", type=pathlib.Path)
    options = parser.parse_args()
    sys.path.insert(0, str(options.package))
    if options.trace:
        from tenon import _native
        text = options.trace.read_text()
        html = _native._trace_page(text)
    else:
        text, html = trace_of_pipeline()
    trace = json.loads(text)
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for scheme in "light", "dark":
            with Page(options.chromium, folder / f"profile {scheme}") as page:
                page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
                open_page(page, html, text, folder, scheme, spans)
                if options.pictures:
                    options.pictures.mkdir(parents=True, exist_ok=True)
                    page.picture(options.pictures / f"trace_{scheme}.png")
                if not options.trace:
                    use_page(page, trace)


if __name__ == "__main__":
    main()
