"""Checks plugin libraries of other projects on a GPU, and keeps the outcome in gpu.json.

    gpu.py PROJECT LIBRARY [--tenon out/bin/tenon] [--cudart FILE] [--cases FILE]
    gpu.py PROJECT LIBRARY --cpu
    compile.py --page

LIBRARY is linked from the objects that compile.py makes, with CUDA's runtime as a shared library. gpu.json says which
plugins are checked and with which options; those without any are given the cases of plugins/*/cases.json, where names
agree, and of --cases (amirstan_cases.py). "attributes" are added to cases that leave them at their defaults, and
"without_text" leaves cases out that give texts as attributes: some originals need it so. What was found is put into
words there by hand. --cpu makes the same checks of a library that tenon-nvcc compiled, and prints what differs from
what a GPU gave.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
GPU = HERE / "gpu.json"
INTRODUCTION = """
## On a GPU

Plugins of these libraries on an NVIDIA H200 (CUDA 13, cuBLAS 13, cuDNN 9), driven by
[`tenon plugins check --device=cuda`](guide/check-a-plugin.md) without an engine. Where a plugin of Tenon has the same
name, results are compared with the cases of that one, in fp32 and fp16, whose expected values are PyTorch's,
torchvision's, NumPy's or ONNX Runtime's; some of these cases are beyond what the original promises, as indices below 0
or attributes by their other names. Four kinds of failures are so common that they are only counted: `wrong fields` (a
field without data is read, or ends the process), `empty` and `enqueue` where a batch or a list is empty (a division by
0, or a launch of 0 blocks), and `formats` where the plugin lacks a type. "What was found" says what was seen, not why.
`test/third_party/gpu.py` does it again.
"""


def is_result(row):
    """Whether a check compared with a case."""
    return row["check"] == "result" and row["input"].startswith("case ")


def cases_of(name, plugin, files):
    """The cases of a plugin, as gpu.json or cpu.json wants them."""
    cases = [case for path in files for case in json.loads(path.read_text()) if case["plugin"] == name]
    if plugin.get("without_text"):
        cases = [case for case in cases if not any(isinstance(value, str) for value in case["attributes"].values())]
    for case in cases:
        case["attributes"] = plugin.get("attributes", {}) | case["attributes"]
    return cases


def cases_for(name, plugin, files, folder):
    """A file with these cases."""
    file = pathlib.Path(folder) / "cases.json"
    file.write_text(json.dumps(cases_of(name, plugin, files)))
    return [f"--cases={file}"]


def summary(report):
    """How many checks passed, failed by name, and how many results were right."""
    rows = report["checks"]
    failed = {}
    for row in rows:
        if row["outcome"] == "failed":
            failed[row["check"]] = failed.get(row["check"], 0) + 1
    return {"version": report["version"], "interface": report["interface"],
            "passed": sum(row["outcome"] == "passed" for row in rows), "failed": dict(sorted(failed.items())),
            "right": sum(is_result(row) and row["outcome"] == "passed" for row in rows),
            "compared": sum(is_result(row) for row in rows)}


def table_row(name, plugin, report):
    failed = ", ".join(f"`{check}` {count}" for check, count in report["failed"].items())
    compared = f"{report['right']} of {report['compared']}" if report["compared"] else ""
    return [f"`{name}` {report['version']}", report["passed"], failed, compared, plugin.get("found", "")]


def section(projects, table):
    """The page's part on what was checked; `table` writes one."""
    text = INTRODUCTION
    for key, checked in json.loads(GPU.read_text()).items():
        text += f"\n### {projects[key]['name']} {checked['version']}\n\n" + table(
            ["plugin", "checks passed", "failed", "results as expected", "what was found"],
            [table_row(name, plugin, report) for name, plugin in checked["plugins"].items()
             for report in plugin["reports"]])
    return text


def print_differences(name, gpu, cpu):
    """What a GPU gave and what the CPU does, for each version of a plugin."""
    for before, now in zip(gpu, cpu, strict=True):
        same = "as on a GPU" if before == now else f"{shown(now)}; on a GPU {shown(before)}"
        print(f"{name} {now['version']}: {same}", flush=True)


def shown(report):
    failed = ", ".join(f"{check} {count}" for check, count in report["failed"].items())
    return f"{report['passed']} passed, failed: {failed or 'none'}; results {report['right']} of {report['compared']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kept = json.loads(GPU.read_text())
    parser.add_argument("project", choices=kept)
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("--tenon", type=pathlib.Path, default=ROOT / "out/bin/tenon")
    parser.add_argument("--cudart", default="libcudart.so.13")
    parser.add_argument("--cases", type=pathlib.Path, nargs="*", default=[], help="more files of cases")
    parser.add_argument("--cpu", action="store_true", help="check on the CPU, and only print")
    parser.add_argument("--plugin", help="only this one")
    options = parser.parse_args()
    files = [*sorted(ROOT.glob("plugins/*/cases.json")), *options.cases]
    device = [] if options.cpu else ["--device=cuda", f"--cudart={options.cudart}"]
    with tempfile.TemporaryDirectory() as folder:
        for name, plugin in kept[options.project]["plugins"].items():
            if options.plugin not in (None, name):
                continue
            inputs = plugin.get("options") or cases_for(name, plugin, files, folder)
            run = subprocess.run([options.tenon, "plugins", "check", options.library, "--json", *device,
                                  f"--plugin={name}", *inputs], capture_output=True, text=True)
            reports = [summary(report) for report in json.loads(run.stdout)]
            if options.cpu:
                print_differences(name, plugin["reports"], reports)
            else:
                plugin["reports"] = reports
                print(name, reports, flush=True)
    if not options.cpu:
        GPU.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
