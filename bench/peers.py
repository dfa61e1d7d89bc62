"""One peer as a process: loads a model, then answers "run SECONDS" lines with a JSON list of milliseconds, and "processor SECONDS"
with those that the process's threads computed.

    python peers.py ort|ov|ov_bf16|ncnn MODEL.onnx INPUTS.npz OUTPUTS.npz THREADS [STREAMS]
    python peers.py torch|compile NAME INPUTS.npz OUTPUTS.npz THREADS

NAME is a file that make_models.py writes, of which PyTorch runs the module, or an operator of operators.py.

STREAMS are how many threads run the model side by side, each with so many THREADS of its own.
"""

import concurrent.futures
import json
import pathlib
import subprocess
import sys
import time

import numpy as np


def resident_mb(which="VmRSS"):
    """Now, or with VmHWM the most so far. getrusage() would count what the process was before it ran this script."""
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith(which))
    return int(line.split()[1]) / 1024


def onnx_runtime(model, inputs, threads, streams):
    import onnxruntime

    before, start = resident_mb(), time.perf_counter()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = {i.name for i in session.get_inputs()}
    feed = {name: value for name, value in inputs.items() if name in names}
    outputs = [output.name for output in session.get_outputs()]
    loaded = time.perf_counter() - start
    return [lambda: session.run(None, feed)] * streams, lambda result: dict(zip(outputs, result)), loaded, before


def openvino(model, inputs, threads, streams, precision="f32"):
    import openvino

    before, start = resident_mb(), time.perf_counter()
    core = openvino.Core()
    network = core.read_model(model)
    # As engines with plans do, it may use that the shapes are known.
    network.reshape({port: list(inputs[port.get_any_name()].shape) for port in network.inputs})
    compiled = core.compile_model(
        network,
        "CPU",
        {
            "PERFORMANCE_HINT": "LATENCY" if streams == 1 else "THROUGHPUT",
            "INFERENCE_NUM_THREADS": threads * streams,
            "INFERENCE_PRECISION_HINT": precision,
            "NUM_STREAMS": str(streams),
        },
    )
    requests = [compiled.create_infer_request() for _ in range(streams)]
    names = {i.get_any_name() for i in compiled.inputs}
    feed = {name: value for name, value in inputs.items() if name in names}
    loaded = time.perf_counter() - start

    def run_of(request):
        def run():
            request.infer(feed, share_inputs=True)
            return request

        return run

    def named(result):
        return {name: result.get_tensor(port).data for port in compiled.outputs for name in port.get_names()}

    return [run_of(request) for request in requests], named, loaded, before


def openvino_bf16(model, inputs, threads, streams):
    return openvino(model, inputs, threads, streams, "bf16")


def ncnn_files(model, inputs):
    """ncnn's form of the model, made beside it by pnnx when it is not there."""
    stem = pathlib.Path(model).with_suffix("")
    param, weights = stem.with_suffix(".ncnn.param"), stem.with_suffix(".ncnn.bin")
    if not param.exists():
        import pnnx

        shapes = ",".join(str(list(value.shape)).replace(" ", "") for value in inputs.values())
        subprocess.run(
            [pnnx.EXEC_PATH, pathlib.Path(model).name, f"inputshape={shapes}", "fp16=0"],
            cwd=stem.parent,
            check=True,
            capture_output=True,
        )
    return str(param), str(weights)


def ncnn(model, inputs, threads, streams):
    import ncnn as library

    param, weights = ncnn_files(model, inputs)
    before, start = resident_mb(), time.perf_counter()
    net = library.Net()
    net.opt.num_threads = threads
    for option in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_storage"):
        setattr(net.opt, option, False)
    if net.load_param(param) != 0 or net.load_model(weights) != 0:
        raise RuntimeError(f"ncnn cannot load {param}")
    values = [library.Mat(value[0]).clone() for value in inputs.values()]
    names, output = list(net.input_names()), net.output_names()[0]
    loaded = time.perf_counter() - start

    def run():
        extractor = net.create_extractor()
        for name, value in zip(names, values):
            extractor.input(name, value)
        return np.array(extractor.extract(output)[1])[None]

    return [run] * streams, lambda result: {"output": result}, loaded, before


def torch_module(model, inputs, threads, streams, compiles=False):
    """The module that a file of make_models.py is exported from, or PyTorch's form of an operator of operators.py."""
    before = resident_mb()
    import torch

    start = time.perf_counter()
    torch.set_num_threads(threads)
    feed = {key: torch.from_numpy(value) for key, value in inputs.items()}
    if model.endswith(".onnx"):
        import make_models

        source = make_models.source_of(pathlib.Path(model).stem.removesuffix("_dynamic"))
        function, names = source.module, source.output_names
        # The detectors of torchvision take lists of pictures.
        values = [feed[key][None].unbind() if isinstance(like, list) else feed[key]
                  for key, like in zip(source.input_names, source.inputs)]
    else:
        import operators

        made = operators.operator(model)
        function, names, values = (lambda *values: made.torch(**dict(zip(feed, values)))), made.plugin.outputs, feed.values()
    if compiles:
        function = torch.compile(function)
    loaded = time.perf_counter() - start

    def run():
        with torch.inference_mode():
            return function(*values)

    def named(result):
        if isinstance(result, list):  # of detections
            return {key: value.numpy() for key, value in result[0].items()}
        results = result if isinstance(result, tuple) else (result,)
        return {key: value.numpy() for key, value in zip(names, results)}

    return [run] * streams, named, loaded, before


def torch_compiled(model, inputs, threads, streams):
    return torch_module(model, inputs, threads, streams, compiles=True)


PEERS = {"ort": onnx_runtime, "ov": openvino, "ov_bf16": openvino_bf16, "ncnn": ncnn, "torch": torch_module,
         "compile": torch_compiled}


CLOCKS = {"run": time.perf_counter, "processor": time.process_time}


def measure(run, clock, seconds):
    """Milliseconds of each run, in so many seconds."""
    times, end = [], time.perf_counter() + seconds
    while len(times) < 2 or time.perf_counter() < end:
        start = clock()
        run()
        times.append(round((clock() - start) * 1e3, 4))
    return times


def main():
    peer, model, inputs, outputs, threads, *streams = sys.argv[1:7]
    with np.load(inputs) as stored:
        arrays = {name: stored[name] for name in stored.files}
    runs, named, loaded, before = PEERS[peer](model, arrays, int(threads), int(*streams or [1]))
    for run in runs:
        for _ in range(4):
            result = run()
    np.savez(outputs, **named(result))
    facts = {"load_s": round(loaded, 4), "peak_mb": round(resident_mb("VmHWM") - before, 1)}
    print(json.dumps(facts), flush=True)
    with concurrent.futures.ThreadPoolExecutor(len(runs)) as side_by_side:
        for line in sys.stdin:
            command, seconds = line.split()
            if command not in CLOCKS:
                break
            times = side_by_side.map(measure, runs, [CLOCKS[command]] * len(runs), [float(seconds)] * len(runs))
            print(json.dumps([one for stream in times for one in stream]), flush=True)


if __name__ == "__main__":
    main()
