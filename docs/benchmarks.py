"""Pages of the measurements in bench/results, one for each machine, with pictures, all their numbers, and links to the raw data.

docs/site.py puts them into the site. A file of results that no page shows is an error.
"""
import ast
import html
import json
import math
import pathlib
import re
import statistics

RESULTS = pathlib.PurePosixPath("bench/results")
# What the name of a CPU's file of results says, of which several runs have a number behind it.
KINDS = {"models": "Models, two threads", "streams": "Models, two streams of a thread each", "int8": "Models of int8",
         "loaded": "Models, while another process keeps one of the two cores busy", "operators": "Operators"}
GPU = {"gpu_h200": "Models, fp16", "gpu_int8_h200": "Models, int8", "gpu_fp8_h200": "Models, fp8",
       "gpu_operators_h200": "Operators", "plugin_errors_h200": "Errors of plugins"}
OTHERS = {"scale_out": ("Replicas", "Replicas behind Ray Serve"), "server": ("Servers", "Servers of KServe's protocol on one machine")}
OWN = ("tenon", "tenon_bf16", "before")
COLOURS = {"tenon": "#2e7d32", "ort": "#1565c0", "ov": "#ef6c00", "ncnn": "#6a1b9a", "torch": "#c62828", "compile": "#ad1457",
           "autotune": "#4e342e"}


def constant(root, file, name):
    """The value of a name that a script of bench/ gives a literal."""
    for node in ast.parse((root / "bench" / file).read_text()).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == name:
            return ast.literal_eval(node.value)
    raise LookupError(f"bench/{file} has no {name}")


def number(value):
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return "" if value is None else str(value)
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)


def bars(rows, names):
    """A picture of times over Tenon's: [(label, {peer: milliseconds})]."""
    shown = [(label, times) for label, times in rows if times.get("tenon")]
    if not shown:
        return ""
    largest = max(min(time / times["tenon"], 4) for _, times in shown for time in times.values() if time)
    parts, y = [], 0
    for label, times in shown:
        parts.append(f'<text x="190" y="{y + 12}" text-anchor="end">{html.escape(label)}</text>')
        for peer, time in times.items():
            if not time:
                continue
            ratio = time / times["tenon"]
            width = 460 * min(ratio, 4) / largest
            parts.append(f'<rect x="200" y="{y}" width="{width:.1f}" height="14" fill="{COLOURS.get(peer, "#777777")}"/>'
                         f'<text x="{206 + width:.1f}" y="{y + 12}">{html.escape(names.get(peer, peer))} {number(time)} ms ({ratio:.2f})</text>')
            y += 17
        y += 9
    return (f'<svg viewBox="0 0 900 {y}" width="100%" role="img" font-size="11" fill="currentColor" font-family="sans-serif">'
            + "".join(parts) + "</svg>\n\n*Medians as bars, and over Tenon's in brackets; bars end at 4.*\n")


def of_peers(rows, names):
    """A file of bench/run.py or bench/operators.py: a row for each peer of each model."""
    key = "model" if "model" in rows[0] else "operator"
    picture = bars([(row[key], {peer: facts["median_ms"] for peer, facts in row["peers"].items()}) for row in rows], names)
    facts = ["median_ms", "min_ms", "p90_ms", "runs", "load_s", "build_s", "peak_mb", "max_difference"]
    lines = [[row[key], names.get(peer, peer), *(number(found.get(fact)) for fact in facts)]
             for row in rows for peer, found in row["peers"].items()]
    return picture + "\n" + table([key, "", "median, ms", "least", "90 %", "runs", "load, s", "build, s", "peak MB", "difference"], lines)


def of_gpu(rows, names):
    labels = [" ".join(str(row[key]) for key in ("model", "operator", "type", "batch") if key in row) for row in rows]
    picture = bars([(label, {peer: row.get(peer) for peer in ("tenon", "torch", "compile", "autotune")}) for label, row in zip(labels, rows)], names)
    return picture + "\n" + plain(rows, names)


