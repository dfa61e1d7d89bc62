"""Compares plugins of other projects, compiled for the CPU by tenon-nvcc, with Tenon's of the same names.

    compile.py mmdeploy ~/mmdeploy --cuda out/hostcuda --edit --link libmmdeploy.so
    compile.py mmdeploy ~/mmdeploy --cuda out/hostcuda --edit --link libmmdeploy_address.so --sanitize address
    compile.py mmdeploy ~/mmdeploy --cuda out/hostcuda --edit --link libmmdeploy_thread.so --sanitize thread
    cpu.py mmdeploy libmmdeploy.so --address libmmdeploy_address.so --thread libmmdeploy_thread.so [--cases FILE]
    compile.py --page

Inputs are those of plugins/*/cases.json and of --cases (mmdeploy_cases.py). Each becomes a node of an ONNX model, which
`tenon run` computes on the CPU twice: with Tenon's plugin and with the library's, in three orders of CUDA's threads,
and under both sanitizers. What differs is compared with what PyTorch, NumPy or torchvision gave. The outcome is kept in
cpu.json; what was found is put into words there by hand. Needs NumPy and the onnx package.
"""
import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile

import gpu

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RESULTS = HERE / "cpu_results.json"  # which files compile
CPU = HERE / "cpu.json"  # what they compute
ORDERS = ("forward", "reverse", "random:1")
TOLERANCE = {"float32": 1e-4, "float16": 1e-2}
SANITIZERS = {"address": ("libasan.so", r"AddressSanitizer: [\w-]+"),
              "thread": ("libtsan.so", r"ThreadSanitizer: [\w-]+( [a-z]+)*")}
# Of outputs that differ, whose are as expected: (Tenon's, the library's).
WHO = {(True, False): "ours", (False, True): "theirs", (True, True): "both", (False, False): "neither"}
INTRODUCTION = """
## On a CPU

The same sources, compiled by [`tenon-nvcc`](test-without-a-gpu.md) for a machine without a GPU and without NVIDIA's
headers. `.cu` files are as they are; what a host file needs is said above.

"""
COMPARED = """
Plugins of the library are compared with Tenon's of the same name: an engine computes a model of one node with each,
on the CPU, in the orders {orders} of CUDA's threads. "Agree" are those whose outputs are within
1e-4 (fp16: 1e-2) of `1 + |Tenon's|` and whose integers are equal, in all orders; the difference is the largest one
among them. Of the others, the third column says how many of Tenon's are what PyTorch, torchvision or NumPy give (for
large inputs in fp16: what both plugins give in fp32). Under the sanitizers, the inputs that give a report are counted,
in the same orders. `test/third_party/cpu.py` does it again.
"""


def array(tensor, kind):
    import numpy
    dtype = {"T": kind, "any": "int32"}.get(tensor["type"], tensor["type"])
    values = [float(value) for value in tensor["values"]] if "values" in tensor else numpy.zeros(tensor["dims"])
    return numpy.array(values).astype(dtype).reshape(tensor["dims"])


def names(index, tensors):
    return [f"case{index}_{tensor['name']}" for tensor in tensors]


def model(cases, kind):
    """An ONNX model with a node for each case, and the arrays of its inputs."""
    from onnx import helper
    nodes, inputs, outputs, feed = [], [], [], {}

    def info(name, value):
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)

    for index, case in enumerate(cases):
        sources = names(index, case["inputs"])
        results = [f"{name}_result" for name in names(index, case["outputs"])]
        attributes = {key: value["values"] if isinstance(value, dict) else value
                      for key, value in case["attributes"].items()}
        nodes.append(helper.make_node(case["plugin"], sources, results, domain="plugins", **attributes))
        for name, tensor in zip(sources, case["inputs"]):
            feed[name] = array(tensor, kind)
            inputs.append(info(name, feed[name]))
        outputs += [info(name, array(tensor, kind)) for name, tensor in zip(results, case["outputs"])]
    graph = helper.make_graph(nodes, "cases", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("plugins", 1)],
                             ir_version=8), feed


