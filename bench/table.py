"""Writes results/README.md, tables of the measurements in results/, where each kind of processor has a folder.

    for i in 1 2 3; do python bench/run.py --json bench/results/zen4/models_$i.json; done
    python bench/run.py --streams 2 --threads 1 --json bench/results/zen4/streams.json
    python bench/run.py --load 1 --json bench/results/zen4/loaded.json
    python bench/run.py --peers tenon,ort,ov --json bench/results/zen4/int8.json \\
        --models resnet50_int8,mobilenet_v2_int8,bert_base_int8,resnet50_int8_tenon,mobilenet_v2_int8_tenon,yolov8n_int8_tenon,bert_base_int8_tenon
    python bench/operators.py --json bench/results/zen4/operators.json
    python bench/gpu.py --json bench/results/gpu_h200.json   # on such a machine
    python bench/gpu.py --int8 --compile --models resnet50,bert_base,mobilenet_v2 --batches 1,32,128 --json bench/results/gpu_int8_h200.json
    python bench/gpu.py --fp8 --models resnet50,bert_base --batches 1,128 --json bench/results/gpu_fp8_h200.json
    python bench/gpu_operators.py --json bench/results/gpu_operators_h200.json
    python bench/table.py
"""

import json
import math
import pathlib
import re
import statistics

from run import CASES, MODELS, NAMES

FOLDER = pathlib.Path(__file__).parent
# The folders of results, and what was measured there.
MACHINES = {
    "zen3": "two Zen 3 cores with AVX2",
    "zen4": "two Zen 4 cores with AVX-512, each operation in two halves",
    "zen5": "two Zen 5 cores with AVX-512",
}
# What the packages are called in requirements.txt.
PACKAGES = {"ort": "onnxruntime", "ov": "openvino", "ncnn": "ncnn", "torch": "torch"}


def title_of(peer):
    if peer not in PACKAGES:
        return NAMES[peer]
    requirements = (FOLDER / "requirements.txt").read_text()
    return f"{NAMES[peer]} {re.search(rf'^{PACKAGES[peer]}==(.+)$', requirements, re.M)[1]}"


def table(key, rows, peers, cell):
    lines = [f"| {key} | " + " | ".join(map(title_of, peers)) + " |", "|---" * (len(peers) + 1) + "|"]
    for row in rows:
        cells = [cell(row, peer) if peer in row["peers"] else "" for peer in peers]
        lines.append(f"| {row[key]} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def number(value):
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def operator_cell(row, peer):
    own, found = (row["peers"][p]["median_ms"] for p in ("tenon", peer))
    return number(found) + ("" if peer == "tenon" else f" ({found / own:.2f})")


def memory_cell(row, peer):
    return number(row["peers"][peer]["peak_mb"])


def best_of_peers(row, key):
    """The quickest peer's time over Tenon's."""
    own, *others = (row["peers"][peer][key] for peer in sorted(row["peers"], key="tenon".__ne__))
    return min(others) / own


def mean(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios)))


def middle(runs):
    """One row for each model from those of all runs: the median of each number, but of times that are least the least."""
    rows = []
    for measured in zip(*runs):
        peers = {peer: {key: (min if key == "min_ms" else statistics.median)(row["peers"][peer][key] for row in measured)
                        for key in facts}
                 for peer, facts in measured[0]["peers"].items()}
        rows.append({"model": measured[0]["model"], "peers": peers,
                     "ratios": [best_of_peers(row, "median_ms") for row in measured]})
    return rows


