"""NVIDIA's Python bindings of TensorRT 10.16, as they come from PyPI, run over Tenon's libraries.

They know nothing of Tenon, so every call is a call of TensorRT's binary interface: virtual functions of all classes,
callbacks into Python, ownership. Needs the wheel tensorrt-cu13-bindings, NumPy and onnx, and LD_LIBRARY_PATH.
"""
import ctypes
import pathlib
import unittest

import numpy as np
import tensorrt_bindings as trt
from onnx import TensorProto, helper

SRCNN = pathlib.Path(__file__).resolve().parents[2] / "examples/super_resolution/srcnn.onnx"


class Logger(trt.ILogger):
    def __init__(self):
        super().__init__()
        self.errors = []

    def log(self, severity, msg):
        if severity <= trt.ILogger.ERROR:
            self.errors.append(msg)


class Steps(trt.IProgressMonitor):
    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def phase_start(self, phase_name, parent_phase, num_steps):
        self.open.append(phase_name)
        self.seen.append(phase_name)

    def phase_finish(self, phase_name):
        self.open.remove(phase_name)

    def step_complete(self, phase_name, step):
        return True


class Allocator(trt.IOutputAllocator):
    def __init__(self):
        super().__init__()
        self.buffer, self.shape = np.empty(0, np.uint8), None

    def reallocate_output_async(self, tensor_name, memory, size, alignment, stream):
        self.buffer = np.empty(max(size, 1), np.uint8)
        return self.buffer.ctypes.data

    reallocate_output = reallocate_output_async

    def notify_shape(self, tensor_name, shape):
        self.shape = tuple(shape)


class Times(trt.IProfiler):
    def __init__(self):
        super().__init__()
        self.layers = []

    def report_layer_time(self, layer_name, ms):
        self.layers.append((layer_name, ms))


def run(engine, **arrays):
    """The outputs of one run on a context's own thread."""
    context = engine.create_execution_context()
    for name, array in arrays.items():
        assert context.set_input_shape(name, array.shape)
    outputs = {}
    for i in range(engine.num_io_tensors):
        name = engine.get_tensor_name(i)
        if engine.get_tensor_mode(name) == trt.TensorIOMode.OUTPUT:
            outputs[name] = np.zeros(tuple(context.get_tensor_shape(name)), trt.nptype(engine.get_tensor_dtype(name)))
    pointers = {name: array.ctypes.data for name, array in (arrays | outputs).items()}
    assert context.execute_v2([pointers[engine.get_tensor_name(i)] for i in range(engine.num_io_tensors)])
    return outputs


