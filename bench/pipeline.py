"""Measures whole detectors, from 1080p pictures of uint8 to boxes: Tenon's pipeline, OpenVINO and ONNX Runtime.

    pip install -r bench/requirements.txt opencv-python-headless
    cmake --build build/release --target tenon_bench_pipeline
    python bench/pipeline.py                      # --rounds 4 --seconds 1.5 --json result.json; three or four minutes

All take turns in one run, with the same number of threads (--threads 2). OpenVINO is in throughput mode, its queue of
asynchronous requests fed by a thread that pre-processes with OpenCV, with decoding in the callbacks; ONNX Runtime runs
in a pool of threads, each of which does all three. Of several settings of each, and of Tenon's, a first round picks the
fastest. `alone` is one job after the other; under load, jobs come at 0.7 of what that contender reached just before,
steadily as a camera's or in a Poisson process, and a job's time begins when it should come. `ideal` is the p99 of Poisson
arrivals where servers that lose no time share that rate: what chance alone makes of the queue. Overload is three times the
rate, where a full pipeline refuses jobs. That all find the same boxes is checked first.
"""
import argparse
import concurrent.futures
import heapq
import json
import os
import pathlib
import random
import statistics
import subprocess
import tempfile
import threading
import time

import cv2
import numpy as np
import onnxruntime
import openvino

from preprocess import letterboxed, picture, planes_by_blob, save

ROOT = pathlib.Path(__file__).resolve().parent.parent
JOBS = 16  # in flight at a time
LOAD = 0.7  # of the rate
OVERLOAD = 3  # of the rate
LOADS = 6  # runs under each kind of load, each after the rate is measured anew
MEAN, STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225], np.float32)
MAP = 960, 544


class Objects:
    """yolov8n, with a threshold that about a hundred of its 8400 cells pass: its weights are random."""
    name, model = "yolov8n", ROOT / ".cache/bench/models/yolov8n.onnx"
    kind, shape, tolerance = "objects", (1, 3, 640, 640), 2

    def __init__(self, threads):
        self.picture = picture(1080, 1920)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(self.model, options)
        head, = session.run(None, {session.get_inputs()[0].name: self.prepare(self.picture)})
        scores = np.sort(head[0, 4:].max(0))[-150:-50]
        widest = np.diff(scores).argmax()  # where rounding decides nothing
        self.threshold = float(scores[widest : widest + 2].mean())

    def prepare(self, image):
        return planes_by_blob(letterboxed(image))

    def decode(self, head):
        scores = head[0, 4:].max(0)
        passes = np.flatnonzero(scores > self.threshold)
        scores, labels, boxes = scores[passes], head[0, 4:, passes].argmax(1), head[0, :4, passes]
        boxes[:, :2] -= boxes[:, 2:] / 2
        kept = cv2.dnn.NMSBoxesBatched(boxes, scores, labels, self.threshold, 0.45)
        boxes = boxes[kept]
        boxes[:, 2:] += boxes[:, :2]
        boxes = (boxes - (0, 140, 0, 140)) * 3  # 1920x1080 in 640x640
        return np.concatenate([boxes.clip(0, (1920, 1080, 1920, 1080)), scores[kept][:, None]], 1)


