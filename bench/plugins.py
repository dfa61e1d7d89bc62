"""Writes bench/results/plugins.md: how exact each plugin is on the CPU and on a GPU, and how long its source is.

    build/cuda/test/cuda/cuda_cases --errors=bench/results/plugin_errors_h200.jsonl plugins    # on a machine with a GPU
    python bench/plugins.py

The first command measures the errors over all cases of plugins/*/cases.json. Lines are those that are neither blank
nor comments.
"""
import json
import pathlib

from operators import OPERATORS, Numbers

ROOT = pathlib.Path(__file__).resolve().parents[1]
TIMES = ROOT / "bench/results/zen5/operators.json"
ERRORS = ROOT / "bench/results/plugin_errors_h200.jsonl"
PAGE = ROOT / "bench/results/plugins.md"
INTRODUCTION = """# Plugins: errors, times and lines

Written by `python bench/plugins.py`. The largest errors over all cases, as absolute error / error relative to
1 + |expected|. Expected are the results of PyTorch, torchvision, NumPy or ONNX Runtime, as each `make_cases.py` says; the
CPU is the NVIDIA H200's host. A type that is missing is one that the plugin does not take, or in which its outputs are
integers, which are exact. Times are medians in ms of the [operators that are measured](README.md), in brackets the best
peer's of the same run (ONNX Runtime, OpenVINO or PyTorch).

"""


def lines_of(path):
    """How many lines of C++ are neither blank nor comments; the sources have no other comments than //."""
    return sum(1 for line in path.read_text().splitlines() if line.strip() and not line.strip().startswith("//"))


def table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)


def folders():
    """The folder of each plugin, by its key."""
    found = {}
    for path in sorted(ROOT.glob("plugins/*/cases.json")):
        for case in json.loads(path.read_text()):
            found["/".join(case[part] for part in ("plugin", "version", "namespace"))] = path.parent
    return found


def times():
    """What is measured of each plugin, by its name."""
    found = {}
    for row in json.loads(TIMES.read_text()):
        kind = OPERATORS[row["operator"]](Numbers()).plugin.kind
        medians = {peer: values["median_ms"] for peer, values in row["peers"].items()}
        own = medians.pop("tenon")
        found.setdefault(kind, []).append(f"{row['operator']} {own:.3g} ({min(medians.values()):.3g})")
    return found


def cell(errors, where):
    return "" if errors is None else " / ".join(f"{value:.1e}" if value else "0" for value in errors[f"{where} from expected"])


def main():
    measured = {}
    for line in ERRORS.read_text().splitlines():
        row = json.loads(line)
        measured.setdefault(row["plugin"], {})[row["type"]] = row
    sources, timed = folders(), times()
    missing = set(sources) ^ set(measured)
    if missing:
        raise SystemExit(f"{ERRORS.name} and the cases differ in {', '.join(sorted(missing))}: measure again")
    rows = []
    for key, types in sorted(measured.items(), key=lambda item: item[0].lower()):
        name, version, name_space = key.split("/")
        if any(row["failures"] for row in types.values()):
            raise SystemExit(f"{ERRORS.name}: {key} has failures")
        columns = [cell(types.get(t), where) for where in ("cpu", "gpu") for t in ("float32", "float16")]
        rows.append([f"`{name}` {version}" + (f" `{name_space}`" if name_space else ""),
                     next(iter(types.values()))["cases"], *columns, ", ".join(timed.get(name, [])), f"`{sources[key].name}`"])
    text = INTRODUCTION + table(["plugin", "cases", "fp32, CPU", "fp16, CPU", "fp32, GPU", "fp16, GPU", "ms, CPU (best peer)", "folder"], rows)
    text += "\n## Lines of code\n\nA folder's `.cc` files without tests, and the kernels that several share.\n\n"
    names = {}
    for key, folder in sources.items():
        names.setdefault(folder, []).append(key)
    counts = {folder: sum(lines_of(path) for path in folder.glob("*.cc") if not path.stem.endswith("_test"))
              for folder in names}
    text += table(["folder", "plugins", "lines"],
                  [[f"`{folder.name}`", len(names[folder]), counts[folder]] for folder in sorted(names)]
                  + [["all", sum(map(len, names.values())), sum(counts.values())]])
    kernels = {path: lines_of(path) for path in sorted((ROOT / "kernels/tenon/kernels").glob("*.h"))}
    text += "\n" + table(["kernel", "lines"], [[f"`{path.name}`", count] for path, count in kernels.items()]
                         + [["all", sum(kernels.values())]])
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