def what_went_wrong(run, report):
    """A line that says why a run ended."""
    found = re.search(report, run.stderr) if report else None
    if found:
        place = re.search(r"([\w.]+\.(?:cuh?|cpp|hpp|h)):(\d+)", run.stderr[found.end():])
        return found[0] + (f" at {place[0]}" if place else "")
    if run.returncode < 0:
        asserted = [line for line in run.stderr.splitlines() if "assert" in line]
        return signal.Signals(-run.returncode).name + (f": {asserted[0]}" if asserted else "")
    return ((run.stderr + run.stdout).splitlines() or ["nothing is said"])[-1]


def run(cases, kind, options, library=None, order="forward", sanitizer=None):
    """For each case its outputs, or a text that says why there are none."""
    import numpy
    import onnx
    environment = os.environ | {"TENON_CUDA_ORDER": order}
    report = None
    if sanitizer:
        preload, report = SANITIZERS[sanitizer]
        found = subprocess.run(["g++", f"-print-file-name={preload}"], capture_output=True, text=True, check=True)
        environment |= {"LD_PRELOAD": found.stdout.strip(), "ASAN_OPTIONS": "detect_leaks=0"}
    with tempfile.TemporaryDirectory() as folder:
        graph, feed = model(cases, kind)
        onnx.save(graph, f"{folder}/model.onnx")
        numpy.savez(f"{folder}/inputs.npz", **feed)
        arguments = [options.tenon, "run", f"{folder}/model.onnx", f"--inputs={folder}/inputs.npz", "--target=cpu",
                     f"--outputs={folder}/outputs.npz", "--stronglyTyped", *([f"--plugins={library}"] * bool(library))]
        outcome = subprocess.run(arguments, capture_output=True, text=True, env=environment, timeout=900)
        written = pathlib.Path(folder) / "outputs.npz"
        if outcome.returncode == 0 and written.exists():  # some plugins end the process, with 0
            outputs = numpy.load(written)
            return [[outputs[f"{name}_result"] for name in names(index, case["outputs"])]
                    for index, case in enumerate(cases)]
    if len(cases) == 1:
        return [what_went_wrong(outcome, report)]
    half = len(cases) // 2
    return [one for part in (cases[:half], cases[half:]) for one in run(part, kind, options, library, order, sanitizer)]


def difference(got, want):
    """The largest |got - want| / (1 + |want|), as tolerances count it; infinite for other integers or shapes."""
    import numpy
    if got.shape != want.shape:
        return numpy.inf
    if want.dtype.kind != "f":
        return 0.0 if (got == want).all() else numpy.inf
    got, want = got.astype("float64"), want.astype("float64")
    same = (got == want) | (numpy.isnan(got) & numpy.isnan(want))
    with numpy.errstate(invalid="ignore"):
        error = numpy.where(same, 0, numpy.abs(got - want) / (1 + numpy.abs(want)))
    return float(numpy.nan_to_num(error, nan=numpy.inf).max(initial=0))


def distance(got, want):
    return float("inf") if isinstance(got, str) or isinstance(want, str) else max(map(difference, got, want))


def is_right(case, kind, got):
    """Whether outputs are what another implementation gave."""
    expected = [array(tensor, kind) for tensor in case["outputs"]]
    return distance(got, expected) <= max(case["tolerance"][kind == "float16"], TOLERANCE[kind])


def compare(name, cases, kind, options):
    """What the library gives in one type: how many cases agree, by how much, and who is right in the others."""
    ours = run(cases, kind, options)
    theirs = {order: run(cases, kind, options, options.library, order) for order in ORDERS}
    report = {"agree": 0, "difference": 0.0}
    for index, case in enumerate(cases):
        given = [outcomes[index] for outcomes in theirs.values()]
        worst = max(distance(one, ours[index]) for one in given)
        if worst <= TOLERANCE[kind]:
            report["agree"] += 1
            report["difference"] = max(report["difference"], worst)
        else:
            said = next((one for one in given if isinstance(one, str)), f"differs by {worst:.2g}")
            right = is_right(case, kind, ours[index]), all(is_right(case, kind, one) for one in given)
            report.setdefault(WHO[right], []).append(case["name"])
            print(f"  {name}, {kind}, {case['name']}: {said}; right: {WHO[right]}", flush=True)
        if kind == "float32" and "values" not in case["outputs"][0]:  # the next type's are compared with these
            for tensor, values in zip(case["outputs"], ours[index]):
                tensor["values"] = values.flatten().tolist()
    return report


