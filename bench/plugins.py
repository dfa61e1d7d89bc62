"""Writes bench/results/plugins.md: how exact each plugin is on the CPU and on a GPU, and how long its source is.

    build/release/plugins/plugin_errors plugins bench/results/plugin_errors_cpu.jsonl
    build/cuda/test/cuda/cuda_cases --errors=bench/results/plugin_errors_h200.jsonl plugins    # on a machine with a GPU
    python bench/operators.py --plugins --rounds 4 --json bench/results/plugin_times.json
    python bench/plugins.py

The first two measure the errors over all cases of plugins/*/cases.json, the third times beside PyTorch's, which
docs/generate.py shows. Lines are those that are neither blank nor comments.
"""
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[1]
ERRORS = {"cpu": ROOT / "bench/results/plugin_errors_cpu.jsonl", "gpu": ROOT / "bench/results/plugin_errors_h200.jsonl"}
PAGE = ROOT / "bench/results/plugins.md"
INTRODUCTION = """# Plugins: errors and lines

Written by `python bench/plugins.py`. The largest errors over all cases, as absolute error / error relative to
1 + |expected|. Expected are the results of PyTorch, torchvision, NumPy or ONNX Runtime, as each `make_cases.py` says. The
GPU is an H200; plugins without errors there came after it was measured. A type that is missing is one that the plugin does
not take, or in which its outputs are integers, which are exact. [docs/plugins.md](../../docs/plugins.md) has times.

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


def errors(where):
    """{plugin: {type: its measurement}}."""
    found = {}
    for line in ERRORS[where].read_text().splitlines():
        row = json.loads(line)
        if row["failures"]:
            raise SystemExit(f"{ERRORS[where].name}: {row['plugin']} has failures")
        found.setdefault(row["plugin"], {})[row["type"]] = row
    return found


def cell(row, where):
    if row is None:
        return ""
    return " / ".join(f"{value:.1e}" if value else "0" for value in row[f"{where} from expected"])


def main():
    on_cpu, on_gpu, sources = errors("cpu"), errors("gpu"), folders()
    missing = set(sources) ^ set(on_cpu)
    if missing:
        raise SystemExit(f"{ERRORS['cpu'].name} and the cases differ in {', '.join(sorted(missing))}: measure again")
    types = ("float32", "float16")
    rows = []
    for key, measured in sorted(on_cpu.items(), key=lambda item: item[0].lower()):
        name, version, name_space = key.split("/")
        columns = [cell(measured.get(t), "cpu") for t in (*types, "bfloat16")]
        columns += [cell(on_gpu.get(key, {}).get(t), "gpu") for t in types]
        rows.append([f"`{name}` {version}" + (f" `{name_space}`" if name_space else ""),
                     next(iter(measured.values()))["cases"], *columns, f"`{sources[key].name}`"])
    text = INTRODUCTION + table(["plugin", "cases", "fp32, CPU", "fp16, CPU", "bf16, CPU", "fp32, GPU", "fp16, GPU", "folder"], rows)
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