def plain(rows, _names=None):
    """All keys of flat rows as columns; lists show their largest number."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    flat = lambda value: max(value, default=None) if isinstance(value, list) else value
    return table(keys, [[number(flat(row.get(key))) for key in keys] for row in rows])


def of_runs(data, _names):
    text = data["note"][0].upper() + data["note"][1:] + ".\n"
    for run in data.get("runs", [{key: value for key, value in data.items() if key != "note"}]):
        facts = {key: value for key, value in run.items() if not isinstance(value, (list, dict))}
        text += "\n" + ", ".join(f"{key} {value if isinstance(value, str) else number(value)}" for key, value in facts.items()) + "\n"
        for key, rows in run.items():
            if isinstance(rows, list) and rows and isinstance(rows[0], dict):
                text += f"\n**{key}**\n\n" + plain(rows)
    return text


def mean_of_best(rows):
    """The geometric mean of the quickest peer's median over Tenon's; None without peers."""
    ratios = []
    for row in rows:
        others = [facts["median_ms"] for peer, facts in row["peers"].items() if peer not in OWN]
        if others and "tenon" in row["peers"]:
            ratios.append(min(others) / row["peers"]["tenon"]["median_ms"])
    return math.exp(statistics.fmean(map(math.log, ratios))) if ratios else None


def read(path):
    text = path.read_text()
    return [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else json.loads(text)


def section(root, path, title, show, names):
    """A heading, the link to the raw data, and what they say; the link is from the folder benchmarks/."""
    return f"## {title}\n\n[Raw data](../{path}), as JSON.\n\n" + show(read(root / path), names)


# Headings, and what shows them.
PLUGINS = {"plugin_times": ("Times beside PyTorch's formulas", of_peers), "plugin_errors_cpu": ("Errors", plain)}


def pages(root, files):
    """{page: text} of benchmarks/ and the files of results that they link to.

    files: those of the repository, from its root.
    """
    results = sorted(pathlib.PurePosixPath(file) for file in files
                     if pathlib.PurePosixPath(file).is_relative_to(RESULTS) and file.suffix in (".json", ".jsonl"))
    names, machines = constant(root, "run.py", "NAMES"), constant(root, "table.py", "MACHINES")
    written, shown, rows = {}, [], []

    def page(name, title, found):
        if not found:
            return
        written[pathlib.PurePosixPath(f"benchmarks/{name}.md")] = f"# {title}\n\n" + "\n".join(text for _, text in found)
        shown.extend(path for path, _ in found)
        best = [mean_of_best(read(root / path)) for path, _ in found if path.stem.startswith("models")]
        rows.append([f"[{title}]({name}.md)", number(statistics.median(best)) if best else "", len(found)])

    for machine, title in machines.items():
        found = []
        for path in results:
            kind = re.fullmatch(r"([a-z0-9]+?)(?:_(\d+))?", path.stem)
            if path.parent == RESULTS / machine and kind and kind[1] in KINDS:
                run = f", run {kind[2]}" if kind[2] else ""
                found.append((path, section(root, path, KINDS[kind[1]] + run, of_peers, names)))
        page(machine, title[0].upper() + title[1:], found)
    page("h200", "An NVIDIA H200", [(path, section(root, path, GPU[path.stem], plain if path.stem.startswith("plugin") else of_gpu, names))
                                    for path in results if path.stem in GPU])
    page("plugins", "Plugins, on a CPU", [(path, section(root, path, *PLUGINS[path.stem], names)) for path in results if path.stem in PLUGINS])
    for name, (title, heading) in OTHERS.items():
        page(name, title, [(path, section(root, path, heading, of_runs, names)) for path in results if path.stem == name])
    left = sorted(set(results) - set(shown))
    if left:
        raise SystemExit(f"docs/benchmarks.py: no page shows {', '.join(map(str, left))}")
    written[pathlib.PurePosixPath("benchmarks/index.md")] = (
        "# Benchmarks\n\nEvery measurement of the repository, with its raw data. How they are taken is in [bench](../bench/README.md), and"
        " what they say in [results](../bench/results/README.md).\n\n"
        + table(["machine", "quickest peer's time over Tenon's, geometric mean of all models measured", "files"], rows))
    return written, shown
