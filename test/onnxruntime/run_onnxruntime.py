"""Tests Tenon's execution provider in ONNX Runtime: models of all kinds, and ONNX's node tests.

    PYTHONPATH=build/release/python python -B test/onnxruntime/run_onnxruntime.py [NAME of a test]

The interpreter needs what requirements.txt of this folder lists; any ONNX Runtime from 1.23 on will do. What models compute is
compared with ONNX Runtime's CPU provider, and node tests with what ONNX expects.
"""
import concurrent.futures
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases

import tenon.onnxruntime

onnxruntime.set_default_logger_severity(4)
FLOAT, INT64, DOUBLE, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.DOUBLE, TensorProto.BOOL
# ONNX expects zeros here of which float32 leaves 1e-4 beside sums of 1e2, or numbers that ONNX Runtime itself does not give.
AS_ONNX_RUNTIME = {"test_dft", "test_dft_axis", "test_dft_inverse", "test_dft_irfft", "test_dft_rfft", "test_stft", "test_stft_with_window",
                   "test_resize_downsample_scales_cubic_align_corners", "test_resize_downsample_scales_linear_align_corners"}
NODES_BY_TENON = 1200  # of about 1,500 node tests; the others have types or operators that Tenon does not take


def plain_options():
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return options


def tenon_session(model, **provider):
    options = plain_options()
    if has_assignment():
        options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    return onnxruntime.InferenceSession(model, tenon.onnxruntime.session_options(options, **provider))


def has_assignment():
    return hasattr(onnxruntime.InferenceSession, "get_provider_graph_assignment_info")


def operators(session):
    """{provider: operators that it took}."""
    made = {}
    for part in session.get_provider_graph_assignment_info():
        made.setdefault(part.ep_name, []).extend(node.op_type for node in part.get_nodes())
    return made


def model(nodes, inputs, outputs, constants=(), opset=17):
    """`inputs` and `outputs` are (name, type, shape), `constants` are arrays by name."""
    values = [[helper.make_tensor_value_info(*one) for one in some] for some in (inputs, outputs)]
    made = helper.make_graph(nodes, "g", *values, [numpy_helper.from_array(array, name) for name, array in dict(constants).items()])
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", opset)], ir_version=8).SerializeToString()