class Text:
    """PP-OCRv4's detector on a page of forty lines; boxes as its authors make them of the map, but rectangles grow."""
    name, model = "ppocrv4_det", ROOT / ".cache/models/ppocrv4_det.onnx"
    kind, shape, tolerance, threshold = "text", (1, 3, MAP[1], MAP[0]), 6, 0.6

    def __init__(self, threads):
        self.picture = np.full((1080, 1920, 3), 235, np.uint8)
        for number in range(40):
            place = 60 + number % 2 * 930, 60 + number // 2 * 52
            cv2.putText(self.picture, f"Item {number}: {37 * number} pieces at {number}.50 EUR", place,
                        cv2.FONT_HERSHEY_SIMPLEX, 1.1, (40, 30, 20), 2, cv2.LINE_AA)

    def prepare(self, image):
        planes = cv2.dnn.blobFromImage(image, 1 / 255, MAP, MEAN * 255)
        planes /= STD.reshape(1, 3, 1, 1)
        return planes

    def decode(self, maps):
        scores, scale = maps[0, 0], np.array([1920 / MAP[0], 1080 / MAP[1]])
        contours, _ = cv2.findContours((scores > 0.3).astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
        found = []
        for contour in contours:
            centre, (width, height), angle = cv2.minAreaRect(contour)
            if min(width, height) < 3:
                continue
            corners = cv2.boxPoints((centre, (width, height), angle))
            left, top = np.floor(corners.min(0)).astype(int).clip(0)
            right, bottom = np.ceil(corners.max(0)).astype(int) + 1
            part = scores[top:bottom, left:right]
            mask = np.zeros(part.shape, np.uint8)
            cv2.fillPoly(mask, [np.rint(corners - (left, top)).astype(np.int32)], 1)
            if cv2.mean(part, mask)[0] < self.threshold:
                continue
            grow = 2 * width * height * 1.5 / (2 * (width + height))
            corners = cv2.boxPoints((centre, (width + grow, height + grow), angle))
            found.append((corners * scale).ravel())
        return np.array(found)


def arrival_times(arrivals, rate, seconds, seed):
    """When jobs come, in seconds from the beginning: "steady" or "poisson"."""
    gaps, at = random.Random(seed), 0
    while (at := at + (1 / rate if arrivals == "steady" else gaps.expovariate(rate))) < seconds:
        yield at


def ideal_p99(rate, alone, seconds):
    """Of Poisson arrivals at LOAD of the rate, in milliseconds: as many servers as work at a time share the rate and take
    the jobs as they come, in constant time. The median of simulated runs of so many seconds, as the measured ones are."""
    servers = max(1, round(rate * alone))
    percentiles = []
    for seed in range(100):
        free, times = [0.] * servers, []
        for at in arrival_times("poisson", LOAD * rate, seconds, seed):
            begin = max(at, heapq.heappop(free))
            heapq.heappush(free, begin + servers / rate)
            times.append(begin + servers / rate - at)
        percentiles.append(np.percentile(times, 99) * 1e3)
    return float(np.median(percentiles))


class Tenon:
    def __init__(self, case, threads, instances, worker, file):
        environment = {**os.environ, "TENON_THREADS": str(threads)}
        self.process = subprocess.Popen([worker, case.kind, case.model, file, str(case.threshold), str(instances)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self.ask("stages")  # answered when it is built

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def rate(self, seconds):
        return self.ask(f"rate {seconds}")

    def alone(self, seconds):
        return self.ask(f"alone {seconds}")

    def load(self, arrivals, rate, seconds, seed):
        return self.ask(f"load {arrivals} {rate} {seconds} {seed}")

    def boxes(self):
        return np.array(self.ask("boxes"))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Peer:
    """What a program around an engine does; submit(answer) begins a job, which ends with a call of answer(boxes)."""

    def rate(self, seconds):
        free, lock, count = threading.Semaphore(JOBS), threading.Lock(), 0

        def answer(boxes):
            nonlocal count
            with lock:
                count += 1
            free.release()
        begin = time.perf_counter()
        while time.perf_counter() - begin < seconds:
            free.acquire()
            self.submit(answer)
        for _ in range(JOBS):
            free.acquire()
        return count / (time.perf_counter() - begin)

    def boxes(self):
        future = concurrent.futures.Future()
        self.submit(future.set_result)
        return future.result()

    def alone(self, seconds):
        times, begin = [], time.perf_counter()
        while time.perf_counter() - begin < seconds:
            start = time.perf_counter()
            self.boxes()
            times.append((time.perf_counter() - start) * 1e3)
        return times

    def load(self, arrivals, rate, seconds, seed):
        futures, begin = [], time.perf_counter()
        for at in arrival_times(arrivals, rate, seconds, seed):
            arrival, future = begin + at, concurrent.futures.Future()
            time.sleep(max(0, arrival - time.perf_counter()))
            self.submit(lambda _, arrival=arrival, future=future:
                        future.set_result((time.perf_counter() - arrival) * 1e3))
            futures.append(future)
        return [future.result() for future in futures]


def or_exit(call):
    """What a thread calls: a failure ends the program instead of vanishing in a future."""
    def run(*arguments):
        try:
            call(*arguments)
        except BaseException as error:
            print(f"pipeline.py: {error!r}", flush=True)
            os._exit(1)
    return run


class OpenVino(Peer):
    def __init__(self, case, threads, requests):
        core = openvino.Core()
        model = core.read_model(case.model)
        model.reshape(case.shape)
        compiled = core.compile_model(model, "CPU", {"PERFORMANCE_HINT": "THROUGHPUT", "INFERENCE_NUM_THREADS": threads,
                                                     "INFERENCE_PRECISION_HINT": "f32"})
        self.case, self.queue = case, openvino.AsyncInferQueue(compiled, requests)
        self.queue.set_callback(or_exit(lambda request, answer: answer(case.decode(request.get_output_tensor(0).data))))
        self.feeder = concurrent.futures.ThreadPoolExecutor(1)

    def close(self):
        self.feeder.shutdown()
        self.queue.wait_all()
        del self.queue

    def feed(self, answer):
        self.queue.start_async({0: self.case.prepare(self.case.picture)}, answer)

    def submit(self, answer):
        self.feeder.submit(or_exit(self.feed), answer)


class OnnxRuntime(Peer):
    def __init__(self, case, workers, intra):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = intra
        self.case, self.session = case, onnxruntime.InferenceSession(case.model, options)
        self.input = self.session.get_inputs()[0].name
        self.pool = concurrent.futures.ThreadPoolExecutor(workers)

    def close(self):
        self.pool.shutdown()

    def work(self, answer):
        output, = self.session.run(None, {self.input: self.case.prepare(self.case.picture)})
        answer(self.case.decode(output))

    def submit(self, answer):
        self.pool.submit(or_exit(self.work), answer)


def contenders(case, options, file):
    """Of each the settings that are tried, by a name."""
    n = options.threads
    return {
        "Tenon": {f"instances x threads: {count} x {threads}": lambda count=count, threads=threads: Tenon(
            case, threads, count, options.worker, file) for count, threads in ((1, n), (n, 1))},
        "OpenVINO": {f"requests: {requests or 'its own number'}": lambda requests=requests: OpenVino(
            case, n, requests) for requests in (0, 2 * n)},
        "ONNX Runtime": {f"workers x threads: {workers} x {intra}": lambda workers=workers, intra=intra: OnnxRuntime(
            case, workers, intra) for workers, intra in ((1, n), (2, n), (n, 1), (n + 1, 1))},
    }


def fastest(ways, seconds):
    """Only one of them stays."""
    best = {}
    for name, make in ways.items():
        made = make()
        made.rate(seconds / 3)
        best[name] = made.rate(seconds), made
    name = max(best, key=lambda name: best[name][0])
    for other, (_, made) in best.items():
        if other != name:
            made.close()
    return name, best[name][1]


def difference(ours, theirs):
    """How far the boxes are apart, in pixels of the picture; infinite if their numbers differ."""
    if len(ours) != len(theirs):
        return float("inf")
    edges = [np.stack([rows[:, :-1 if rows.shape[1] == 5 else None].reshape(len(rows), -1, 2).min(1),
                       rows[:, :-1 if rows.shape[1] == 5 else None].reshape(len(rows), -1, 2).max(1)], 1).reshape(-1, 4)
             for rows in map(np.asarray, (ours, theirs))]
    return float(abs(edges[0][:, None] - edges[1][None]).max(2).min(1).max())


def percentile(runs, percent):
    """The median of those of the runs: where the machine slows down, a queue grows that says nothing of the pipeline."""
    return statistics.median(float(np.percentile(times, percent)) for times in runs)


def measure(case, options, file):
    save(file, case.picture)
    chosen = {name: fastest(ways, options.seconds) for name, ways in contenders(case, options, file).items()}
    boxes = {name: made.boxes() for name, (_, made) in chosen.items()}
    for name, found in boxes.items():
        apart = difference(boxes["Tenon"], found)
        if len(found) == 0 or apart > case.tolerance:
            raise SystemExit(f"pipeline.py: {case.name}: {name} finds {len(found)} boxes and Tenon "
                             f"{len(boxes['Tenon'])}, {apart} pixels apart")
    rates, alone, steady, poisson, engine = ({name: [] for name in chosen} for _ in range(5))
    for _ in range(options.rounds):
        for name, (_, made) in chosen.items():
            if name == "Tenon":
                engine[name].append(made.ask(f"engine {options.seconds}"))
            rates[name].append(made.rate(options.seconds))
            alone[name] += made.alone(options.seconds / 2)
    # The machine drifts, and a rate of minutes before may be no 0.7 of what it can do now.
    for seed in range(LOADS):
        for name, (_, made) in chosen.items():
            for arrivals, times in (("steady", steady), ("poisson", poisson)):
                times[name].append(made.load(arrivals, LOAD * made.rate(options.seconds), options.load / LOADS, seed))
    rows = [{"model": case.name, "what": name, "setting": setting, "boxes": len(boxes[name]),
             "rate": statistics.median(rates[name]), "best_rate": max(rates[name]),
             "alone_ms": statistics.median(alone[name]), "steady_p99_ms": percentile(steady[name], 99),
             "p50_ms": percentile(poisson[name], 50), "p99_ms": percentile(poisson[name], 99),
             "ideal_p99_ms": ideal_p99(statistics.median(rates[name]), statistics.median(alone[name]) / 1e3,
                                       options.load / LOADS)}
            for name, (setting, _) in chosen.items()]
    tenon = chosen["Tenon"][1]
    share = statistics.median(rate / alone for rate, alone in zip(rates["Tenon"], engine["Tenon"]))
    overload = tenon.ask(f"overload {OVERLOAD * tenon.rate(options.seconds)} {options.load / 2}")
    if overload["wrong"] or overload["succeeded"] + overload["refused"] != overload["committed"]:
        raise SystemExit(f"pipeline.py: {case.name}: wrong or lost answers: {overload}")
    rows[0] |= {"overload": overload, "engine": statistics.median(engine["Tenon"]), "share": share, "stages_ms": tenon.ask("stages")}
    if options.trace:
        tenon.ask(f"trace {options.trace / case.name}.json")
    for _, made in chosen.values():
        made.close()
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=1.5, help="of each contender in a round")
    parser.add_argument("--load", type=float, default=36, help="seconds of jobs under each kind of load, of each contender")
    parser.add_argument("--models", nargs="*", default=[Objects.name, Text.name])
    parser.add_argument("--worker", default=ROOT / "build/release/bench/tenon_bench_pipeline")
    parser.add_argument("--trace", type=pathlib.Path, help="a folder for Tenon's traces, for Perfetto")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    cv2.setNumThreads(1)  # beside threads that work on other pictures
    busy, rows = os.getloadavg()[0], []
    print("| model | what | setting | pictures/s | best round | alone, ms | steady: p99, ms | Poisson: p50, ms | p99, ms | ideal |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for case in (kind for kind in (Objects, Text) if kind.name in options.models):
            for row in measure(case(options.threads), options, pathlib.Path(folder) / "picture.tensor"):
                rows.append(row)
                print("| {model} | {what} | {setting} | {rate:.1f} | {best_rate:.1f} | {alone_ms:.1f} | "
                      "{steady_p99_ms:.1f} | {p50_ms:.1f} | {p99_ms:.1f} | {ideal_p99_ms:.1f} |".format(**row), flush=True)
    for row in rows:
        if "engine" in row:
            print(f"\n{row['model']}: as many instances of the engine alone {row['engine']:.1f} pictures/s, of which the "
                  f"pipeline reaches {100 * row['share']:.1f} % (median of the rounds); pre-processing, engine and decoding "
                  + ", ".join(f"{ms:.2f}" for ms in row["stages_ms"]) + f" ms; {row['boxes']} boxes; "
                  + "of {committed} jobs that come at {times} times the rate, with pictures of their own, {succeeded} succeed "
                  "and {refused} are refused, memory grows by {grown_MiB} MiB of the {bound_MiB} that the bounds admit"
                  .format(times=OVERLOAD, **row["overload"]))
    print(f"\nOpenVINO {openvino.__version__.split('-')[0]}, ONNX Runtime {onnxruntime.__version__}, OpenCV "
          f"{cv2.__version__}; load average before {busy:.1f}, which others cause, and {os.getloadavg()[0]:.1f} after")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
