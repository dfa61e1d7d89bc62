"""A server under three times the load that it can bear, with hostile clients, a model that fails, and reloads in the middle.

What a request takes is a sleep, so that the load, which is sent from the same machine, can be three times as much.

    python test/server/faults.py --tenon build/release/tools/tenon/tenon --plugin build/release/test/server/libtest_server_fault_plugins.so
    ... --requests 1000000 --json result.json    # minutes; CI does a few thousand requests

Checked is that each request of the load is answered or refused once, that answers are right, that hostile clients get the error
that they should, that memory and descriptors are what they were before, and that the server is healthy and ends when it is told.
"""
import argparse
import asyncio
import json
import pathlib
import subprocess
import tempfile
import threading
import time

import grpc
import numpy as np
import tritonclient.grpc
from onnx import helper

import hostile_clients
from serving import Server, write_model, write_products

SIZE, LAYERS = 256, 2
MAX_MIB = 1  # of a request
MORE_MIB = 400  # than when it was idle: 64 MiB of bodies in flight, queues, what allocators keep
CLIENTS = 24


def load(tenon, *options):
    """What `tenon load` measured of the model."""
    done = subprocess.run([tenon, "load", "-m", "work", "--json", "--connections=256", *options], capture_output=True, text=True)
    if not done.stdout.strip():
        raise RuntimeError(done.stderr)
    level, = json.loads(done.stdout)["levels"]
    return level


class Background(threading.Thread):
    """Calls until it is stopped; keeps what went wrong, and how often it called."""

    def __init__(self, call):
        super().__init__()
        self.call, self.stop, self.count, self.wrong = call, threading.Event(), 0, []
        self.start()

    def run(self):
        while not self.stop.is_set():
            try:
                self.call()
            except Exception as problem:  # all that goes wrong is told at the end
                self.wrong.append(repr(problem))
            self.count += 1

    def end(self):
        self.stop.set()
        self.join()
        return self.count, self.wrong


def attack(server):
    """Hostile clients in a thread of their own, until the function that is returned is called."""
    result = {}
    stop = threading.Event()
    thread = threading.Thread(target=lambda: result.update(zip(("done", "wrong"), asyncio.run(
        hostile_clients.attack(server.http, server.grpc, SIZE, stop, CLIENTS)))))
    thread.start()

    def end():
        stop.set()
        thread.join()
        return result["done"], result["wrong"]

    return end


def failing_calls(server):
    """A model that fails says so to each request, and answers the next one."""
    x = np.full((1, 4), 1, np.float32)
    status, answer = server.infer("fails", -x)
    assert status in (500, 429), (status, answer)
    status, answer = server.infer("fails", x)
    assert status == 429 or (status == 200 and np.array_equal(answer, x)), (status, answer)


def reload(server, answer):
    """The model, anew, while it serves; what it answers then is right."""
    status, text = server.ask("/v2/repository/models/work/load", b"{}")
    assert status == 200, text
    x = np.random.default_rng().normal(size=(2, SIZE)).astype(np.float32)
    status, found = server.infer("work", x)
    assert status == 429 or (status == 200 and np.allclose(found, answer(x), atol=1e-3)), (status, found)
    time.sleep(0.2)


def cancelled_calls(server):
    """Calls of gRPC that are cancelled at once, or whose deadline is too near."""
    with tritonclient.grpc.InferenceServerClient(f"127.0.0.1:{server.grpc}") as client:
        tensor = tritonclient.grpc.InferInput("x", [1, SIZE], "FP32")
        tensor.set_data_from_numpy(np.zeros((1, SIZE), np.float32))
        for _ in range(10):
            client.async_infer("work", [tensor], callback=lambda result, error: None).cancel()
            try:
                client.infer("work", [tensor], client_timeout=0.001)
            except tritonclient.grpc.InferenceServerException:
                pass
    time.sleep(0.02)


def settled(value_of, limit, seconds=20):
    """The value as soon as it is at most the limit, or after that time."""
    end = time.monotonic() + seconds
    while (value := value_of()) > limit and time.monotonic() < end:
        time.sleep(0.2)
    return value


