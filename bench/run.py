"""Measures Tenon and its peers on the same models, block by block in turn, in one run.

    python run.py [--models resnet50,tiny_yolov3,...] [--peers tenon,ort,ov,ncnn] [--threads 2] [--rounds 12]
    python run.py --streams 2 --threads 1 ...   # so many inferences side by side, each with so many threads
    python run.py --load 1 ...                  # while so many other processes keep a core busy each
    python run.py --processor-time --threads 1 ...  # what others do to the machine meanwhile counts less
    python run.py --peers tenon,tenon_bf16,ov_bf16 ...  # with bfloat16, where the processor multiplies it
    python run.py --peers tenon,before --before CHECKOUT ...  # against another build of Tenon
    python run.py --peers tenon,torch,compile ...  # PyTorch's modules as they are, and what torch.compile makes of them

Absolute times drift with the machine, so read the ratios of medians. `busy` is what other processes used of
the machine just before a block; a run with a high value says little.
"""

import argparse
import contextlib
import dataclasses
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Trained models and their inputs, as `./dev models` leaves them.
TRAINED = ROOT / ".cache/models"
NAMES = {"tenon": "Tenon", "before": "Tenon before", "ort": "ONNX Runtime", "ov": "OpenVINO", "ncnn": "ncnn", "torch": "PyTorch",
         "compile": "torch.compile",
         "tenon_bf16": "Tenon with bfloat16", "ov_bf16": "OpenVINO with bfloat16"}
PEERS = ["tenon", "ort", "ov", "ncnn"]
REDUCED = ["tenon_bf16", "ov_bf16"]
MODULES = ["torch", "compile"]  # which run what a model is exported from
OWN = ["tenon", "tenon_bf16", "before"]  # measured by building a plan and running it


@dataclasses.dataclass
class Model:
    """A network of `make_models.py`, and how it is measured."""

    inputs: dict  # name to shape
    file: str = ""  # without its suffix, where it is called otherwise than the measurement
    peer_file: str = ""  # what peers get instead
    allowed: tuple = ()  # what `tenon build` allows beyond the defaults; peers stay as they are
    # It wants fixed shapes and takes 10 GB for srcnn; it has no batches, no integer inputs and no Q/DQ networks.
    with_ncnn: bool = True
    with_torch: bool = True  # whether it is exported from a module


def text(length):
    return Model({name: (1, length) for name in ("input_ids", "attention_mask", "token_type_ids")}, with_ncnn=False)


def denoiser(frames):
    states = {"speech": 24, "noise": 48, "clean": 96}
    return Model({"input": (1, frames, 42)} | {name: (1, 1, units) for name, units in states.items()}, with_ncnn=False)


IMAGE = {"input": (1, 3, 224, 224)}
LARGER_IMAGE = {"input": (1, 3, 640, 640)}
# Peers do not know its custom operator: they get the same network with ONNX's own Resize.
SRCNN = Model({"input": (1, 3, 256, 256), "factor": (1, 1, 768, 768)}, "srcnn", "srcnn_resize", with_ncnn=False, with_torch=False)
MODELS = {
    "resnet50": Model(IMAGE),
    "resnet50_batch8": Model({"input": (8, 3, 224, 224)}, "resnet50_dynamic", with_ncnn=False),
    "mobilenet_v2": Model(IMAGE),
    "srcnn": SRCNN,
    "srcnn_tf32": dataclasses.replace(SRCNN, allowed=("--tf32",)),
    "unet": Model({"input": (1, 3, 256, 256)}),
    "yolov5s": Model(LARGER_IMAGE),
    "yolov8n": Model(LARGER_IMAGE),
    "faster_rcnn": Model({"input": (3, 320, 320)}, with_ncnn=False),
    "vit_b_16": Model(IMAGE),
    "efficientnet_b0": Model(IMAGE),
    "convnext_tiny": Model(IMAGE),
    "swin_t": Model(IMAGE, with_ncnn=False),
    "dcn_head": Model({"input": (1, 512, 16, 16)}, with_ncnn=False),
    "bert_base": text(128),
    **{f"minilm_s{length}": text(length) for length in (16, 64, 128, 256)},
    "llm_step": Model({"token": (1, 1), "position": (1, 1)}
                      | {f"{kind}_{layer}": (1, 4, 256, 64) for layer in range(12) for kind in ("keys", "values")},
                      with_ncnn=False),
    "conformer_block": Model({"input": (1, 200, 256)}, with_ncnn=False),
    "lstm_tagger": Model({"words": (1, 40)}, with_ncnn=False),
    "gru_denoiser": denoiser(100),
    "gru_denoiser_step": denoiser(1),
}
# The same in int8 by ONNX Runtime's quantizer and by `tenon quantize`: all engines get the same file.
MODELS |= {f"{name}_{by}": dataclasses.replace(MODELS[name], with_ncnn=False, with_torch=False)
           for name in ("resnet50", "mobilenet_v2", "yolov8n", "bert_base") for by in ("int8", "int8_tenon")}
