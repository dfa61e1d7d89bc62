"""Writes results/README.md, tables of the measurements in results/*.json.

    python bench/run.py --json bench/results/cpu_2_threads.json
    python bench/operators.py --json bench/results/operators_cpu_2_threads.json
    python bench/gpu.py --json bench/results/gpu_h200.json   # on such a machine
    python bench/table.py
"""

import json
import pathlib
import re

from run import NAMES

FOLDER = pathlib.Path(__file__).parent
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


def time_cell(row, peer):
    own, found = (row["peers"][p]["median_ms"] for p in ("tenon", peer))
    return number(found) + ("" if peer == "tenon" else f" ({found / own:.2f})")


def memory_cell(row, peer):
    return number(row["peers"][peer]["peak_mb"])


def gpu_table(rows):
    """Milliseconds, memory and errors on a GPU; PyTorch's behind Tenon's."""
    lines = ["| model | batch | ms | PyTorch | MB | PyTorch | error | PyTorch |", "|---" * 8 + "|"]
    for row in rows:
        quicker = min(row[peer] for peer in ("torch", "compile") if peer in row)
        cells = [row["model"], row["batch"], number(row["tenon"]), f"{number(quicker)} ({quicker / row['tenon']:.2f})",
                 number(row["device_mb"]), number(row["torch_mb"]), f"{row['error']:.1e}", f"{row['torch_error']:.1e}"]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def main():
    models, operators, on_gpu = (
        json.loads((FOLDER / "results" / name).read_text())
        for name in ("cpu_2_threads.json", "operators_cpu_2_threads.json", "gpu_h200.json")
    )
    of_models, of_operators = ["tenon", "ort", "ov", "ncnn"], ["tenon", "ort", "ov", "torch"]
    (FOLDER / "results/README.md").write_text(
        f"""# Results

Written by `python bench/table.py`. Batch 1, fp32, 2 threads on 2 cores with AVX-512, otherwise idle. Medians; the
number in brackets is the peer's median over Tenon's: above 1, Tenon is quicker.

## Models, ms

{table("model", models, of_models, time_cell)}

## Peak memory of models, MB over what the process had before

{table("model", models, of_models, memory_cell)}

## Operators, ms

{table("operator", operators, of_operators, time_cell)}

## Models on an NVIDIA H200, fp16

Medians of the replay of a CUDA graph, PyTorch 2.11 in the same run: the quicker of those measured, in brackets its time over
Tenon's. Errors are distances from float32 with the same weights, which are random, as a part of the outputs' range.

{gpu_table(on_gpu)}
""")


if __name__ == "__main__":
    main()
