"""Objects go in any order, nothing leaks, threads run side by side, and Ctrl-C is heard."""
import gc
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest
import tenon.tensorrt as trt
from models import dense, engine_of, model, plan_of, relu, run, shapes_of, value
from onnx import helper

SHAPES = ((1, 4), (2, 4), (3, 4))


def cycle(logger, plan_bytes):
    builder = trt.Builder(logger)
    network = builder.create_network()
    parser = trt.OnnxParser(network, logger)
    assert parser.parse(plan_bytes)
    config = builder.create_builder_config()
    config.add_optimization_profile(shapes_of(builder, x=SHAPES))
    plan = builder.build_serialized_network(network, config)
    context = trt.Runtime(logger).deserialize_cuda_engine(plan).create_execution_context()
    run(context, x=np.ones((2, 4), np.float32))
    return [weakref.ref(o) for o in (builder, network, parser, config, plan, context, context.engine)]


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_cycles_leak_nothing():
    logger, onnx_bytes = trt.Logger(trt.Logger.ERROR), relu()
    references = []
    for i in range(1000):
        if i == 200:
            before = resident()
        references = cycle(logger, onnx_bytes)
    assert [r() for r in references] == [None] * len(references)
    assert resident() - before < 4 << 20, "800 cycles took more than 4 MiB"


def test_children_keep_their_parents():
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network, config = builder.create_network(), builder.create_builder_config()
    profile = builder.create_optimization_profile()
    gone = weakref.ref(builder)
    del builder, logger
    gc.collect()
    assert gone() is not None
    parser = trt.OnnxParser(network, gone().logger)
    assert parser.parse(relu())
    profile.set_shape("x", *SHAPES)
    config.add_optimization_profile(profile)
    del profile
    assert gone().build_serialized_network(network, config) is not None
    del network, config, parser
    gc.collect()
    assert gone() is None


def test_networks_keep_the_weights_of_their_parser():
    weights = np.random.default_rng(0).standard_normal((64, 64), dtype=np.float32)
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network()
    trt.OnnxParser(network, logger).parse(dense(weights))
    gc.collect()
    config = builder.create_builder_config()
    config.add_optimization_profile(shapes_of(builder, x=((1, 64),) * 3))
    plan = builder.build_serialized_network(network, config)
    context = trt.Runtime(logger).deserialize_cuda_engine(plan).create_execution_context()
    del builder, network, plan
    x = np.ones((1, 64), np.float32)
    np.testing.assert_allclose(run(context, x=x)["y"], x @ weights, rtol=1e-4, atol=1e-5)


def test_parsers_keep_their_network():
    logger = trt.Logger(trt.Logger.ERROR)
    parser = trt.OnnxParser(trt.Builder(logger).create_network(), logger)
    gc.collect()
    assert parser.parse(relu())


def big(layers=1, size=512):
    """A chain of products that takes a while."""
    rng = np.random.default_rng(0)
    names = [f"t{i}" for i in range(layers + 1)]
    weights = {f"w{i}": rng.standard_normal((size, size), dtype=np.float32) / size
               for i in range(layers)}
    nodes = [helper.make_node("MatMul", [names[i], f"w{i}"], [names[i + 1]]) for i in range(layers)]
    return model(nodes, [value("t0", [size, size])], [value(names[-1], [size, size])], weights)


def test_threads_run_side_by_side():
    """While one thread is inside a run, another thread of Python goes on."""
    engine = engine_of(big(4))
    arrays = [np.zeros((512, 512), np.float32) for _ in range(2)]
    context = engine.create_execution_context()
    inside = threading.Event()
    overlaps = 0

    def work():
        nonlocal overlaps
        for _ in range(20):
            inside.set()
            assert context.execute_v2([a.ctypes.data for a in arrays])
            inside.clear()

    thread = threading.Thread(target=work)
    old = sys.getswitchinterval()
    sys.setswitchinterval(10)  # the interpreter alone switches to nobody
    try:
        thread.start()
        while thread.is_alive():
            overlaps += inside.is_set()
            time.sleep(0.0001)
    finally:
        sys.setswitchinterval(old)
        thread.join()
    assert overlaps >= 20


def test_two_contexts_run_at_once():
    """Each of two runs waits, in its profiler, until the other run has come as far."""
    engine = engine_of(relu(), x=SHAPES)
    barrier = threading.Barrier(2, timeout=30)

    class Meeting(trt.IProfiler):
        def report_layer_time(self, layer_name, ms):
            barrier.wait()

    def work(results):
        context = engine.create_execution_context()
        context.profiler = Meeting()
        for _ in range(10):
            results.append(run(context, x=np.ones((2, 4), np.float32))["y"].sum())

    results = [], []
    threads = [threading.Thread(target=work, args=(r,)) for r in results]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == ([8.0] * 10, [8.0] * 10)


