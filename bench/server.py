"""Measures tenon-server with `tenon load`: what it costs over the bare engine, and beside other servers.

    pip install -r bench/requirements.txt 'ray[serve]'
    python bench/server.py overhead                  # a model of no work: one client, and 64; beside gRPC that answers at once
    python bench/server.py large                     # tensors of 50 MB, beside memcpy and a bare socket
    python bench/server.py models --models resnet50  # concurrency 1, 8, 64, 512, beside OpenVINO and ONNX Runtime
    python bench/server.py saturation --seconds 4    # eight clients beside the plan alone, in turns
    python bench/server.py all --json server.json    # all of them; results of other runs in the file stay

Peers: OpenVINO behind gRPC's callback API in C++ (openvino_server.cc, compiled here), in both of its performance modes, and ONNX
Runtime behind gRPC's asyncio API and behind Ray Serve. OpenVINO Model Server itself is neither on PyPI nor in Debian. All servers and the load
share the machine's cores; servers take turns, so that all see the same machine. `engine` is the plan alone, by `tenon bench`.
"""
import argparse
import contextlib
import json
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
from onnx import helper

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test/server"))
from serving import Server, write_model  # noqa: E402

TENON = ROOT / "build/release/tools/tenon/tenon"
MODELS = ROOT / ".cache/bench/models"
LARGE = 50_000_000 // 4  # elements
INPUTS = {"bert_base": "zero"}  # else random: numbers that are no entry of a table are refused by some


def load(model, url, *options, protocol="grpc", seconds=1.0):
    """The levels that `tenon load` measured."""
    done = subprocess.run([TENON, "load", "-m", model, "-u", url, "-i", protocol, "--json", "--warmUp=300", "-r", "3", "-p", str(round(seconds * 1000)),
                           *options], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"tenon load -m {model} -u {url} -i {protocol}: {done.stderr}")
    return json.loads(done.stdout)["levels"]


def engine(plan, *options, seconds=1.0):
    """Median latency of the plan alone in ms, and queries per second."""
    done = subprocess.run([TENON, "bench", plan, "--json", f"--duration={seconds}", "--warmUp=300", *options], capture_output=True, text=True, check=True)
    result = json.loads(done.stdout)
    return result["latencyMs"]["median"], result["throughputQps"]


def build(model, plan, *options):
    subprocess.run([TENON, "build", model, "-o", plan, *options], capture_output=True, check=True)


@contextlib.contextmanager
def tenon_server(folder, **addresses):
    server = Server(TENON, folder, **addresses)
    try:
        yield server
    finally:
        server.end()


@contextlib.contextmanager
def peer(*command):
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            for line in process.stdout:
                if line == "ready\n":
                    break
            else:
                log.seek(0)
                raise RuntimeError(f"{' '.join(map(str, command))} does not start: {log.read()[-2000:]}")
            yield
        finally:
            process.terminate()  # Ray has processes of its own to end
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def overhead(options, folder):
    """Latency of one client and requests a second of 64, for a model that does next to nothing."""
    models = folder / "models"
    write_model(models / "tiny/1/model.onnx", [helper.make_node("Relu", ["x"], ["y"])], ["n", 16])
    build(models / "tiny/1/model.onnx", folder / "tiny.plan", "--minShapes=x:1x16", "--optShapes=x:1x16", "--maxShapes=x:4x16")
    alone, _ = engine(folder / "tiny.plan", seconds=options.seconds)
    rows = [{"what": "engine", "p50 us": alone * 1000}]
    echo = compile_peer("grpc_echo")
    with (tenon_server(models) as tcp, tenon_server(models, http=f"unix:{folder}/http", grpc=f"unix:{folder}/grpc"),
          peer(echo, "127.0.0.1:18500", 16), peer(echo, f"unix:{folder}/echo", 16)):
        for name, protocol, port in (("http", "http", tcp.http), ("grpc", "grpc", tcp.grpc), ("echo", "grpc", 18500)):
            for what, url in (("TCP", f"127.0.0.1:{port}"), ("UNIX socket", f"unix:{folder}/{name}")):
                one, many = load("tiny", url, "--concurrency-range=1,64", protocol=protocol, seconds=options.seconds)
                rows.append({"what": f"{name}, {what}", "p50 us": one["latencyMs"]["p50"] * 1000, "p99 us": one["latencyMs"]["p99"] * 1000,
                             "over the engine us": (one["latencyMs"]["p50"] - alone) * 1000, "requests/s of 64": many["answersPerSecond"]})
    return rows