def check(name, cases, options):
    """The report on one plugin, by type."""
    report = {}
    for kind in TOLERANCE:
        refusal = run(cases[:1], kind, options, options.library)[0]
        if isinstance(refusal, str) and "refuses linear float16" in refusal:
            continue
        report[kind] = compare(name, cases, kind, options)
        for sanitizer in SANITIZERS:
            runs = [run(cases, kind, options, getattr(options, sanitizer), order, sanitizer) for order in ORDERS]
            report[kind][sanitizer] = sorted({f"{case['name']}: {one}" for outcomes in runs
                                              for case, one in zip(cases, outcomes)
                                              if isinstance(one, str) and "Sanitizer" in one})
    return report


def compiled(projects, table):
    """Which files compile, and why the others do not."""
    rows, refused = [], []
    for key, versions in sorted(json.loads(RESULTS.read_text()).items()):
        for version, files in sorted(versions.items()):
            said = {name: outcome not in ("unchanged", "edited") for name, outcome in files.items()}
            kernels = [name for name in files if name.endswith(".cu")]
            bad = [name for name in kernels if said[name]]
            hosts = len(files) - len(kernels)
            rows.append([projects[key]["name"], version, len(kernels), len(kernels) - len(bad),
                         f"{hosts - sum(said.values()) + len(bad)} of {hosts}"])
            refused += [[f"`{name}` of {projects[key]['name']} {version}",
                         f"`{re.sub(r'.*(fatal )?error: (call to .* attribute error: )?', '', files[name])}`"]
                        for name in files if said[name]]
    text = table(["project", "version", "`.cu` files", "compile", "host files that compile"], rows)
    return text + ("\n" + table(["file", "what is refused"], refused) if refused else "")


def table_row(name, plugin):
    reports = plugin["report"]
    others = {kind: {who: len(report.get(who, [])) for who in WHO.values()} for kind, report in reports.items()}
    agree = ", ".join(f"{report['agree']} of {report['agree'] + sum(others[kind].values())}"
                      for kind, report in reports.items())
    total = {who: sum(count[who] for count in others.values()) for who in WHO.values()}
    right = f"{total['ours'] + total['both']} of {sum(total.values())}" if sum(total.values()) else ""
    found = ", ".join(str(sum(len(report[sanitizer]) for report in reports.values())) for sanitizer in SANITIZERS)
    kinds = ", ".join({"float32": "fp32", "float16": "fp16"}[kind] for kind in reports)
    return [f"`{name}`", kinds, agree, ", ".join(f"{report['difference']:.0e}" for report in reports.values()), right,
            found, plugin.get("found", "")]


def section(projects, table):
    """The page's part on the CPU; `table` writes one."""
    text = INTRODUCTION + compiled(projects, table) + COMPARED.format(orders=", ".join(f"`{one}`" for one in ORDERS))
    for key, checked in json.loads(CPU.read_text()).items():
        text += f"\n### {projects[key]['name']} on a CPU\n\n"
        text += f"Files are those of `{projects[key]['plugins']}`.\n\n" + table(
            ["plugin", "types", "agree", "difference", "otherwise, Tenon's are as expected", "reports of ASan, TSan",
             "why they differ"], [table_row(name, plugin) for name, plugin in checked.items()])
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kept = json.loads(CPU.read_text())
    parser.add_argument("project", choices=kept)
    parser.add_argument("library", type=pathlib.Path)
    for sanitizer in SANITIZERS:
        parser.add_argument(f"--{sanitizer}", type=pathlib.Path, required=True,
                            help=f"the library with -fsanitize={sanitizer}")
    parser.add_argument("--tenon", type=pathlib.Path, default=ROOT / "out/bin/tenon")
    parser.add_argument("--cases", type=pathlib.Path, nargs="*", default=[], help="more files of cases")
    parser.add_argument("--plugin", help="only this one")
    options = parser.parse_args()
    files = [*sorted(ROOT.glob("plugins/*/cases.json")), *options.cases]
    for name, plugin in kept[options.project].items():
        if options.plugin in (None, name):
            plugin["report"] = check(name, gpu.cases_of(name, plugin, files), options)
            print(name, plugin["report"], flush=True)
    CPU.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