class Models(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(3)

    def normal(self, *shape):
        return self.random.normal(size=shape).astype(np.float32)

    def compare(self, made, *feeds, taken=None, rtol=1e-4, **provider):
        """Each feed in the same session, in its order."""
        session, plain = tenon_session(made, **provider), onnxruntime.InferenceSession(made, plain_options())
        if has_assignment():
            by = operators(session)
            self.assertTrue(by.get("TenonExecutionProvider"), "Tenon takes no node")
            if taken is not None:
                self.assertEqual(sorted(by["TenonExecutionProvider"]), sorted(taken))
        for feed in feeds:
            for ours, theirs in zip(session.run(None, feed), plain.run(None, feed)):
                self.assertEqual((ours.dtype, ours.shape), (theirs.dtype, theirs.shape))
                np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol)
        return session

    def convolution(self, extents=("n", 3, "h", "w")):
        return model([helper.make_node("Conv", ["x", "w"], ["c"], pads=[1] * 4), helper.make_node("Relu", ["c"], ["r"]),
                      helper.make_node("GlobalAveragePool", ["r"], ["p"]), helper.make_node("Flatten", ["p"], ["f"]),
                      helper.make_node("Gemm", ["f", "v"], ["y"])],
                     [("x", FLOAT, extents)], [("y", FLOAT, [extents[0], 5])], {"w": self.normal(4, 3, 3, 3), "v": self.normal(4, 5)})

    def test_convolutions_of_fixed_and_of_varying_shapes(self):
        self.compare(self.convolution([2, 3, 9, 7]), {"x": self.normal(2, 3, 9, 7)}, {"x": self.normal(2, 3, 9, 7)})
        self.compare(self.convolution(), *({"x": self.normal(*shape)} for shape in
                                           ((2, 3, 9, 7), (1, 3, 9, 7), (5, 3, 40, 33), (1, 3, 1, 1), (2, 3, 9, 7))))

    def test_shapes_that_are_computed(self):
        """Attention's way of splitting heads: Shape, Gather, Concat and Reshape."""
        nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Gather", ["s", "zero"], ["n"]),
                 helper.make_node("Gather", ["s", "one"], ["t"]),
                 helper.make_node("Concat", ["n", "t", "heads"], ["to"], axis=0), helper.make_node("Reshape", ["x", "to"], ["r"]),
                 helper.make_node("Transpose", ["r"], ["q"], perm=[0, 2, 1, 3]), helper.make_node("Transpose", ["r"], ["k"], perm=[0, 2, 3, 1]),
                 helper.make_node("MatMul", ["q", "k"], ["m"]), helper.make_node("Softmax", ["m"], ["y"], axis=-1)]
        constants = {"zero": np.array([0]), "one": np.array([1]), "heads": np.array([2, 4])}
        self.compare(model(nodes, [("x", FLOAT, ["n", "t", 8])], [("y", FLOAT, None)], constants),
                     *({"x": self.normal(n, t, 8)} for n, t in ((1, 3), (2, 7), (1, 1))))

    def test_inputs_that_are_shapes(self):
        made = model([helper.make_node("Expand", ["x", "shape"], ["e"]), helper.make_node("Neg", ["e"], ["y"])],
                     [("x", FLOAT, [1, "k"]), ("shape", INT64, ["rank"])], [("y", FLOAT, None)])
        self.compare(made, *({"x": self.normal(1, 3), "shape": np.array(shape)} for shape in ([4, 3], [9, 3], [2, 5, 3], [4, 3])))
        made = model([helper.make_node("Range", ["a", "b", "c"], ["r"]), helper.make_node("Neg", ["r"], ["y"])],
                     [(name, INT64, []) for name in "abc"], [("y", INT64, ["n"])])
        self.compare(made, *({"a": np.array(a), "b": np.array(b), "c": np.array(1)} for a, b in ((0, 5), (2, 30), (-4, 1))))

    def test_sizes_that_data_decide(self):
        made = model([helper.make_node("NonZero", ["x"], ["n"]), helper.make_node("Transpose", ["n"], ["y"])],
                     [("x", FLOAT, ["a", "b"])], [("y", INT64, None)])
        self.compare(made, {"x": (self.normal(5, 4) > 0).astype(np.float32)}, {"x": np.zeros((2, 2), np.float32)})

    def test_nodes_that_tenon_does_not_take_stay(self):
        """Doubles in the middle: two parts, and nothing of one depends on itself through the middle."""
        nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Cast", ["a"], ["d"], to=DOUBLE),
                 helper.make_node("Exp", ["d"], ["e"]), helper.make_node("Cast", ["e"], ["f"], to=FLOAT),
                 helper.make_node("Add", ["f", "a"], ["g"]), helper.make_node("Sigmoid", ["g"], ["y"])]
        self.compare(model(nodes, [("x", FLOAT, ["n", 3])], [("y", FLOAT, ["n", 3])]), {"x": self.normal(2, 3)}, {"x": self.normal(4, 3)},
                     taken=["Relu", "Add", "Sigmoid"])

    def test_bodies_stay_with_onnx_runtime(self):
        branch = [helper.make_graph([helper.make_node(kind, ["r"], [f"o{kind}"])], kind, [], [helper.make_tensor_value_info(f"o{kind}", FLOAT, None)])
                  for kind in ("Neg", "Abs")]
        nodes = [helper.make_node("Tanh", ["x"], ["r"]), helper.make_node("If", ["c"], ["i"], then_branch=branch[0], else_branch=branch[1]),
                 helper.make_node("Sqrt", ["p"], ["s"]), helper.make_node("Add", ["i", "s"], ["y"])]
        made = model(nodes, [("x", FLOAT, ["n"]), ("c", BOOL, []), ("p", FLOAT, ["n"])], [("y", FLOAT, ["n"])])
        self.compare(made, *({"x": self.normal(3), "p": self.normal(3) ** 2, "c": np.array(c)} for c in (True, False)),
                     taken=["Tanh", "Sqrt", "Add"])

    def test_initializers_that_a_caller_may_change(self):
        values = [helper.make_tensor_value_info(name, FLOAT, [3]) for name in ("x", "b", "y")]
        graph = helper.make_graph([helper.make_node("Add", ["x", "b"], ["y"])], "g", values[:2], values[2:],
                                  [numpy_helper.from_array(np.ones(3, np.float32), "b")])
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
        self.compare(made, {"x": self.normal(3)}, {"x": self.normal(3), "b": self.normal(3)})

    def test_attributes_of_all_kinds(self):
        nodes = [helper.make_node("Constant", [], ["k"], value=numpy_helper.from_array(self.normal(1, 2, 4, 4))),
                 helper.make_node("Add", ["x", "k"], ["a"]),
                 helper.make_node("Conv", ["a", "w"], ["c"], auto_pad="SAME_UPPER", strides=[2, 2], group=2),
                 helper.make_node("LeakyRelu", ["c"], ["l"], alpha=0.3), helper.make_node("LSTM", ["s", "W", "R"], ["h", "", ""],
                                                                                          hidden_size=3, activations=["Sigmoid", "Tanh", "Tanh"]),
                 helper.make_node("ReduceSum", ["h"], ["q"], keepdims=0), helper.make_node("Add", ["l", "q"], ["y"])]
        made = model(nodes, [("x", FLOAT, ["n", 2, 4, 4]), ("s", FLOAT, [5, 1, 2])], [("y", FLOAT, None)],
                     {"w": self.normal(2, 1, 3, 3), "W": self.normal(1, 12, 2), "R": self.normal(1, 12, 3)})
        self.compare(made, {"x": self.normal(3, 2, 4, 4), "s": self.normal(5, 1, 2)})

    def test_threads_share_a_session(self):
        made = self.convolution()
        session, plain = tenon_session(made), onnxruntime.InferenceSession(made, plain_options())
        feeds = [{"x": self.normal(1 + i % 4, 3, 8 + i % 3, 8)} for i in range(60)]
        with concurrent.futures.ThreadPoolExecutor(6) as threads:
            for feed, ours in zip(feeds, threads.map(lambda feed: session.run(None, feed)[0], feeds)):
                np.testing.assert_allclose(ours, plain.run(None, feed)[0], rtol=1e-4, atol=1e-4)

    def test_empty_tensors(self):
        self.compare(model([helper.make_node("Relu", ["x"], ["y"])], [("x", FLOAT, ["n", 3])], [("y", FLOAT, ["n", 3])]),
                     {"x": self.normal(2, 3)}, {"x": self.normal(0, 3)}, {"x": self.normal(2, 3)})

    def test_precision(self):
        self.compare(self.convolution(), {"x": self.normal(2, 3, 9, 7)}, precision="bf16", rtol=3e-2)
        with self.assertRaisesRegex(ValueError, "precision: expected one of 'fp32'"):
            tenon.onnxruntime.session_options(precision="fp8")
        with self.assertRaisesRegex(TypeError, "the provider has no option speed"):
            tenon.onnxruntime.session_options(speed="high")
        options = plain_options()
        device = next(device for device in onnxruntime.get_ep_devices() if device.ep_name == tenon.onnxruntime.get_ep_name())
        options.add_provider_for_devices([device], {"precision": "fp8"})
        try:
            session = onnxruntime.InferenceSession(self.convolution(), options)
        except Exception as error:
            self.assertIn("Tenon: precision: expected fp32, tf32, bf16 or fp16, found 'fp8'", str(error))
        else:  # before 1.32 ONNX Runtime prints the error, and goes on without the provider
            self.assertEqual(session.get_providers(), ["CPUExecutionProvider"])

    def test_what_a_run_says_of_wrong_inputs(self):
        session = tenon_session(self.convolution())
        with self.assertRaises(Exception):
            session.run(None, {"x": self.normal(1, 4, 5, 5)})
        np.testing.assert_equal(session.run(None, {"x": np.zeros((1, 3, 4, 4), np.float32)})[0], np.zeros((1, 5)))

    def test_weights_beside_the_model(self):
        import onnx
        made = onnx.load_from_string(self.convolution())
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            onnx.save(made, path, save_as_external_data=True, location="weights", size_threshold=0)
            self.compare(path, {"x": self.normal(2, 3, 9, 7)})

    def test_programs_that_register_the_library_themselves(self):
        program = ("import onnxruntime, sys, tenon.onnxruntime as t\n"
                   "onnxruntime.register_execution_provider_library('mine', t.get_library_path())\n"
                   "print([d.ep_name for d in onnxruntime.get_ep_devices()])\n"
                   "onnxruntime.unregister_execution_provider_library('mine')\n"
                   "print([d.ep_name for d in onnxruntime.get_ep_devices()])\n")
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        first, second = run.stdout.splitlines()
        self.assertIn("TenonExecutionProvider", first)
        self.assertNotIn("TenonExecutionProvider", second)


