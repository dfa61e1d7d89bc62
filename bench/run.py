"""Measures Tenon and its peers on the same models, block by block in turn, in one run.

    python run.py [--models resnet50,mobilenet_v2,srcnn] [--peers tenon,ort,ov,ncnn] [--threads 2] [--rounds 12]

Absolute times drift with the machine, so read the ratios of medians. `busy` is what other processes used of
the machine just before a block; a run with a high value says little.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Peers do not know the custom operator: they get the same network with ONNX's own Resize.
PEER_MODEL = {"srcnn": "srcnn_resize"}
# ncnn's converter wants fixed shapes, and its srcnn takes 10 GB.
NOT_MEASURED = {("srcnn", "ncnn")}
INPUTS = {
    "resnet50": {"input": (1, 3, 224, 224)},
    "mobilenet_v2": {"input": (1, 3, 224, 224)},
    "srcnn": {"input": (1, 3, 256, 256), "factor": (1, 1, 768, 768)},
}


def busy():
    """Share of the machine's time that is not idle, over a tenth of a second."""

    def sample():
        with open("/proc/stat") as stat:
            fields = list(map(int, stat.readline().split()[1:9]))
        return fields[3] + fields[4], sum(fields)

    idle, total = sample()
    time.sleep(0.1)
    idle_after, total_after = sample()
    return 1 - (idle_after - idle) / max(1, total_after - total)


class Worker:
    """A peer's process, and what it has measured."""

    def __init__(self, command, environment=None):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{command[0]} failed")
        self.facts = json.loads(line)
        self.times = []

    def measure(self, seconds):
        self.process.stdin.write(f"run {seconds}\n")
        self.process.stdin.flush()
        self.times += json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def start(peer, model, options, folder):
    inputs, outputs = folder / "inputs.npz", folder / f"{peer}.npz"
    models = pathlib.Path(options.model_folder)
    if peer == "tenon":
        plan = folder / f"{model}.plan"
        shapes = ",".join(f"{n}:{'x'.join(map(str, s))}" for n, s in INPUTS[model].items())
        began = time.perf_counter()
        subprocess.run(
            [options.tenon, "build", models / f"{model}.onnx", "-o", plan, f"--shapes={shapes}"],
            check=True,
            capture_output=True,
        )
        built = time.perf_counter() - began
        worker = Worker([options.worker, plan, inputs, outputs, str(options.threads)])
        worker.facts["build_s"] = round(built, 2)
        return worker
    name = PEER_MODEL.get(model, model)
    script = pathlib.Path(__file__).with_name("peers.py")
    return Worker(
        [options.python, script, peer, models / f"{name}.onnx", inputs, outputs, str(options.threads)]
    )


def measure(model, options):
    generator = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        arrays = {n: generator.random(s, dtype=np.float32) for n, s in INPUTS[model].items()}
        np.savez(folder / "inputs.npz", **arrays)
        peers = [p for p in options.peers.split(",") if (model, p) not in NOT_MEASURED]
        workers = {peer: start(peer, model, options, folder) for peer in peers}
        noise = []
        for _ in range(options.rounds):
            for worker in workers.values():
                noise.append(busy())
                worker.measure(options.block)
        rows = {}
        for peer, worker in workers.items():
            worker.close()
            times = sorted(worker.times)
            rows[peer] = {
                "median_ms": round(statistics.median(times), 3),
                "min_ms": round(times[0], 3),
                "p90_ms": round(times[int(0.9 * len(times))], 3),
                "runs": len(times),
                **worker.facts,
            }
        results = {peer: np.load(folder / f"{peer}.npz") for peer in workers}
        arrays = {peer: r[r.files[0]] for peer, r in results.items()}
    if "tenon" in arrays:
        for peer, row in rows.items():
            row["max_difference"] = float(np.abs(arrays[peer] - arrays["tenon"]).max())
    return {"model": model, "busy": round(statistics.median(noise), 2), "peers": rows}


def show(result):
    print(f"\n{result['model']}  (others used {100 * result['busy']:.0f} % of the machine)")
    print(f"  {'':8}{'median':>9}{'min':>9}{'p90':>9}{'load':>8}{'memory':>9}{'Tenon is':>12}")
    own = result["peers"].get("tenon")
    for peer, row in result["peers"].items():
        ratio = f"{row['median_ms'] / own['median_ms']:.2f}x" if own and peer != "tenon" else ""
        print(
            f"  {peer:8}{row['median_ms']:9.2f}{row['min_ms']:9.2f}{row['p90_ms']:9.2f}"
            f"{row['load_s']:7.2f}s{row['peak_mb']:7.0f}MB{ratio:>12}"
        )
    if own:
        print(f"  plan built in {own['build_s']} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", default="resnet50,mobilenet_v2,srcnn")
    parser.add_argument("--peers", default="tenon,ort,ov,ncnn")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--block", type=float, default=0.4, help="seconds per peer and round")
    parser.add_argument("--model-folder", default=ROOT / ".cache/bench/models")
    parser.add_argument("--python", default=ROOT / ".cache/bench/venv/bin/python")
    parser.add_argument("--tenon", default=ROOT / "out/bin/tenon")
    parser.add_argument("--worker", default=ROOT / "build/release/bench/tenon_bench_worker")
    parser.add_argument("--json", help="write the results to this file")
    options = parser.parse_args()
    results = []
    for model in options.models.split(","):
        results.append(measure(model, options))
        show(results[-1])
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