def model_table(rows, peers):
    """Times, and how much longer the quickest peer takes: in the run in the middle, by the least times, and in all runs."""
    heads = ["model", *map(title_of, peers), "quickest peer / Tenon", "by the least times"]
    is_repeated = len(rows[0]["ratios"]) > 1
    if is_repeated:
        heads.append("lowest to highest run")
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for row in rows:
        times = [number(row["peers"][peer]["median_ms"]) if peer in row["peers"] else "" for peer in peers]
        ratios = sorted(row["ratios"])
        cells = [row["model"], *times, f"{statistics.median(ratios):.2f}", f"{best_of_peers(row, 'min_ms'):.2f}"]
        if is_repeated:
            cells.append(f"{ratios[0]:.2f} to {ratios[-1]:.2f}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def load_table(rows, idle):
    """How much longer an inference takes while another process keeps a core busy."""
    lines = ["| model | Tenon | ONNX Runtime | OpenVINO |", "|---" * 4 + "|"]
    for row in rows:
        without = next(one for one in idle if one["model"] == row["model"])["peers"]
        slower = [row["peers"][peer]["median_ms"] / without[peer]["median_ms"] for peer in ("tenon", "ort", "ov")]
        lines.append(f"| {row['model']} | " + " | ".join(f"{ratio:.2f}" for ratio in slower) + " |")
    return "\n".join(lines)


def gpu_table(rows):
    """Milliseconds, memory and errors on a GPU; PyTorch's behind Tenon's."""
    header = "| model | batch | ms | PyTorch | MB | PyTorch | error | PyTorch | fp32 | build, s | again |"
    lines = [header, re.sub("[^|]+", "---", header)]
    for row in rows:
        quicker = min(row[peer] for peer in ("torch", "compile", "autotune") if row.get(peer))
        cells = [row["model"], row["batch"], number(row["tenon"]), f"{number(quicker)} ({quicker / row['tenon']:.2f})",
                 number(row["device_mb"]), number(row["torch_mb"]), f"{row['error']:.1e}", f"{row['torch_error']:.1e}",
                 f"{row['float32_error']:.1e}" if row["float32_error"] is not None else "",
                 *(f"{row[key]:.1f}" if row.get(key) else "" for key in ("build_s", "warm_s"))]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def gpu_operator_table(rows):
    """Milliseconds of operators on a GPU, and of a copy of as many bytes."""
    header = "| operator | type | Tenon | PyTorch (its time over Tenon's) | a copy (Tenon's time over it) | error | PyTorch's |"
    lines = [header, re.sub("[^|]+", "---", header)]
    for row in rows:
        cells = [row["operator"], row["type"], f"{row['tenon']:.3g}", f"{row['torch']:.3g} ({row['torch'] / row['tenon']:.2f})",
                 f"{row['copy']:.3g} ({row['tenon'] / row['copy']:.1f})", f"{row['error']:.1e}", f"{row['torch_error']:.1e}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def server_table(rows, columns):
    """What was measured of servers: a column for each of the keys, by its title."""
    lines = ["| | " + " | ".join(columns.values()) + " |", "|---" * (len(columns) + 1) + "|"]
    for row in rows:
        lines.append(f"| {row['what']} | " + " | ".join(f"{row[key]:.4g}" if key in row else "" for key in columns) + " |")
    return "\n".join(lines)


def server_section(results):
    """Of bench/server.py: the quickest peer's answers a second are below Tenon's of the same model."""
    rows = results["models"]
    names = list(dict.fromkeys(row["what"].split(":")[0] for row in rows))
    levels = ("1", "8", "64", "512")
    models = []
    for name in names:
        of_model = [row for row in rows if row["what"].startswith(name + ":")]
        ours, peers = ([row for row in of_model if ("Tenon" in row["what"]) == is_ours] for is_ours in (True, False))
        best = {level: max(row[level] for row in ours) / max(row[level] for row in peers) for level in levels if all(level in row for row in of_model)}
        models += [*of_model, {"what": f"{name}: the quicker Tenon / the quickest peer"} | best]
    columns = {level: f"{level} at a time" for level in levels}
    columns |= {"% of the engine": "% of the engine", "over the engine us": "one client: p50 over the engine, µs",
                "p50 ms of 8": "8: p50, ms", "p99 ms of 8": "8: p99, ms"}
    return f"""# Servers

`bench/server.py`, server and load on the same {results.get("machine", "machine")}, by `tenon load`. {results.get("note", "")}

## Models: requests a second

{server_table(models, columns)}

## Eight clients beside the plan alone

{server_table(results["saturation"], {"engine/s": "the plan: runs a second", "answers/s": "answers a second", "% of the engine": "% of the plan"})}

## A Relu of 16 floats

{server_table(results["overhead"], {"p50 us": "one client: p50, µs", "p99 us": "p99, µs", "over the engine us": "over the engine, µs", "requests/s of 64": "64 clients: requests/s"})}

## Tensors of 50 MB

{server_table(results["large"], {"ms": "ms", "GB/s": "GB/s"})}
"""


def read(name):
    return json.loads((FOLDER / "results" / name).read_text())


def has(name):
    return (FOLDER / "results" / name).exists()


def cpu_sections(machine, of):
    """What was measured on such a processor."""
    of_models, of_operators = ["tenon", "ort", "ov", "ncnn"], ["tenon", "ort", "ov", "torch"]
    runs = [read(f"{machine}/{path.name}") for path in sorted((FOLDER / "results" / machine).glob("models_[0-9].json"))]
    models = middle(runs)
    peaks = [row["peers"]["tenon"]["peak_gflops"] for run in runs for row in run]
    untrained = [row for row in models if row["model"] not in CASES]
    allowing = [model for model in MODELS if MODELS[model].allowed]
    trained = [row for row in models if row["model"] in CASES]
    compared = [row for row in untrained if row["model"] not in allowing]
    allowed = [row["peers"]["ort"]["max_difference"] for row in untrained if row["model"] in allowing]
    differences = [row["peers"]["ort"]["max_difference"] for run in runs for row in run if row["model"] in CASES]
    sections = [f"""# On {of}

## Models, ms

Number of runs: {len(runs)}. Times are medians, of the run in the middle. "quickest peer / Tenon" is the ratio of medians in the run in
the middle: above 1, Tenon is quicker. The machine's cores move, which slows down what keeps their units busy more than what waits, so there is
the ratio of the least times that were seen, too. Multiply-adds of float32 reached {min(peaks):.0f} to {max(peaks):.0f} GFLOP/s meanwhile, the median
{statistics.median(peaks):.0f}.

{model_table(untrained, of_models)}

The geometric mean of these ratios is {mean(statistics.median(row["ratios"]) for row in compared):.2f}, and
{mean(best_of_peers(row, "min_ms") for row in compared):.2f} by the least times; without {", ".join(allowing)}, where `--tf32` allows
kernels of larger errors: {max(allowed):.0e} of the output's range.

Trained models, of which the largest difference from ONNX Runtime is {max(differences):.0e} of an output's range:

{model_table(trained, of_models[:3])}
"""]
    if has(name := f"{machine}/int8.json"):
        sections.append(f"""## int8, ms

All engines get the same file: `NAME_int8` is what ONNX Runtime's static quantiser makes of a model, `NAME_int8_tenon` what `tenon quantize` does.

{model_table(middle([read(name)]), of_models[:3])}
""")
    if has(name := f"{machine}/streams.json"):
        sections.append(f"""## Two streams of one thread each, ms for each inference

{model_table(middle([read(name)]), of_models)}
""")
    if has(name := f"{machine}/loaded.json"):
        sections.append(f"""## While another process keeps one of the two cores busy, times as long

{load_table(read(name), models)}
""")
    sections.append(f"""## Peak memory of models, MB over what the process had before

{table("model", models, of_models, memory_cell)}
""")
    if has(name := f"{machine}/operators.json"):
        operators = read(name)
        sections.append(f"""## Operators, ms

Medians; the number in brackets is the peer's median over Tenon's. The geometric mean over the quickest peers is
{mean(best_of_peers(row, "median_ms") for row in operators):.2f}.

{table("operator", operators, of_operators, operator_cell)}
""")
    return "\n".join(sections)


def main():
    sections = "\n".join(cpu_sections(machine, of) for machine, of in MACHINES.items())
    (FOLDER / "results/README.md").write_text(
        f"""# Results

Written by `python bench/table.py`. On CPUs: 2 threads, and batch 1 and fp32 where a row does not say otherwise;
[bench](../README.md) says how quiet each machine was.

{sections}
# On an NVIDIA H200

## Models, fp16

Medians of the replay of a CUDA graph, PyTorch 2.11 in the same run: the quicker of those measured, in brackets its time over
Tenon's. Errors are distances from float32 with the same weights, which are random, as a part of the outputs' range. fp32 is how far
the CUDA target is from the CPU target in float32 without TF32, too.
A plan is built again with the timing cache of the first time. bert_base and vit_b_16 were measured after the others, with eager PyTorch;
their times of torch.compile are bert_base_int8's, of the run before on the same card, and of vit_b_16 those of an earlier day, as all of its row at batch 8 is. efficientnet_b0 and
yolov8n are of a run that ended at batch 8, as it was printed: three digits.

{gpu_table(read("gpu_h200.json"))}

## Models, int8

As `tenon quantize` makes them, with fp16 between the quantized layers; PyTorch in fp16, the quicker of eager and torch.compile. bert_base and resnet50 at
batch 128 were measured after the others, with eager PyTorch; their times of torch.compile are of the run before on such a card.
The weights are random, for which int8 loses more than for those of trained models.

{gpu_table(read("gpu_int8_h200.json"))}

## Models, fp8

The same with `tenon quantize --fp8`; PyTorch eagerly, but for bert_base at batch 128, which is the quickest of eager, torch.compile and its max-autotune. fp32 is how far the CUDA target is from the CPU target, which adds up products of fp8 in
float32: on Hopper the tensor cores' sums alone cost that.

{gpu_table(read("gpu_fp8_h200.json"))}

## Operators

Plugins as models of one node, medians in ms of the replay of a CUDA graph, PyTorch 2.11 in the same run, called as it is where it cannot be
captured. A copy moves as many bytes as the operator reads and writes. Errors are distances from PyTorch's result in float32, as a part of the range.

{gpu_operator_table(read("gpu_operators_h200.json"))}

{server_section(read("server.json"))}""")


if __name__ == "__main__":
    main()
