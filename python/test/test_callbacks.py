"""What users derive from in Python: each is called, and what it raises comes out of the call."""
import ctypes
import threading

import numpy as np
import pytest
import tenon.tensorrt as trt
from models import engine_of, plan_of, relu, run, shapes_of

SHAPES = ((1, 4), (2, 4), (3, 4))


class Parts:
    """A builder with the relu model and a configuration."""

    def __init__(self, logger=None):
        self.logger = logger or trt.Logger(trt.Logger.INTERNAL_ERROR)
        self.builder = trt.Builder(self.logger)
        self.network = self.builder.create_network()
        self.parser = trt.OnnxParser(self.network, self.logger)
        assert self.parser.parse(relu())
        self.config = self.builder.create_builder_config()
        self.config.add_optimization_profile(shapes_of(self.builder, x=SHAPES))

    def build(self):
        return self.builder.build_serialized_network(self.network, self.config)


class Monitor(trt.IProgressMonitor):
    def __init__(self, stop_at=None, error=None):
        trt.IProgressMonitor.__init__(self)
        self.stop_at, self.error, self.phases, self.steps = stop_at, error, {}, 0

    def phase_start(self, phase_name, parent_phase, num_steps):
        self.phases[phase_name] = parent_phase

    def step_complete(self, phase_name, step):
        self.steps += 1
        if self.error and self.steps == 2:
            raise self.error
        return self.steps != self.stop_at

    def phase_finish(self, phase_name):
        self.finished = phase_name


def test_monitors_follow_builds():
    parts, monitor = Parts(), Monitor()
    parts.config.progress_monitor = monitor
    assert parts.build() is not None
    assert monitor.phases["Building the plan"] is None
    assert monitor.phases["Choosing kernels"] == "Building the plan"
    assert monitor.steps > 2 and monitor.finished == "Building the plan"
    assert parts.config.progress_monitor is monitor


def test_monitors_stop_builds():
    parts = Parts()
    parts.config.progress_monitor = Monitor(stop_at=2)
    assert parts.build() is None


def test_what_monitors_raise_comes_out():
    parts, error = Parts(), KeyError("mine")
    parts.config.progress_monitor = Monitor(error=error)
    with pytest.raises(KeyError) as raised:
        parts.build()
    assert raised.value is error
    assert any(entry.name == "step_complete" for entry in raised.traceback)
    parts.config.progress_monitor = None
    assert parts.config.progress_monitor is None
    assert parts.build() is not None


def test_what_starts_of_phases_raise_stops_the_build():
    class Broken(Monitor):
        def phase_start(self, phase_name, parent_phase, num_steps):
            raise KeyError(phase_name)

    parts, monitor = Parts(), Broken()
    parts.config.progress_monitor = monitor
    with pytest.raises(KeyError, match="Building the plan"):
        parts.build()
    assert monitor.steps == 0


