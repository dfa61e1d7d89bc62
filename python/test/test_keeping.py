"""What objects keep alive: what was set last, and nothing in a circle."""
import gc
import threading
import weakref

import numpy as np
import pytest
import tenon.tensorrt as trt
from models import dense, engine_of, plan_of, relu, run, shapes_of

SHAPES = ((1, 4), (2, 4), (3, 4))


class Logger(trt.ILogger):
    def __init__(self):
        trt.ILogger.__init__(self)

    def log(self, severity, msg):
        pass


class Recorder(trt.IErrorRecorder):
    def __init__(self):
        trt.IErrorRecorder.__init__(self)
        self.texts = []

    def num_errors(self):
        return len(self.texts)

    def clear(self):
        self.texts.clear()

    def report_error(self, code, text):
        self.texts.append(text)
        return True


class Monitor(trt.IProgressMonitor):
    def __init__(self):
        trt.IProgressMonitor.__init__(self)

    def phase_start(self, *_): ...
    def phase_finish(self, *_): ...

    def step_complete(self, *_):
        return True


class Profiler(trt.IProfiler):
    def __init__(self):
        trt.IProfiler.__init__(self)
        self.layers = []

    def report_layer_time(self, layer, ms):
        self.layers.append(layer)


class Allocator(trt.IGpuAllocator):
    """Gives memory of arrays, as device memory is host memory."""

    def __init__(self):
        trt.IGpuAllocator.__init__(self)
        self.arrays = {}

    def allocate(self, size, alignment, flags):
        array = np.empty(size + alignment, np.uint8)
        address = -(-array.ctypes.data // alignment) * alignment
        self.arrays[address] = array
        return address

    def deallocate(self, memory):
        del self.arrays[memory]
        return True


class OutputAllocator(trt.IOutputAllocator):
    def __init__(self):
        trt.IOutputAllocator.__init__(self)

    def reallocate_output_async(self, name, memory, size, alignment, stream):
        return 0


class Listener(trt.IDebugListener):
    def __init__(self):
        trt.IDebugListener.__init__(self)


def parts():
    """An object of each class that others are set on."""
    builder = trt.Builder(trt.Logger(trt.Logger.ERROR))
    engine = engine_of(relu(), x=SHAPES)
    return {"builder": builder, "network": builder.create_network(), "config": builder.create_builder_config(),
            "runtime": trt.Runtime(trt.Logger()), "engine": engine, "context": engine.create_execution_context(),
            "inspector": engine.create_engine_inspector()}


@pytest.mark.parametrize("part, name, made", [
    *((part, "error_recorder", Recorder) for part in ("builder", "network", "runtime", "engine", "context",
                                                      "inspector")),
    ("builder", "gpu_allocator", Allocator), ("runtime", "gpu_allocator", Allocator),
    ("config", "progress_monitor", Monitor), ("context", "profiler", Profiler),
    ("context", "temporary_allocator", Allocator)])
def test_setters_keep_what_was_set_last(part, name, made):
    owner = parts()[part]
    gone = []
    for _ in range(3):
        value = made()
        setattr(owner, name, value)
        gone.append(weakref.ref(value))
        del value
        assert [ref() is None for ref in gone] == [True] * (len(gone) - 1) + [False]
    setattr(owner, name, None)
    assert gone[-1]() is None


def test_methods_keep_what_was_set_last():
    context = parts()["context"]
    for put, made in ((lambda o: context.set_output_allocator("y", o), OutputAllocator),
                      (context.set_debug_listener, Listener)):
        first, second = made(), made()
        gone = weakref.ref(first), weakref.ref(second)
        assert put(first) and put(second)
        del first, second
        assert gone[0]() is None and gone[1]() is not None
        assert put(None) and gone[1]() is None
    first, other = OutputAllocator(), OutputAllocator()
    gone = weakref.ref(first), weakref.ref(other)
    assert context.set_output_allocator("y", first)
    assert not context.set_output_allocator("nothing", other)  # changes nothing
    del first, other
    assert gone[0]() is not None and gone[1]() is None
    assert context.get_output_allocator("y") is gone[0]()


def test_children_keep_what_their_parents_had():
    runtime = trt.Runtime(trt.Logger(trt.Logger.INTERNAL_ERROR))
    runtime.gpu_allocator, runtime.error_recorder = Allocator(), Recorder()
    kept = weakref.ref(runtime.error_recorder)
    engine = runtime.deserialize_cuda_engine(plan_of(relu(), x=SHAPES))
    runtime.gpu_allocator = runtime.error_recorder = None
    context = engine.create_execution_context()
    x = np.float32([[-1, 2, -3, 4]])
    np.testing.assert_array_equal(run(context, x=x)["y"], np.maximum(x, 0))
    assert not context.set_input_shape("x", (9, 9))
    del engine, runtime
    gc.collect()
    assert kept().texts
    del context
    gc.collect()
    assert kept() is None


def test_builds_keep_the_monitor_that_they_began_with():
    started, may_go = threading.Event(), threading.Event()

    class Waiting(Monitor):
        def phase_start(self, *_):
            started.set()
            may_go.wait()

    builder = trt.Builder(trt.Logger(trt.Logger.ERROR))
    network, config = builder.create_network(), builder.create_builder_config()
    assert trt.OnnxParser(network, builder.logger).parse(dense(np.ones((4, 4), np.float32)))
    config.add_optimization_profile(shapes_of(builder, x=SHAPES))
    config.progress_monitor = Waiting()
    gone, plans = weakref.ref(config.progress_monitor), []
    thread = threading.Thread(target=lambda: plans.append(builder.build_serialized_network(network, config)))
    thread.start()
    started.wait()
    config.progress_monitor = None
    assert gone() is not None
    may_go.set()
    thread.join()
    assert plans[0] is not None and gone() is None


def circle(what):
    """A logger that refers to something which refers to the logger; a weak reference to it."""
    logger = Logger()
    builder = trt.Builder(logger)
    network, config = builder.create_network(), builder.create_builder_config()
    parser = trt.OnnxParser(network, logger)
    assert parser.parse(relu())
    profile = shapes_of(builder, x=SHAPES)
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    engine = trt.Runtime(logger).deserialize_cuda_engine(plan)
    context = engine.create_execution_context()
    found = {"builder": builder, "network": network, "config": config, "parser": parser, "profile": profile,
             "engine": engine, "context": context, "inspector": engine.create_engine_inspector(),
             "layer": network.get_layer(0), "tensor": network.get_input(0), "loop": network.add_loop(),
             "conditional": network.add_if_conditional()}
    logger.refers = found[what]
    return weakref.ref(logger)


@pytest.mark.parametrize("what", ["builder", "network", "config", "parser", "profile", "engine", "context",
                                  "inspector", "layer", "tensor", "loop", "conditional"])
def test_circles_through_a_logger_are_collected(what):
    gone = circle(what)
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("part, name, made", [
    ("config", "progress_monitor", Monitor), ("context", "profiler", Profiler), ("network", "error_recorder", Recorder),
    ("runtime", "gpu_allocator", Allocator)])
def test_circles_through_what_was_set_are_collected(part, name, made):
    owner, value = parts()[part], made()
    value.owner = owner
    setattr(owner, name, value)
    gone = weakref.ref(value)
    del owner, value
    gc.collect()
    assert gone() is None


def test_registries_keep_no_builders():
    registry = trt.get_plugin_registry()
    builder = trt.Builder(trt.Logger())
    assert builder.get_plugin_registry() is registry
    gone = weakref.ref(builder)
    del builder
    gc.collect()
    assert gone() is None