def socket_seconds():
    """To send so many bytes over loopback into memory that is there, the median of ten."""
    source, target = memoryview(bytes(4 * LARGE)), memoryview(bytearray(4 * LARGE))
    listener = socket.create_server(("127.0.0.1", 0))
    sender, times = socket.create_connection(listener.getsockname()), []
    receiver, _ = listener.accept()
    for _ in range(10):
        begin = time.perf_counter()
        thread = threading.Thread(target=sender.sendall, args=(source,))
        thread.start()
        at = 0
        while at < len(target):
            at += receiver.recv_into(target[at:])
        thread.join()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def large(options, folder):
    """GB/s of inputs of 50 MB, of which the model takes one element; and of outputs, which it makes of one."""
    models = folder / "models"
    shape = [1, LARGE]
    starts = [helper.make_tensor(name, 7, [1], [value]) for name, value in (("zero", 0), ("one", 1), ("axis", 1))]
    write_model(models / "in.onnx", [helper.make_node("Slice", ["x", "zero", "one", "axis"], ["y"])], shape, starts, output=[1, 1])
    write_model(models / "out.onnx", [helper.make_node("Expand", ["x", "shape"], ["y"])], [1, 1], [helper.make_tensor("shape", 7, [2], shape)], output=shape)
    rows = []
    source, target = np.ones(LARGE, np.float32), np.empty(LARGE, np.float32)
    times = []
    for _ in range(10):
        begin = time.perf_counter()
        np.copyto(target, source)
        times.append(time.perf_counter() - begin)
    rows.append({"what": "memcpy", "GB/s": 4 * LARGE / statistics.median(times) / 1e9})
    rows.append({"what": "socket, TCP", "GB/s": 4 * LARGE / socket_seconds() / 1e9})
    with tenon_server(models) as tcp, tenon_server(models, http=f"unix:{folder}/http", grpc=f"unix:{folder}/grpc"):
        for protocol in ("http", "grpc"):
            for what, url in (("TCP", f"127.0.0.1:{getattr(tcp, protocol)}"), ("UNIX socket", f"unix:{folder}/{protocol}")):
                for model in ("in", "out"):
                    level, = load(model, url, protocol=protocol, seconds=options.seconds)
                    rows.append({"what": f"{protocol}, {what}, {model}", "ms": level["latencyMs"]["p50"], "GB/s": 4 * LARGE / level["latencyMs"]["p50"] / 1e6})
    return rows


def compile_peer(name, *options):
    """The program of bench/NAME.cc, over the server's schema."""
    built = ROOT / "build/release/server"
    program, source = ROOT / ".cache/bench" / name, ROOT / f"bench/{name}.cc"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(["g++", "-O2", "-std=c++17", f"-I{built}/grpc/schema", f"-I{built}/model", source,
                        built / "grpc/libtenon_grpc_schema.a", built / "model/libtenon_server_schema.a", "-o", program, *options,
                        "-lgrpc++", "-lgrpc", "-lgpr", "-labsl_synchronization", "-lprotobuf", "-lpthread"], check=True)
    return program


def compile_openvino_server():
    import openvino
    wheel = pathlib.Path(openvino.__file__).parent
    library, = wheel.glob("libs/libopenvino.so.*")
    return compile_peer("openvino_server", "-isystem", wheel / "include", library, f"-Wl,-rpath,{wheel}/libs")


def rates(levels):
    """Answers a second by the number of requests under way, and latencies."""
    return ({str(round(level["concurrency"])): level["answersPerSecond"] for level in levels}
            | {f"{p} ms of {round(level['concurrency'])}": level["latencyMs"][p] for level in levels for p in ("p50", "p99")})


def beside_engine(plan, seconds, measure):
    """What `measure` gives, and the plan alone before and after it: its median latency in ms, and runs a second."""
    before = engine(plan, seconds=seconds)
    made = measure()
    after = engine(plan, seconds=seconds)
    return made, *(statistics.mean(pair) for pair in zip(before, after))


