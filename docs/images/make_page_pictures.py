"""Makes pictures of our pages: a text detector's run, as `tenon report` draws it, on a machine that does nothing else; and
a guide of the site.

    ./dev site
    .venv/bin/python docs/images/make_page_pictures.py [--tenon build/release/tools/tenon/tenon] [--chromium chromium]

The model is of `./dev models ppocrv4_det`.
"""
import argparse
import functools
import http.server
import pathlib
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/browser"))
from chromium import Page  # noqa: E402


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def picture(chromium, folder, page, file, width):
    with Page(chromium, folder / "profile", width=width, height=760) as browser:
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])
        browser.open(page)
        browser.picture(file, whole=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenon", type=pathlib.Path, default=ROOT / "build/release/tools/tenon/tenon")
    parser.add_argument("--site", type=pathlib.Path, default=ROOT / "dist/site")
    parser.add_argument("--chromium", default="chromium")
    options = parser.parse_args()
    images = ROOT / "docs/images"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        report = folder / "report.html"
        subprocess.run([options.tenon.absolute(), "report", "ppocrv4_det.onnx", "--shapes=x:1x3x640x640", "-o", report], check=True,
                       cwd=ROOT / ".cache/models")
        picture(options.chromium, folder, report.as_uri(), images / "report.png", 1200)
        # The search works by HTTP alone.
        handler = functools.partial(Quiet, directory=options.site)
        with http.server.ThreadingHTTPServer(("localhost", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            picture(options.chromium, folder, f"http://localhost:{server.server_port}/docs/guide/int8.html", images / "site.png", 1400)
            server.shutdown()


if __name__ == "__main__":
    main()
