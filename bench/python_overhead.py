"""Prints what a call of tenon.Engine costs beyond the engine's own time.

    PYTHONPATH=… python bench/python_overhead.py

The engine's own time is ExecutionContext.execute_v2 on the same memory. Both are measured in turn,
in batches; medians are printed, in microseconds. Needs NumPy and onnx, and PyTorch for its rows.
"""
import statistics
import time

import numpy as np
from onnx import TensorProto, helper

import tenon

BATCH, ROUNDS = 200, 60


def add_all(count):
    """y = x0 + x1 + …, of four elements each."""
    names = [f"x{i}" for i in range(count)]
    graph = helper.make_graph(
        [helper.make_node("Sum", names, ["y"])], "overhead",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in names],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return tenon.compile(model, shapes={name: ((1,), (4,), (8,)) for name in names})


def execute_v2(engine, shapes):
    """A function that runs the engine through TensorRT's API."""
    context = engine.cuda_engine.create_execution_context()
    arrays = [np.ones(shape, np.float32) for shape in shapes] + [np.empty(shapes[0], np.float32)]
    for tensor, shape in zip(engine.inputs, shapes):
        context.set_input_shape(tensor.name, shape)
    pointers = [array.ctypes.data for array in arrays]
    return lambda arrays=arrays: context.execute_v2(pointers)


def microseconds(run):
    """Of one call, as an average over a batch."""
    start = time.perf_counter()
    for _ in range(BATCH):
        run()
    return (time.perf_counter() - start) / BATCH * 1e6


def overhead(run, own):
    """(median of `own`, median of what `run` takes longer)."""
    microseconds(run), microseconds(own)
    times = [(microseconds(own), microseconds(run)) for _ in range(ROUNDS)]
    return (statistics.median(o for o, _ in times), statistics.median(r - o for o, r in times))


def rows():
    """(what, the function to measure, the engine's own)."""
    frameworks = [("NumPy", lambda: np.ones(4, np.float32))]
    try:
        import torch
        frameworks.append(("PyTorch", lambda: torch.ones(4)))
    except ImportError:
        pass
    for count in (1, 2, 8):
        engine = add_all(count)
        own = execute_v2(engine, [(4,)] * count)
        for name, make in frameworks:
            arrays = [make() for _ in range(count)]
            out = make()
            yield f"{name}, {count} in", lambda: engine(*arrays), own
            yield f"{name}, {count} in, out=", lambda: engine(*arrays, out=out), own


def main():
    print(f"{'call':24} {'engine':>8} {'beyond':>8}   medians, microseconds")
    for what, run, own in rows():
        print("{:24} {:8.1f} {:8.1f}".format(what, *overhead(run, own)))


if __name__ == "__main__":
    main()