def models_beside_peers(options, folder):
    rows = []
    url, port = "127.0.0.1:18500", 18500
    for model in options.models:
        onnx = MODELS / f"{model}.onnx"
        plan = folder / f"models/{model}.plan"
        plan.parent.mkdir(exist_ok=True)
        build(onnx, plan)
        workers = (2, max(options.threads // 2, 1))
        servers = {
            "OpenVINO, latency": ("grpc", lambda: (compile_openvino_server(), onnx, port, "latency", options.threads)),
            "OpenVINO, throughput": ("grpc", lambda: (compile_openvino_server(), onnx, port, "throughput", options.threads)),
            "ONNX Runtime, gRPC": ("grpc", lambda: (sys.executable, ROOT / "bench/onnxruntime_server.py", onnx, port, *workers)),
            "ONNX Runtime, Ray Serve": ("http", lambda: (sys.executable, ROOT / "bench/ray_server.py", onnx, port, *workers)),
        }

        def measure(what, url, protocol):
            levels = load(model, url, f"--concurrency-range={options.concurrency}", f"--input-data={INPUTS.get(model, 'random')}", protocol=protocol, seconds=options.seconds)
            rows.append({"what": f"{model}: {what}"} | rates(levels))
            print(rows[-1], file=sys.stderr, flush=True)

        for what, protocol in (("Tenon, gRPC", "grpc"), ("Tenon, HTTP", "http")):
            if not any(text in what for text in options.servers):
                continue

            def measure_tenon(what=what, protocol=protocol):
                with tenon_server(plan.parent) as server:
                    measure(what, f"127.0.0.1:{getattr(server, protocol)}", protocol)

            _, latency, rate = beside_engine(plan, options.seconds, measure_tenon)
            best = max(value for key, value in rows[-1].items() if key.isdigit())
            rows[-1] |= {"engine/s": rate, "% of the engine": 100 * best / rate}
            if "p50 ms of 1" in rows[-1]:
                rows[-1]["over the engine us"] = 1000 * (rows[-1]["p50 ms of 1"] - latency)
        for what, (protocol, command) in servers.items():
            if any(text in what for text in options.servers):
                with peer(*command()):
                    measure(what, url, protocol)
        plan.unlink()
    return rows


def saturation(options, folder):
    """Answers a second of eight clients beside the plan alone, in turns, as machines change their pace: medians of the rounds."""
    rows = []
    for model in options.models:
        plan = folder / f"models/{model}.plan"
        plan.parent.mkdir(exist_ok=True)
        build(MODELS / f"{model}.onnx", plan)
        rates = {"http": [], "grpc": []}
        with tenon_server(plan.parent) as server:
            for _ in range(5):
                for protocol, of_protocol in rates.items():
                    url = f"127.0.0.1:{getattr(server, protocol)}"
                    (level,), _, alone = beside_engine(plan, options.seconds, lambda url=url, protocol=protocol: load(
                        model, url, "--concurrency-range=8", f"--input-data={INPUTS.get(model, 'random')}", protocol=protocol, seconds=options.seconds))
                    of_protocol.append((level["answersPerSecond"], alone))
        for protocol, of_protocol in rates.items():
            rows.append({"what": f"{model}: {protocol}", "engine/s": statistics.median(alone for _, alone in of_protocol),
                         "answers/s": statistics.median(rate for rate, _ in of_protocol),
                         "% of the engine": 100 * statistics.median(rate / alone for rate, alone in of_protocol)})
        plan.unlink()
    return rows


def table(rows):
    columns = list(dict.fromkeys(column for row in rows for column in row))
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(f"{value:.4g}" if isinstance(value, float) else str(value) for value in (row.get(column, "") for column in columns)) + " |")


PARTS = {"overhead": overhead, "large": large, "models": models_beside_peers, "saturation": saturation}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=[*PARTS, "all"])
    parser.add_argument("--models", type=lambda text: text.split(","), default=["resnet50", "bert_base"])
    parser.add_argument("--seconds", type=float, default=1.0, help="of a window; three are measured")
    parser.add_argument("--servers", type=lambda text: text.split(","), default=[""], help="of `models`: those that have one of these in their names")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--concurrency", default="1,8,64,512")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    result = json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
    for name in PARTS if options.part == "all" else [options.part]:
        with tempfile.TemporaryDirectory() as folder:
            rows = PARTS[name](options, pathlib.Path(folder))
        table(rows)
        made = {row["what"] for row in rows}
        result[name] = [row for row in result.get(name, []) if row["what"] not in made] + rows
        if options.json:
            options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