class Nodes(unittest.TestCase):
    def test_node_tests_of_onnx(self):
        """Each that ONNX Runtime runs alone runs with Tenon, too, and gives what ONNX expects."""
        cases = {case.name: case for case in collect_testcases(None) if case.model and case.data_sets}
        ran = taken = 0
        for name, case in sorted(cases.items()):
            try:
                bytes_of_model = case.model.SerializeToString()
                plain = onnxruntime.InferenceSession(bytes_of_model, plain_options())
                feeds = [dict(zip((value.name for value in plain.get_inputs()), inputs)) for inputs, _ in case.data_sets]
                theirs = [plain.run(None, feed) for feed in feeds]
            except Exception:
                continue  # an operator or type that ONNX Runtime lacks
            ran += 1
            with self.subTest(name):
                session = tenon_session(bytes_of_model)
                if has_assignment():
                    taken += "TenonExecutionProvider" in operators(session)
                expected = theirs if name in AS_ONNX_RUNTIME else [outputs for _, outputs in case.data_sets]
                for feed, wanted in zip(feeds, expected):
                    for ours, value in zip(session.run(None, feed), wanted):
                        self.check(ours, value)
        self.assertGreater(ran, 1400)
        if has_assignment():
            self.assertGreater(taken, NODES_BY_TENON)
        print(f"{ran} node tests, {taken} with nodes that Tenon took")

    def check(self, ours, value):
        if not isinstance(value, np.ndarray):
            return  # a sequence, or nothing: never Tenon's
        self.assertEqual((ours.dtype, ours.shape), (value.dtype, value.shape))
        if value.dtype.kind in "fc":
            half = value.dtype == np.float16
            np.testing.assert_allclose(ours, value, rtol=2e-3 if half else 1e-3, atol=1e-3 if half else 1e-5)
        else:
            np.testing.assert_array_equal(ours, value)


if __name__ == "__main__":
    unittest.main()