def run(tenon, server, answer, requests, overload):
    problems = []
    urls = {"http": f"127.0.0.1:{server.http}", "grpc": f"127.0.0.1:{server.grpc}"}
    capacity = load(tenon, "-u", urls["grpc"], "-i", "grpc", "--concurrency-range=16", "-p", "1000", "-r", "3")["answersPerSecond"]
    idle = {"descriptors": server.descriptors(), "MiB": server.resident()}
    end_attack = attack(server)
    background = {what.__name__: Background(lambda what=what: what(server)) for what in (failing_calls, cancelled_calls)}
    background["reload"] = Background(lambda: reload(server, answer))
    rate = capacity * overload / 2
    levels = {}
    begin = time.monotonic()
    loads = [threading.Thread(target=lambda protocol=protocol: levels.update({protocol: load(
        tenon, "-u", urls[protocol], "-i", protocol, f"--request-rate-range={rate}", "--request-distribution=poisson",
        f"--request-count={requests // 2}", "--request-parameter=timeout:2000000:int")})) for protocol in urls]
    for thread in loads:
        thread.start()
    peak = 0
    while any(thread.is_alive() for thread in loads):
        peak = max(peak, server.resident())
        time.sleep(0.1)
    seconds = time.monotonic() - begin
    counts = {}
    for name, thread in background.items():
        counts[name], wrong = thread.end()
        problems += [f"{name}: {text}" for text in wrong[:5]]
    counts["hostile"], wrong = end_attack()
    problems += wrong[:5]
    for protocol, level in levels.items():
        total = sum(level[outcome] for outcome in ("answered", "refused", "expired", "failed"))
        if total != requests // 2:
            problems.append(f"{protocol}: {total} of {requests // 2} requests came back")
        if level["failed"]:
            problems.append(f"{protocol}: {level['failed']} requests failed: {level['firstFailure']}")
    after = {"descriptors": settled(server.descriptors, idle["descriptors"] + 4), "MiB": server.resident()}
    if not server.is_alive():
        problems.append("the server is dead")
    if after["descriptors"] > idle["descriptors"] + 4:
        problems.append(f"{after['descriptors']} descriptors are open, {idle['descriptors']} before")
    if peak > idle["MiB"] + MORE_MIB:
        problems.append(f"{peak:.0f} MiB at the peak, {idle['MiB']:.0f} before")
    return problems, {"capacity": capacity, "seconds": seconds, "overload": requests / seconds / capacity, "levels": levels, "idle": idle, "peakMiB": peak, "after": after, "counts": counts}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenon", required=True)
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--requests", type=int, default=6000)
    parser.add_argument("--overload", type=float, default=3)
    parser.add_argument("--json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        models = pathlib.Path(folder) / "models"
        answer = write_products(models / "work/1/model.onnx", SIZE, LAYERS, "Sleeps")
        (models / "work/config.pbtxt").write_text("max_batch_size: 8\n")
        write_model(models / "fails.onnx", [helper.make_node("FailsBelowZero", ["x"], ["y"], domain="tenon")], [1, 4], opsets=[helper.make_opsetid("tenon", 1)])
        server = Server(options.tenon, models, "--model-control-mode=explicit", f"--http-max-input-size={MAX_MIB}", f"--grpc-max-message-size={MAX_MIB}",
                        "--max-queue-size=64", f"--plugins={options.plugin}")
        try:
            problems, result = run(options.tenon, server, answer, options.requests, options.overload)
            status, _ = server.ask("/v2/health/ready")
            x = np.ones((1, SIZE), np.float32)
            found = server.infer("work", x)
            if status != 200 or found[0] != 200 or not np.allclose(found[1], answer(x), atol=1e-3):
                problems.append(f"afterwards it is not healthy: {status}, {found}")
        finally:
            code = server.end()
        if code != 0:
            problems.append(f"it ended with {code}")
    print(json.dumps(result, indent=2))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(result, indent=2) + "\n")
    for problem in problems:
        print("PROBLEM", problem)
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
