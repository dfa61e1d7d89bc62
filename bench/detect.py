"""What decoding and NMS of a yolov8n head (84x8400) take, against NumPy and PyTorch with torchvision's NMS.

    python bench/detect.py [--worker build/release/bench/tenon_bench_detect] [--rounds 20]

One thread each, block by block in turn; microseconds, the median of the blocks' medians and the least. The head is
random and repeatable: a dozen objects with a few dozen cells each that see them, the rest at scores as an empty picture
has. A threshold of 0.25 is an application's, 0.001 that of evaluations. How many boxes stay is printed, too. Needs
NumPy, PyTorch and torchvision.
"""
import argparse
import pathlib
import statistics
import struct
import subprocess
import tempfile
import time

import numpy as np
import torch
import torchvision

ROOT = pathlib.Path(__file__).resolve().parents[1]
IOU, MAX_CANDIDATES, MAX_BOXES = 0.7, 30000, 300
STRIDES, SIDE, CLASSES = (8, 16, 32), 640, 80


def logits_and_distances(random):
    """Of each cell: class logits (80, 8400), the cell (x, y, stride) and distances in strides (4, 8400)."""
    cells = np.concatenate([np.stack([*np.meshgrid(np.arange(SIDE // s), np.arange(SIDE // s)),
                                      np.full((SIDE // s,) * 2, s)], -1).reshape(-1, 3) for s in STRIDES])
    middles, strides = (cells[:, :2] + 0.5) * cells[:, 2:], cells[:, 2]
    logits = random.normal(-9, 1.2, (CLASSES, len(cells)))
    boxes = np.stack([middles - 2 * strides[:, None], middles + 2 * strides[:, None]], 1).reshape(-1, 4)
    for _ in range(12):
        centre, extents = random.uniform(60, SIDE - 60, 2), random.uniform(40, 220, 2)
        sees = (np.abs(middles - centre) < extents / 8).all(1)
        kind = random.integers(CLASSES)
        logits[kind, sees] = random.normal(0.3, 1.2, sees.sum())
        edges = np.concatenate([centre - extents / 2, centre + extents / 2])
        boxes[sees] = edges + random.normal(0, 3, (sees.sum(), 4))
    distances = np.concatenate([middles - boxes[:, :2], boxes[:, 2:] - middles], 1) / strides[:, None]
    return logits, cells, np.clip(distances, 0, 14.9).T


def distributions(distances):
    """Logits (64, 8400) whose softmax has that mean: two neighbouring bins share the weight."""
    low = np.floor(distances).astype(int)
    part = distances - low
    weights = np.full((4, 16, distances.shape[1]), 1e-6)
    for side in range(4):
        columns = np.arange(distances.shape[1])
        weights[side, low[side], columns] += 1 - part[side]
        weights[side, low[side] + 1, columns] += part[side]
    return np.log(weights).reshape(64, -1)


def save(path, array, kind=np.float32):
    array = np.ascontiguousarray(array[None], kind)
    types = {np.float32: 0, np.float16: 1}
    path.write_bytes(struct.pack(f"<III{array.ndim}i", 0xFCCFE2E2, array.ndim, types[kind], *array.shape)
                     + array.tobytes())


def by_numpy(head, threshold):
    scores = head[4:].max(0)
    passes = np.flatnonzero(scores > threshold)
    chosen = head[:, passes]
    centre, extents = chosen[:2], chosen[2:4]
    boxes = np.concatenate([centre - extents / 2, centre + extents / 2]).T
    kept = torchvision.ops.batched_nms(torch.from_numpy(boxes), torch.from_numpy(scores[passes]),
                                       torch.from_numpy(chosen[4:].argmax(0)), IOU)
    return passes[kept[:MAX_BOXES].numpy()]


def by_torch(head, threshold):
    scores, classes = head[4:].max(0)
    passes = torch.nonzero(scores > threshold).squeeze(1)
    scores, classes = scores[passes], classes[passes]
    if len(passes) > MAX_CANDIDATES:
        scores, best = scores.topk(MAX_CANDIDATES)
        passes, classes = passes[best], classes[best]
    chosen = head[:4, passes]
    boxes = torch.cat([chosen[:2] - chosen[2:] / 2, chosen[:2] + chosen[2:] / 2]).T
    return passes[torchvision.ops.batched_nms(boxes, scores, classes, IOU)[:MAX_BOXES]]


class Worker:
    def __init__(self, program, *arguments):
        self.process = subprocess.Popen([program, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def __call__(self, count, threshold):
        self.process.stdin.write(f"{count} {threshold}\n")
        self.process.stdin.flush()
        boxes, least, median = self.process.stdout.readline().split()
        return int(boxes), float(least), float(median)


def function(call):
    def run(count, threshold):
        times = []
        for _ in range(count):
            began = time.perf_counter()
            kept = call(threshold)
            times.append(1e6 * (time.perf_counter() - began))
        return len(kept), min(times), statistics.median(times)
    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worker", default=ROOT / "build/release/bench/tenon_bench_detect")
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    logits, cells, distances = logits_and_distances(np.random.default_rng(1))
    middles = (cells[:, :2] + 0.5).T
    low, high = (middles - distances[:2]) * cells[:, 2], (middles + distances[2:]) * cells[:, 2]
    head = np.concatenate([(low + high) / 2, high - low, 1 / (1 + np.exp(-logits))]).astype(np.float32)
    raw = np.concatenate([distributions(distances), logits])
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        save(folder / "head", head)
        save(folder / "half", head, np.float16)
        for stride in STRIDES:
            side = SIDE // stride
            save(folder / f"raw_{stride}", raw[:, cells[:, 2] == stride].reshape(-1, side, side))
        tensor = torch.from_numpy(head)
        peers = {
            "Tenon": Worker(arguments.worker, "v8", folder / "head"),
            "Tenon, float16": Worker(arguments.worker, "v8", folder / "half"),
            "Tenon, raw logits and distributions": Worker(arguments.worker, "distributions",
                                                          *(folder / f"raw_{stride}" for stride in STRIDES)),
            "NumPy and torchvision": function(lambda threshold: by_numpy(head, threshold)),
            "PyTorch and torchvision": function(lambda threshold: by_torch(tensor, threshold)),
        }
        for threshold in 0.25, 0.001:
            results = {peer: [] for peer in peers}
            for _ in range(arguments.rounds):
                for peer, run in peers.items():
                    results[peer].append(run(20, threshold))
            print(f"threshold {threshold}: {(head[4:].max(0) > threshold).sum()} candidates")
            for peer, rows in results.items():
                print(f"  {peer:36} {rows[0][0]:4} boxes {statistics.median(row[2] for row in rows):9.1f} us,"
                      f" least {min(row[1] for row in rows):9.1f}")


if __name__ == "__main__":
    main()