# And with int4 weights that are multiplied by floats.
MODELS["bert_base_int4"] = dataclasses.replace(MODELS["bert_base"], with_torch=False)
# Inputs of int64, which are not noise: numbers below a bound, from another one on.
INTEGERS = {"input_ids": (0, 30522), "attention_mask": (1, 2), "token_type_ids": (0, 1), "words": (0, 20000),
            "token": (0, 16000), "position": (256, 257)}
# The case of each trained model that is measured.
CASES = {
    "tiny_yolov3": "416x416",
    "ppocrv4_det": "320x640",
    "ppocrv4_rec": "320",
    "ppocr_cls": "turned",
    "silero_vad_v6": "long",
    "basic_pitch": "chord",
    "magika_v3": "c",
    "mnist_cnn": "seven",
    "espcn_x3": "crop",
}


def arrays_of(model):
    if model in MODELS:
        generator = np.random.default_rng(0)
        return {
            n: generator.integers(*INTEGERS[n], s) if n in INTEGERS else generator.random(s, dtype=np.float32)
            for n, s in MODELS[model].inputs.items()
        }
    with np.load(TRAINED / model / f"{CASES[model]}.npz") as stored:
        return {n.removeprefix("in:"): stored[n] for n in stored.files if n.startswith("in:")}


def path_of(model, options, for_peers=False):
    if model in CASES:
        return TRAINED / f"{model}.onnx"
    own = MODELS[model].file or model
    name = MODELS[model].peer_file or own if for_peers else own
    return pathlib.Path(options.model_folder) / f"{name}.onnx"


# What a peer cannot load: OpenVINO 2026.4 ends within a transformation of its own.
# And it has no DeformConv.
REFUSED = {("ov", "yolov8n_int8"), ("ov", "dcn_head")}


def takes(peer, model):
    """Whether the peer is measured. Trained models are compared with the engines that take ONNX files as they are."""
    if (peer, model) in REFUSED:
        return False
    if peer == "ncnn":
        return model in MODELS and MODELS[model].with_ncnn
    return peer not in MODULES or model in MODELS and MODELS[model].with_torch


def difference(own, other):
    """The largest error of any output, as a part of that output's range."""
    worst = 0.0
    for name in own:
        # A peer with one output may have lost its name.
        found = other[name] if name in other else next(iter(other.values()))
        if found.shape != own[name].shape:
            return float("inf")
        if found.size:
            one, two = own[name].astype(np.float64), found.astype(np.float64)
            error = float(np.abs(one - two).max() / (np.ptp(two) or 1))
            worst = max(worst, error if np.isfinite(error) else float("inf"))
    return worst


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


# Of a model from the module that it is exported from: sums are rounded in another order.
MAX_DIFFERENCE = 1e-3


