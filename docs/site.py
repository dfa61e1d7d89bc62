"""Builds the documentation as a site: every page that the README leads to, with navigation by task and a search.

    docs/site.py --output dist/site [--mkdocs mkdocs]        (./dev site installs mkdocs-material and Jupyter's nbconvert, and calls it)

Pages of the measurements in bench/results are made by docs/benchmarks.py. Pages stay where they are in the repository, and so do their links: the folders with pages are copied as they are, with what pages link to.
Notebooks are run, and pages of what they show. mkdocs is strict: a link to a page, an anchor or a file that is not there is an error. A page that no heading of NAVIGATION names is an error, too.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import benchmarks

ROOT = pathlib.Path(__file__).resolve().parents[1]
LINK = re.compile(r"(?<!!)\[([^\]\[]*(?:\[[^\]]*\][^\]\[]*)*)\]\(([^)#\s]+)(#[^)\s]*)?\)")
PICTURE = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)|<img src=\"([^\"]+)\"")
CODE = re.compile(r"(^\s*```.*?^\s*```)", re.S | re.M)

# Headings, and patterns of pages beneath them. A page belongs to the first that matches.
NAVIGATION = {
    "Start": ["README.md", "docs/guide/install.md", "examples/super_resolution/README.md", "docs/guide/python.md"],
    "Coming from": ["docs/trtexec.md", "docs/guide/from-tensorrt-8.md", "docs/guide/tensorrt-11.md", "docs/guide/migrate.md", "docs/coming-from/*.md", "docs/guide/mmcv-and-mmdeploy.md",
                    "docs/guide/onnxruntime.md"],
    "Models": ["docs/guide/edit-models.md", "lint/README.md", "docs/guide/int8.md", "docs/guide/targets-and-precision.md", "docs/guide/compare.md",
               "docs/guide/refit.md", "docs/guide/numbers.md"],
    "Speed": ["docs/guide/report.md", "docs/guide/rooflines.md", "docs/gpu.md", "bench/results/*.md", "bench/**/*.md"],
    "Plugins": ["docs/guide/write-a-plugin.md", "docs/guide/bring-your-plugins.md", "docs/guide/plugins-in-python.md", "docs/guide/check-a-plugin.md",
                "docs/test-without-a-gpu.md", "docs/plugins.md", "docs/third-party-plugins.md", "plugins/**/*.md", "hostcuda/*.md"],
    "Serving": ["docs/guide/serve.md", "docs/guide/server.md", "docs/guide/load.md", "docs/guide/scale-out.md", "docs/guide/triton.md"],
    "Applications": ["examples/**/README.md"],
    "Reference": ["docs/operators.md", "docs/layers.md", "docs/errors.md", "docs/glossary.md", "docs/versions.md", "SECURITY.md", "CHANGELOG.md"],
    "Inside": ["ARCHITECTURE.md", "CONTRIBUTING.md", "cudart/README.md", "test/**/*.md", "serve/**/*.md", "session/**/*.md", "server/**/*.md", "**/README.md"],
    "Decisions": ["docs/decisions/*.md"],
}


def tracked():
    """Files of the repository: those of git, with new ones, where there is a git, else all."""
    said = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    names = said.stdout.splitlines() if said.returncode == 0 else [str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if path.is_file()]
    return [pathlib.Path(name) for name in names if (ROOT / name).is_file()]


def title_of(page):
    text = page.read_text()
    heading = re.search(r"(?m)^# (.+)$", text)
    title = re.sub(r"`|\*|\[([^\]]*)\]\([^)]*\)", lambda match: match[1] or "", heading[1]) if heading else page.stem
    return title


def navigation(pages):
    """[(heading, [page])], each page once; a page without a heading is an error."""
    left, result = list(pages), []
    for heading, patterns in NAVIGATION.items():
        chosen = []
        for pattern in patterns:
            # A file alone, or a pattern with ** for any folders.
            wanted = re.compile(re.escape(pattern).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*"))
            chosen += [page for page in left if wanted.fullmatch(page.as_posix())]
            left = [page for page in left if page not in chosen]
        result.append((heading, chosen))
    if left:
        sys.exit(f"docs/site.py: NAVIGATION has no heading for {', '.join(map(str, left))}")
    return result


def with_links(page, text, pages, copied):
    """The page with links that a site can have; files that they lead to go into `copied`."""

    def target(link):
        return pathlib.Path(re.sub(r"^\./", "", (ROOT / page.parent / link).resolve().relative_to(ROOT).as_posix()))

    def linked(match):
        words, link, anchor = match[1], match[2], match[3] or ""
        if "://" in link or link.startswith("mailto:"):
            return match[0]
        try:
            to = target(link)
        except ValueError:
            sys.exit(f"{page}: the link to {link} leads out of the repository")
        if (ROOT / to).is_dir():  # the folder's page, where it has one
            return f"[{words}]({link.rstrip('/')}/README.md{anchor})" if to / "README.md" in pages else words
        if not (ROOT / to).exists():
            sys.exit(f"{page}: the link to {link} leads nowhere")
        if to not in pages:
            copied.add(to)
        return f"[{words}]({link.removesuffix('.ipynb')}.html)" if to.suffix == ".ipynb" else match[0]

    for picture in PICTURE.finditer(text):
        link = picture[1] or picture[2]
        if "://" not in link:
            copied.add(target(link))
    return "".join(part if i % 2 else LINK.sub(linked, part) for i, part in enumerate(CODE.split(text)))


def with_anchors(text):
    """Headings that are there twice get the anchors that forges of git give them, heading-1 and so on."""
    counts = {}

    def named(match):
        slug = re.sub(r"[^\w\- ]", "", match[2].lower()).strip().replace(" ", "-")
        count = counts[slug] = counts.get(slug, -1) + 1
        return match[0] + (f" {{#{slug}-{count}}}" if count else "")
    return "".join(part if i % 2 else re.sub(r"(?m)^(#{1,6}) (.+)$", named, part) for i, part in enumerate(CODE.split(text)))


def executed(notebook, output, package):
    """Jupyter runs the notebook where it lies; what it shows is in a page."""
    command = [sys.executable, "-m", "nbconvert", "--execute", "--to", "html", "--output-dir", output.parent.absolute(), ROOT / notebook]
    environment = os.environ | {"PYTHONPATH": str(package.absolute())}
    result = subprocess.run(command, cwd=(ROOT / notebook).parent, env=environment, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"docs/site.py: {notebook}: {result.stderr[-3000:]}")
    page = output.read_text()
    output.write_text(re.sub("<body[^>]*>", lambda body: f'{body[0]}<p><a href="index.html">Back to the site</a></p>', page, count=1))


def stage(folder, package):
    """The pages and what they link to, as mkdocs takes them. Returns the navigation."""
    files = tracked()
    pages = [path for path in files if path.suffix == ".md" and not path.parts[0].startswith(".")]
    headings = navigation(pages)
    known, copied = set(pages), set()
    for page in pages:
        text = with_links(page, (ROOT / page).read_text(), known, copied)
        (folder / page).parent.mkdir(parents=True, exist_ok=True)
        (folder / page).write_text(with_anchors(text))
    measured, raw = benchmarks.pages(ROOT, files)
    for page, text in measured.items():
        (folder / page).parent.mkdir(parents=True, exist_ok=True)
        (folder / page).write_text(text)
    at = [heading for heading, _ in headings].index("Plugins")
    headings.insert(at, ("Benchmarks", sorted(measured, key=lambda page: page.stem != "index")))
    copied.update(pathlib.Path(path) for path in raw)
    shutil.copy(ROOT / "docs/site.css", folder / "docs/site.css")
    for path in sorted(copied):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, folder / path)
        if path.suffix == ".ipynb":
            executed(path, folder / path.with_suffix(".html"), package)
    return headings


def configuration(headings, staged, output):
    quoted = lambda text: "'" + text.replace("'", "''") + "'"
    lines = ["site_name: Tenon", f"docs_dir: {quoted(str(staged))}", f"site_dir: {quoted(str(output))}", "use_directory_urls: false", "strict: true",
             "theme:", "  name: material", "  font: false", "  palette:",
             "    - {media: '(prefers-color-scheme: light)', scheme: default, toggle: {icon: material/weather-night, name: dark}}",
             "    - {media: '(prefers-color-scheme: dark)', scheme: slate, toggle: {icon: material/weather-sunny, name: light}}",
             "  features: [navigation.tabs, navigation.top, navigation.indexes, content.code.copy, search.suggest, toc.follow]",
             "extra_css: [docs/site.css]", "plugins: [search]", "markdown_extensions:", "  - tables", "  - attr_list", "  - toc: {permalink: true, slugify: !!python/object/apply:pymdownx.slugs.slugify {kwds: {case: lower}}}",
             "  - pymdownx.highlight", "  - pymdownx.superfences", "validation:", "  omitted_files: warn",
             "  links: {not_found: warn, anchors: warn, absolute_links: warn, unrecognized_links: warn}", "nav:"]
    for heading, pages in headings:
        if pages:
            lines.append(f"  - {quoted(heading)}:")
            lines += [f"    - {quoted(title_of(staged / page))}: {quoted(page.as_posix())}" for page in pages]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--mkdocs", default="mkdocs")
    parser.add_argument("--package", type=pathlib.Path, default=ROOT / "build/release/python", help="the folder of the Python package, for notebooks")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        headings = stage(folder / "pages", options.package)
        (folder / "mkdocs.yml").write_text(configuration(headings, folder / "pages", options.output.absolute()))
        result = subprocess.run([options.mkdocs, "build", "--strict", "--clean", "-f", folder / "mkdocs.yml"], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(result.stdout + result.stderr)
    print(f"{options.output / 'index.html'}: {sum(len(pages) for _, pages in headings)} pages; with the search by"
          f" `python3 -m http.server -d {options.output}`")


if __name__ == "__main__":
    main()