class Bindings(unittest.TestCase):
    def setUp(self):
        self.logger = Logger()
        self.builder = trt.Builder(self.logger)
        self.network = self.builder.create_network(0)
        self.config = self.builder.create_builder_config()

    def engine(self):
        plan = self.builder.build_serialized_network(self.network, self.config)
        self.assertIsNotNone(plan, self.logger.errors)
        self.runtime = trt.Runtime(self.logger)
        return self.runtime.deserialize_cuda_engine(plan)

    def test_network_by_hand(self):
        rng = np.random.default_rng(0)
        weights, bias = rng.normal(size=(4, 3)).astype("f"), rng.normal(size=(1, 4)).astype("f")
        x = self.network.add_input("x", trt.float32, (2, 3))
        w = self.network.add_constant((4, 3), weights).get_output(0)
        product = self.network.add_matrix_multiply(x, trt.MatrixOperation.NONE, w, trt.MatrixOperation.TRANSPOSE)
        b = self.network.add_constant((1, 4), bias).get_output(0)
        total = self.network.add_elementwise(product.get_output(0), b, trt.ElementWiseOperation.SUM)
        y = self.network.add_activation(total.get_output(0), trt.ActivationType.RELU)
        y.get_output(0).name = "y"
        self.network.mark_output(y.get_output(0))
        data = rng.normal(size=(2, 3)).astype("f")
        np.testing.assert_allclose(run(self.engine(), x=data)["y"], np.maximum(data @ weights.T + bias, 0), rtol=1e-5,
                                   atol=1e-6)

    def test_model_with_profile_plugin_monitor_and_profiler(self):
        parser = trt.OnnxParser(self.network, self.logger)
        self.assertTrue(parser.parse_from_file(str(SRCNN)), self.logger.errors)
        self.assertIn(trt.LayerType.PLUGIN_V2, [self.network.get_layer(i).type for i in range(self.network.num_layers)])
        profile = self.builder.create_optimization_profile()
        profile.set_shape("input", (1, 3, 8, 8), (1, 3, 16, 16), (1, 3, 32, 32))
        profile.set_shape("factor", (1, 1, 8, 8), (1, 1, 32, 32), (1, 1, 64, 64))
        self.config.add_optimization_profile(profile)
        self.config.progress_monitor = steps = Steps()
        engine = self.engine()
        self.assertTrue(steps.seen)
        self.assertEqual(steps.open, [])

        context = engine.create_execution_context()
        context.profiler = times = Times()
        x, factor = np.full((1, 3, 8, 8), 0.5, "f"), np.zeros((1, 1, 24, 24), "f")
        y = np.zeros((1, 3, 24, 24), "f")
        self.assertTrue(context.set_input_shape("input", x.shape))
        self.assertTrue(context.set_input_shape("factor", factor.shape))
        self.assertTrue(context.execute_v2([x.ctypes.data, factor.ctypes.data, y.ctypes.data]))
        self.assertGreater(len(times.layers), 2)
        self.assertLess(abs(float(y.mean()) - 0.5), 0.1)  # a grey picture stays grey

        self.assertFalse(context.set_input_shape("input", (1, 3, 99, 8)))
        self.assertIn("99", self.logger.errors[-1])

    def test_sizes_that_only_running_tells(self):
        x = self.network.add_input("x", trt.float32, (2, 3))
        layer = self.network.add_non_zero(x)
        layer.get_output(0).name = "y"
        self.network.mark_output(layer.get_output(0))
        engine = self.engine()
        context = engine.create_execution_context()
        data = np.float32([[0, 1, 0], [2, 0, 3]])
        allocator = Allocator()
        context.set_tensor_address("x", data.ctypes.data)
        self.assertTrue(context.set_output_allocator("y", allocator))
        self.assertTrue(context.execute_async_v3(0))
        self.assertEqual(ctypes.CDLL("libcudart.so.13").cudaDeviceSynchronize(), 0)
        self.assertEqual(allocator.shape, (2, 3))
        indices = allocator.buffer.view(np.int64 if engine.get_tensor_dtype("y") == trt.int64 else np.int32)
        np.testing.assert_array_equal(indices[:6].reshape(2, 3), np.stack(np.nonzero(data)))

    def test_errors_name_the_node(self):
        model = helper.make_model(helper.make_graph(
            [helper.make_node("NoSuchOperator", ["x"], ["y"], name="odd")], "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])]), opset_imports=[helper.make_opsetid("", 17)])
        parser = trt.OnnxParser(self.network, self.logger)
        self.assertFalse(parser.parse(model.SerializeToString()))
        self.assertEqual(parser.get_error(0).node_name(), "odd")
        self.assertIn("NoSuchOperator", parser.get_error(0).desc())

    def test_registry(self):
        creator = trt.get_plugin_registry().get_plugin_creator("DynamicTRTResize", "1", "")
        fields = trt.PluginFieldCollection([trt.PluginField("align_corners", np.int32([1]), trt.PluginFieldType.INT32)])
        plugin = creator.create_plugin("resize", fields)
        self.assertEqual(plugin.plugin_type, "DynamicTRTResize")


if __name__ == "__main__":
    unittest.main()