def test_threads_build_with_one_configuration():
    parts = Parts()
    monitors = [Monitor() for _ in range(2)]
    parts.config.progress_monitor = monitors[0]
    plans = []
    for _ in range(20):
        threads = [threading.Thread(target=lambda: plans.append(parts.build())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(plans) == 80 and all(plans)
    assert parts.config.progress_monitor is monitors[0]


def test_monitors_can_be_changed_during_builds():
    class Last(Monitor):
        def phase_start(self, *phase):
            parts.config.progress_monitor = None
            super().phase_start(*phase)
    parts = Parts()
    parts.config.progress_monitor = Last()
    assert parts.build()
    assert parts.config.progress_monitor is None


def test_monitors_without_methods_raise():
    parts = Parts()
    parts.config.progress_monitor = trt.IProgressMonitor()
    with pytest.raises(NotImplementedError, match=r"IProgressMonitor does not define phase_start\(\)"):
        parts.build()


class BadLogger(trt.ILogger):
    def log(self, severity, msg):
        raise ValueError(f"{severity}: {msg}")


def test_what_loggers_raise_comes_out():
    with pytest.raises(ValueError, match="not a Tenon plan"):
        trt.Runtime(BadLogger()).deserialize_cuda_engine(b"text")


class Recorder(trt.IErrorRecorder):
    def __init__(self):
        trt.IErrorRecorder.__init__(self)
        self.errors = []

    def num_errors(self):
        return len(self.errors)

    def get_error_code(self, index):
        return self.errors[index][0]

    def get_error_desc(self, index):
        return self.errors[index][1]

    def has_overflowed(self):
        return False

    def clear(self):
        self.errors.clear()

    def report_error(self, code, desc):
        self.errors.append((code, desc))
        return False


def test_recorders_take_errors():
    runtime, recorder = trt.Runtime(trt.Logger(trt.Logger.INTERNAL_ERROR)), Recorder()
    runtime.error_recorder = recorder
    assert runtime.error_recorder is recorder
    assert runtime.deserialize_cuda_engine(b"text") is None
    (code, text), = recorder.errors
    assert code == trt.ErrorCodeTRT.INVALID_ARGUMENT
    assert "not a Tenon plan" in text
    runtime.error_recorder = None
    assert runtime.deserialize_cuda_engine(b"text") is None
    assert recorder.num_errors() == 1


class Profiler(trt.IProfiler):
    def __init__(self):
        trt.IProfiler.__init__(self)
        self.times = []

    def report_layer_time(self, layer_name, ms):
        self.times.append((layer_name, ms))


def ready_context():
    context = engine_of(relu(), x=SHAPES).create_execution_context()
    context.set_input_shape("x", (2, 4))
    x, y = np.full((2, 4), -1, np.float32), np.ones((2, 4), np.float32)
    return context, x, y


def test_profilers_take_times():
    context, x, y = ready_context()
    profiler = Profiler()
    context.profiler = profiler
    assert context.execute_v2([x.ctypes.data, y.ctypes.data])
    (name, ms), = profiler.times
    assert name == "relu" and ms >= 0
    assert context.profiler is profiler


def test_profilers_on_streams_do_not_wait_for_each_other():
    """Changing the profiler waits for a run that calls the one before."""
    context, x, y = ready_context()
    context.set_tensor_address("x", x.ctypes.data)
    context.set_tensor_address("y", y.ctypes.data)
    profilers = [Profiler() for _ in range(100)]
    for profiler in profilers:
        context.profiler = profiler
        assert context.execute_async_v3(0)
    context.profiler = None
    assert all(profiler.times for profiler in profilers)


def test_profilers_print(capfd):
    context, x, y = ready_context()
    context.profiler = trt.Profiler()
    assert context.execute_v2([x.ctypes.data, y.ctypes.data])
    ctypes.CDLL(None).fflush(None)
    assert "relu: " in capfd.readouterr().out


class Writer(trt.IStreamWriter):
    def __init__(self):
        trt.IStreamWriter.__init__(self)
        self.data = b""

    def write(self, data):
        self.data += data
        return len(data)


class Reader(trt.IStreamReader):
    def __init__(self, data):
        trt.IStreamReader.__init__(self)
        self.data = data

    def read(self, size):
        part, self.data = self.data[:size], self.data[size:]
        return part


class ReaderV2(trt.IStreamReaderV2):
    def __init__(self, data):
        trt.IStreamReaderV2.__init__(self)
        self.data, self.position = data, 0

    def read(self, num_bytes, stream):
        part = self.data[self.position:self.position + num_bytes]
        self.position += len(part)
        return part

    def seek(self, offset, where):
        start = {trt.SeekPosition.SET: 0, trt.SeekPosition.CUR: self.position,
                 trt.SeekPosition.END: len(self.data)}[where]
        self.position = start + offset
        return True


def test_plans_go_through_streams():
    parts, writer = Parts(), Writer()
    assert parts.builder.build_serialized_network_to_stream(parts.network, parts.config, writer)
    runtime = trt.Runtime(parts.logger)
    for reader in Reader(writer.data), ReaderV2(writer.data), bytearray(writer.data):
        assert list(runtime.deserialize_cuda_engine(reader)) == ["x", "y"]
    assert runtime.deserialize_cuda_engine(Reader(writer.data[:-1])) is None


def test_results_of_wrong_types_name_the_method():
    class Silent(trt.IStreamWriter):
        def write(self, data):
            return None
    parts = Parts()
    with pytest.raises(TypeError, match=r"^write\(\) gave a value of the wrong type"):
        parts.builder.build_serialized_network_to_stream(parts.network, parts.config, Silent())


def test_what_streams_raise_comes_out():
    class Greedy(Reader):
        def read(self, size):
            return b"x" * (size + 1)

    class Text(Reader):
        def read(self, size):
            return "text"

    runtime = trt.Runtime(trt.Logger(trt.Logger.INTERNAL_ERROR))
    with pytest.raises(ValueError, match="more bytes"):
        runtime.deserialize_cuda_engine(Greedy(b""))
    with pytest.raises(TypeError, match="buffer"):
        runtime.deserialize_cuda_engine(Text(b""))


class Calibrator(trt.IInt8MinMaxCalibrator):
    """Gives NumPy's arrays as batches, and keeps the cache."""

    def __init__(self, batches):
        trt.IInt8MinMaxCalibrator.__init__(self)
        self.batches, self.cache = iter(batches), None

    def get_batch_size(self):
        return 1

    def get_batch(self, names):
        assert names == ["x"]
        self.batch = next(self.batches, None)
        return None if self.batch is None else [self.batch.ctypes.data]

    def read_calibration_cache(self):
        return self.cache

    def write_calibration_cache(self, cache):
        self.cache = cache.tobytes()


class Selector(trt.IAlgorithmSelector):
    """Takes the last kernel of each layer."""

    def __init__(self):
        trt.IAlgorithmSelector.__init__(self)
        self.taken, self.reported = {}, None

    def select_algorithms(self, context, choices):
        self.taken[context.name] = choices[-1].algorithm_variant.tactic
        return [len(choices) - 1]

    def report_algorithms(self, contexts, choices):
        self.reported = {context.name: choice.algorithm_variant.tactic
                         for context, choice in zip(contexts, choices)}


def test_selectors_choose_kernels():
    parts = Parts()
    parts.config.algorithm_selector = selector = Selector()
    assert parts.build() is not None
    assert selector.taken and selector.reported == selector.taken


class Listener(trt.IDebugListener):
    def __init__(self):
        trt.IDebugListener.__init__(self)
        self.heard, self.goes_on = [], True

    def process_debug_tensor(self, addr, location, type, shape, name, stream):
        assert location == trt.TensorLocation.DEVICE and type == trt.float32
        values = (ctypes.c_float * trt.volume(shape)).from_address(addr)
        self.heard.append((name, np.array(values, np.float32).reshape(shape)))
        return self.goes_on


def test_debug_listeners_hear_of_tensors():
    parts = Parts()
    assert parts.network.mark_debug(parts.network.get_output(0))
    engine = trt.Runtime(parts.logger).deserialize_cuda_engine(parts.build())
    assert engine.is_debug_tensor("y")
    context, listener = engine.create_execution_context(), Listener()
    assert context.set_debug_listener(listener)
    x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
    run(context, x=x)
    assert listener.heard == []
    assert context.set_all_tensors_debug_state(True) and context.get_debug_state("y")
    run(context, x=x)
    (name, values), = listener.heard
    assert name == "y"
    np.testing.assert_array_equal(values, np.maximum(x, 0))
    listener.goes_on = False
    y = np.empty_like(x)
    assert not context.execute_v2([x.ctypes.data, y.ctypes.data])
    assert context.set_tensor_debug_state("y", False)
    assert context.execute_v2([x.ctypes.data, y.ctypes.data])


def round_by_int8(calibrator):
    """Four numbers times one: what comes out is what the range of x makes of them."""
    logger = trt.Logger(trt.Logger.INTERNAL_ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network()
    x = network.add_input("x", trt.float32, (1, 1, 2, 2))
    layer = network.add_convolution_nd(x, 1, (1, 1), np.ones(1, np.float32))
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    config = builder.create_builder_config()
    config.set_flag(trt.BuilderFlag.INT8)
    config.int8_calibrator = calibrator
    assert config.int8_calibrator is calibrator
    plan = builder.build_serialized_network(network, config)
    if plan is None:
        return None
    context = trt.Runtime(logger).deserialize_cuda_engine(plan).create_execution_context()
    numbers = np.array([0.3, 1.6, -70, 300], np.float32).reshape(1, 1, 2, 2)
    result = np.empty_like(numbers)
    assert context.execute_v2([numbers.ctypes.data, result.ctypes.data])
    return result.ravel().tolist()


def test_calibrators_find_ranges():
    batches = [np.full((1, 1, 2, 2), value, np.float32) for value in (3, -127, 1)]
    calibrator = Calibrator(batches)
    assert calibrator.get_algorithm() == trt.CalibrationAlgoType.MINMAX_CALIBRATION
    assert round_by_int8(calibrator) == [0, 2, -70, 127]
    lines = calibrator.cache.decode().splitlines()
    assert lines[0].endswith("-MinMaxCalibration") and sorted(lines[1:]) == ["x: 3f800000", "y: 3f800000"]
    again = Calibrator([])
    again.cache = calibrator.cache
    assert round_by_int8(again) == [0, 2, -70, 127]


def test_calibrators_that_raise():
    class Broken(Calibrator):
        def get_batch(self, names):
            if (batch := super().get_batch(names)) is None:
                raise KeyError("picture")
            return batch

    class Unreadable(Calibrator):
        def read_calibration_cache(self):
            raise OSError("cache")

    batches = [np.ones((1, 1, 2, 2), np.float32)]
    for kind, error in ((Broken, KeyError), (Unreadable, OSError)):
        calibrator = kind(batches)
        with pytest.raises(error):
            round_by_int8(calibrator)
        assert calibrator.cache is None
    assert round_by_int8(Calibrator([])) is None