class Progress:
    """One line that is written over on a terminal; elsewhere a line for each stage."""

    def __init__(self, title):
        self.title = title
        self.on_terminal = sys.stdout.isatty()

    def stage(self, text):
        if self.on_terminal:
            print(f"\r\033[K{self.title}: {text}", end="", flush=True)
        else:
            print(f"{self.title}: {text}", flush=True)

    def round(self, done, of):
        if self.on_terminal:
            self.stage(f"round {done} of {of}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.on_terminal:
            print("\r\033[K", end="", flush=True)


class Worker:
    """A peer's process, and what it has measured."""

    def __init__(self, command):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"failed: {' '.join(map(str, command))}")  # it has said why
        self.facts = json.loads(line)
        self.times = []

    def measure(self, seconds, command="run"):
        self.process.stdin.write(f"{command} {seconds}\n")
        self.process.stdin.flush()
        self.times += json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def lanes(options):
    """How a worker runs: threads of each stream, and streams."""
    return [str(options.threads), str(options.streams)]


@contextlib.contextmanager
def load(processes):
    """So many processes that do nothing but compute."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def programs(peer, options):
    """The command line and the worker of a build of Tenon."""
    if peer != "before":
        return options.tenon, options.worker
    build = options.before / "build/release"
    return build / "tools/tenon/tenon", build / "bench/tenon_bench_worker"


def start_tenon(peer, allowed, model, arrays, inputs, outputs, options):
    """Builds a plan of the model for arrays of these shapes, and a process that runs it; `allowed` are options of the build."""
    tenon, worker_program = programs(peer, options)
    plan = outputs.with_suffix(".plan")
    shapes = ",".join(f"{n}:{'x'.join(map(str, a.shape))}" for n, a in arrays.items())
    command = [tenon, "build", model, "-o", plan, f"--shapes={shapes}", f"--cpuThreads={options.threads}"]
    command += allowed
    began = time.perf_counter()
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(f"{pathlib.Path(model).stem} cannot be built: {result.stderr.strip()}")
    built = time.perf_counter() - began
    worker = Worker([worker_program, plan, inputs, outputs, *lanes(options)])
    worker.facts["build_s"] = round(built, 2)
    worker.facts["peak_gflops"] = peak_of_machine(tenon, plan, inputs, options)
    return worker


def peak_of_machine(tenon, plan, inputs, options):
    """What its multiply-adds of float32 reach with so many threads just then; all models have the same."""
    command = [tenon, "bench", plan, f"--inputs={inputs}", f"--cpuThreads={options.threads}", "--roofline",
               "--json", "--warmUp=0", "--duration=0", "--iterations=1"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return round(json.loads(result.stdout)["roofline"]["operationsPerSecond"] / 1e9, 1)


def start_peer(peer, model, inputs, outputs, options):
    script = pathlib.Path(__file__).with_name("peers.py")
    return Worker([options.python, script, peer, model, inputs, outputs, *lanes(options)])


def start(peer, model, arrays, options, folder):
    inputs, outputs = folder / "inputs.npz", folder / f"{peer}.npz"
    if peer in OWN:
        allowed = MODELS[model].allowed if model in MODELS else ()
        allowed += ("--bf16",) if peer == "tenon_bf16" else ()
        return start_tenon(peer, allowed, path_of(model, options), arrays, inputs, outputs, options)
    return start_peer(peer, path_of(model, options, for_peers=True), inputs, outputs, options)


def take_turns(workers, options, progress):
    """What each process measures, block by block in turn, and how busy others kept the machine."""
    progress.stage(f"measuring, {options.rounds} rounds of {options.block:g} s for each")
    noise = []
    with load(options.load):
        for i in range(options.rounds):
            for worker in workers.values():
                noise.append(busy())
                worker.measure(options.block, "processor" if options.processor_time else "run")
            progress.round(i + 1, options.rounds)
    rows = {}
    for peer, worker in workers.items():
        worker.close()
        times = sorted(worker.times)
        rows[peer] = {
            "median_ms": round(statistics.median(times), 4),
            "min_ms": round(times[0], 4),
            "p90_ms": round(times[int(0.9 * len(times))], 4),
            "runs": len(times),
            **worker.facts,
        }
    return rows, round(statistics.median(noise), 2)


def measure(model, options):
    arrays = arrays_of(model)
    with tempfile.TemporaryDirectory() as name, Progress(model) as progress:
        folder = pathlib.Path(name)
        np.savez(folder / "inputs.npz", **arrays)
        peers = [p for p in options.peers.split(",") if takes(p, model)]
        workers = {}
        for peer in peers:
            progress.stage(f"loading it into {NAMES[peer]}")
            workers[peer] = start(peer, model, arrays, options, folder)
        rows, noise = take_turns(workers, options, progress)
        results = {peer: dict(np.load(folder / f"{peer}.npz")) for peer in workers}
        if "tenon" in results:
            for peer, row in rows.items():
                row["max_difference"] = difference(results["tenon"], results[peer])
                if row["max_difference"] > MAX_DIFFERENCE and peer in MODULES:
                    raise RuntimeError(f"{NAMES[peer]} gives results {row['max_difference']:.1e} of their range from Tenon's")
    return {"model": model, "busy": noise, "peers": rows}


def number(milliseconds):
    return f"{milliseconds:9.{2 if milliseconds >= 1 else 4}f}"


def show(result):
    print(f"\n{result['model']}  (others used {100 * result['busy']:.0f} % of the machine)")
    print(f"  {'':8}{'median':>9}{'min':>9}{'p90':>9}{'load':>8}{'memory':>9}{'differs by':>12}{'Tenon is':>12}")
    own = result["peers"].get("tenon")
    for peer, row in result["peers"].items():
        ratio = f"{row['median_ms'] / own['median_ms']:.2f}x" if own and peer != "tenon" else ""
        print(
            f"  {peer:8}{number(row['median_ms'])}{number(row['min_ms'])}{number(row['p90_ms'])}"
            f"{row['load_s']:7.2f}s{row['peak_mb']:7.0f}MB{row.get('max_difference', 0):12.1e}{ratio:>12}"
        )
    if own:
        print(f"  plan built in {own['build_s']} s")


def check_peers(parser, options, known):
    """Ends with a message when a peer is not among those known, or lacks what it needs."""
    for peer in options.peers.split(","):
        if peer not in [*known, "before"]:
            parser.error(f"there is no peer '{peer}'; choose from {', '.join([*known, 'before'])}")
        if peer == "before" and options.before is None:
            parser.error("the peer 'before' needs --before CHECKOUT")


def add_options(parser):
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--streams", type=int, default=1, help="inferences side by side")
    parser.add_argument("--load", type=int, default=0, help="other processes that compute meanwhile")
    parser.add_argument("--processor-time", action="store_true", help="what all threads of a process compute, in place of time that passes")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--block", type=float, default=0.4, help="seconds per peer and round")
    parser.add_argument("--python", default=ROOT / ".cache/bench/venv/bin/python")
    parser.add_argument("--tenon", default=ROOT / "out/bin/tenon")
    parser.add_argument("--before", type=pathlib.Path, help="another checkout with a release build, for the peer 'before'")
    parser.add_argument("--worker", default=ROOT / "build/release/bench/tenon_bench_worker")
    parser.add_argument("--json", help="write the results to this file")


def keep(rows, path, *names):
    """Writes rows to a file, in the place of those with the same values by these names."""
    path = pathlib.Path(path)
    known = json.loads(path.read_text()) if path.exists() else []
    kept = {tuple(row[name] for name in names): row for row in [*known, *rows]}
    path.write_text(json.dumps(list(kept.values()), indent=1) + "\n")


def save(results, options):
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", default=",".join([*MODELS, *CASES]))
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--model-folder", default=ROOT / ".cache/bench/models")
    add_options(parser)
    options = parser.parse_args()
    check_peers(parser, options, PEERS + REDUCED + MODULES)
    side_by_side = f", {options.streams} side by side" if options.streams > 1 else ""
    print(
        f"The time of one inference, in milliseconds, fp32 (int8 where it says so), with {options.threads} threads{side_by_side}. Tenon and its peers run\n"
        "in turn. Ratios above 1: Tenon is quicker. Memory is the peak over what was there before.",
        flush=True,
    )
    results = []
    failed = False
    for model in options.models.split(","):
        try:
            results.append(measure(model, options))
            show(results[-1])
        except RuntimeError as error:
            failed = True
            print(f"\n{model}: {error}", file=sys.stderr)
    save(results, options)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