def child(code):
    """A Python process that runs `code` with this folder's modules, and that Ctrl-C reaches: shells
    keep it from what runs in the background, and that is inherited."""
    folders = [os.path.dirname(__file__), str(pathlib.Path(trt.__file__).parents[2])]
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(folders))
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n" + code
    return subprocess.Popen([sys.executable, "-X", "dev", "-B", "-c", code], text=True,
                            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


INTERRUPTED_BUILD = """
import os, signal, threading, time
import tenon.tensorrt as trt
from test_callbacks import Monitor
from test_lifetime import big
logger = trt.Logger(trt.Logger.INTERNAL_ERROR)
builder = trt.Builder(logger)
network = builder.create_network()
parser = trt.OnnxParser(network, logger)
assert parser.parse(big(5000, 8))
config = builder.create_builder_config()

def build(monitor):
    config.progress_monitor = monitor
    start = time.monotonic()
    try:
        plan = builder.build_serialized_network(network, config)
        return plan, time.monotonic() - start
    except KeyboardInterrupt:
        return KeyboardInterrupt, time.monotonic() - start

def interrupt():
    os.kill(os.getpid(), signal.SIGINT)

class Interrupted(Monitor):
    def phase_start(self, phase_name, parent_phase, num_steps):
        if phase_name == "Choosing kernels":
            threading.Thread(target=interrupt).start()
        super().phase_start(phase_name, parent_phase, num_steps)

everything, monitor = Monitor(), Interrupted()
assert build(everything)[0] is not None
assert build(monitor)[0] is KeyboardInterrupt
assert monitor.steps < 0.9 * everything.steps
# Without a monitor, progress shows only in time: another load of the machine may hide it once.
parts = []
for _ in range(3):
    whole = build(None)[1]
    threading.Timer(0.3 * whole, interrupt).start()
    result, part = build(None)
    assert result is KeyboardInterrupt
    parts.append(part / whole)
assert min(parts) < 0.8, parts
assert isinstance(build(None)[0], trt.IHostMemory)
"""


def test_ctrl_c_stops_builds():
    """With a monitor of the user's and without one; the next build is whole again."""
    process = child(INTERRUPTED_BUILD)
    _, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, "")


def test_ctrl_c_is_raised_after_a_run():
    process = child("""
import numpy as np
from test_lifetime import big, engine_of
engine = engine_of(big(4))
context = engine.create_execution_context()
arrays = [np.zeros((512, 512), np.float32) for _ in range(2)]
try:
    print("running", flush=True)
    while True:
        assert context.execute_v2([a.ctypes.data for a in arrays])
except KeyboardInterrupt:
    print("interrupted")
""")
    assert process.stdout.readline() == "running\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "interrupted\n"), err


@pytest.mark.parametrize("end", ["", "sys.exit(3)", "raise RuntimeError('mine')"])
def test_interpreters_end_with_living_objects(end):
    process = child(f"""
import sys
import tenon.tensorrt as trt
from test_allocators import Memory, two_steps
from test_callbacks import Parts, Profiler, plan_of
class Logger(trt.ILogger):
    def log(self, severity, msg):
        self.last = msg
    def __del__(self):
        pass
parts = Parts(Logger())
plan = parts.build()
runtime = trt.Runtime(parts.logger)
runtime.gpu_allocator = Memory()
engine = runtime.deserialize_cuda_engine(plan_of(two_steps()))
context = engine.create_execution_context()
context.profiler = Profiler()
cycle = [context]
cycle.append(cycle)
sys.modules["keeps"] = parts, context
{end}
""")
    out, err = process.communicate(timeout=60)
    assert process.returncode == {"": 0, "sys.exit(3)": 3}.get(end, 1), err
    assert "Traceback" not in err or "mine" in err
    assert "Fatal" not in err


def test_interpreters_end_while_a_thread_runs():
    process = child("""
import threading, time
import numpy as np
from test_lifetime import big, engine_of
engine = engine_of(big(4))
def work():
    context = engine.create_execution_context()
    arrays = [np.zeros((512, 512), np.float32) for _ in range(2)]
    while True:
        assert context.execute_v2([a.ctypes.data for a in arrays])
threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
""")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert err == ""


def test_interpreters_end_while_python_works_for_the_engine():
    """On a thread of Python, in a logger, and on a stream's own thread, in a plugin."""
    process = child("""
import threading, time
import numpy as np
import tenon.tensorrt as trt
import tenon.tensorrt.plugin as trtp
from tenon import cudart
started = threading.Event(), threading.Event()
class Logger(trt.ILogger):
    def log(self, severity, msg):
        started[0].set()
        while True:
            time.sleep(0.001)
def refuse():
    logger = Logger()
    trt.Runtime(logger).deserialize_cuda_engine(b"rubbish")
threading.Thread(target=refuse, daemon=True).start()

@trtp.register("test::slow")
def describe(x: trtp.TensorDesc) -> trtp.TensorDesc:
    return x.like()
@trtp.impl("test::slow")
def work(x, outputs, stream):
    started[1].set()
    while True:
        time.sleep(0.001)

logger = trt.Logger()
builder = trt.Builder(logger)
network = builder.create_network(0)
y = network.add_plugin(trtp.op.test.slow(network.add_input("x", trt.float32, (2,)))).get_output(0)
y.name = "y"
network.mark_output(y)
engine = builder.build_engine_with_config(network, builder.create_builder_config())
context = engine.create_execution_context()
arrays = np.zeros((2, 2), np.float32)
for name, array in zip("xy", arrays):
    context.set_tensor_address(name, array.ctypes.data)
_, stream = cudart.cudaStreamCreate()
threading.Thread(target=context.execute_async_v3, args=(stream,), daemon=True).start()
assert all(event.wait(20) for event in started)
""")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, ""), err
