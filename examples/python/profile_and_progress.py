"""TensorRT's introduction: progress of a build, and the time of each layer.

    python profile_and_progress.py ../super_resolution/srcnn.onnx
"""
import sys

import numpy as np
import tenon.tensorrt as trt


class Progress(trt.IProgressMonitor):
    """Prints each phase, indented below its parent, with the steps it has done."""

    def __init__(self):
        super().__init__()
        self.depth, self.steps = {}, {}

    def phase_start(self, phase_name, parent_phase, num_steps):
        self.depth[phase_name] = self.depth.get(parent_phase, -1) + 1
        self.steps[phase_name] = num_steps
        print(f"{'  ' * self.depth[phase_name]}{phase_name} ({num_steps} steps)")

    def step_complete(self, phase_name, step):
        return True  # False would end the build

    def phase_finish(self, phase_name):
        print(f"{'  ' * self.depth.pop(phase_name)}{phase_name}: done")


class Times(trt.IProfiler):
    """Sums the milliseconds of each layer."""

    def __init__(self):
        super().__init__()
        self.total = {}

    def report_layer_time(self, layer_name, ms):
        self.total[layer_name] = self.total.get(layer_name, 0) + ms


def main(model, runs=5):
    logger = trt.Logger(trt.Logger.WARNING)
    builder = trt.Builder(logger)
    network = builder.create_network()
    parser = trt.OnnxParser(network, logger)
    if not parser.parse_from_file(model):
        sys.exit(str(parser.get_error(0)))
    config = builder.create_builder_config()
    config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
    config.progress_monitor = Progress()
    profile = builder.create_optimization_profile()
    profile.set_shape("input", (1, 3, 32, 32), (1, 3, 64, 64), (1, 3, 128, 128))
    profile.set_shape("factor", (1, 1, 96, 96), (1, 1, 192, 192), (1, 1, 384, 384))
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)

    engine = trt.Runtime(logger).deserialize_cuda_engine(plan)
    context = engine.create_execution_context()
    context.profiler = times = Times()
    arrays: dict[str, np.ndarray] = {"input": np.zeros((1, 3, 64, 64), np.float32),
                                     "factor": np.zeros((1, 1, 192, 192), np.float32)}
    for name, array in arrays.items():
        context.set_input_shape(name, array.shape)
    arrays["output"] = np.empty(tuple(context.get_tensor_shape("output")), np.float32)
    for _ in range(runs):
        context.execute_v2([arrays[name].ctypes.data for name in engine])
    whole = sum(times.total.values())
    for layer, milliseconds in sorted(times.total.items(), key=lambda item: -item[1]):
        print(f"{milliseconds / runs:8.3f} ms {100 * milliseconds / whole:5.1f} %  {layer}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
