"""OnnxParser: models, errors, and which parts of a model are supported."""
import threading

import numpy as np
import pytest
import tenon.tensorrt as trt
from models import dense, engine_of, model, relu, run, value
from onnx import helper


@pytest.fixture
def parser():
    logger = trt.Logger(trt.Logger.INTERNAL_ERROR)
    return trt.OnnxParser(trt.Builder(logger).create_network(), logger)


def unknown(nodes=1):
    first = [helper.make_node("NoSuchOperator", ["x"], ["a" if i == 0 else f"a{i}"], name="first", domain="mine")
             for i in range(nodes)]
    graph = helper.make_graph([*first, helper.make_node("Relu", ["a"], ["y"])], "test",
                              [value("x", [4])], [value("y", [4])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17),
                                                   helper.make_opsetid("mine", 1)],
                             ir_version=8).SerializeToString()


@pytest.mark.parametrize("form", [bytes, bytearray, memoryview, lambda b: np.frombuffer(b, "u1")])
def test_models_come_as_any_buffer(parser, form):
    assert parser.parse(form(relu()))
    assert parser.num_errors == 0
    assert parser.get_error(0) is None


def test_models_come_from_files(parser, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(relu())
    assert parser.parse_from_file(str(path))
    assert not parser.parse_from_file(str(tmp_path / "nothing.onnx"))
    assert "nothing.onnx" in parser.get_error(0).desc()


def test_errors_say_where(parser):
    assert not parser.parse(unknown())
    error = parser.get_error(0)
    assert error.code() == trt.ErrorCode.UNSUPPORTED_NODE
    assert (error.node(), error.node_name()) == (0, "first")
    assert error.node_operator() == "mine::NoSuchOperator"
    assert "NoSuchOperator" in error.desc()
    assert "UNSUPPORTED_NODE" in str(error) and "first" in str(error)
    assert error.local_function_stack() == []
    assert parser.get_error(parser.num_errors) is None
    parser.clear_errors()
    assert parser.num_errors == 0
    assert error.node_name() == "first"


def test_threads_wait_for_each_other(parser):
    bad = unknown(nodes=200)

    def work(number):
        for _ in range(3):
            assert not parser.parse(bad)
            parser.get_error(parser.num_errors - 1)
            parser.clear_errors()
            finished[number] += 1

    finished = [0] * 4
    threads = [threading.Thread(target=work, args=(n,)) for n in range(len(finished))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert finished == [3] * len(finished)


def test_loggers_may_use_the_parser():
    class Curious(trt.ILogger):
        def __init__(self):
            trt.ILogger.__init__(self)
            self.parser, self.counts = None, []

        def log(self, severity, msg):
            if self.parser and severity <= trt.ILogger.ERROR:
                self.counts.append(self.parser.num_errors)

    logger = Curious()
    network = trt.Builder(logger).create_network()
    logger.parser = trt.OnnxParser(network, logger)
    assert not logger.parser.parse(unknown())
    assert len(logger.counts) == 1
    logger.parser = None  # what refers to each other


def test_wrong_types_raise(parser):
    for wrong in "text", None, 3:
        with pytest.raises(TypeError, match="model"):
            parser.parse(wrong)
    with pytest.raises(TypeError, match="network"):
        trt.OnnxParser(None, trt.Logger())


def test_parts_of_models(parser):
    assert parser.supports_model(relu()) == (True, [([0], True)])
    assert not parser.supports_model_v2(unknown())
    parts = [(parser.get_subgraph_nodes(i), parser.is_subgraph_supported(i))
             for i in range(parser.num_subgraphs)]
    assert parts == [([1], True)]
    assert parser.get_subgraph_nodes(9) == []
    assert parser.supports_operator("Conv") and not parser.supports_operator("NoSuchOperator")


def test_flags(parser):
    flag = trt.OnnxParserFlag.ENABLE_PLUGIN_OVERRIDE
    parser.set_flag(flag)
    assert parser.get_flag(flag) and parser.flags & 1 << int(flag)
    parser.clear_flag(flag)
    assert not parser.get_flag(flag)


def test_weights_of_the_program():
    """load_initializer() puts the program's weights in place of the model's."""
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network()
    parser = trt.OnnxParser(network, logger)
    weights = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert parser.load_model_proto(dense(np.zeros((2, 3), np.float32)))
    assert parser.load_initializer("w", weights.ctypes.data, weights.nbytes)
    assert not parser.load_initializer("nothing", weights.ctypes.data, weights.nbytes)
    assert parser.parse_model_proto()
    profile, config = builder.create_optimization_profile(), builder.create_builder_config()
    profile.set_shape("x", (1, 2), (1, 2), (1, 2))
    config.add_optimization_profile(profile)
    engine = builder.build_engine_with_config(network, config)
    x = np.array([[1, 2]], np.float32)
    np.testing.assert_allclose(run(engine.create_execution_context(), x=x)["y"], x @ weights)


def test_layers_are_found_by_node(parser):
    parser.parse(relu())
    tensor = parser.get_layer_output_tensor("relu", 0)
    assert tensor.name == "y"
    assert parser.get_layer_output_tensor("nothing", 0) is None


def test_models_with_several_outputs():
    nodes = [helper.make_node("Abs", ["x"], ["a"]), helper.make_node("Neg", ["x"], ["b"])]
    engine = engine_of(model(nodes, [value("x", [3])], [value("a", [3]), value("b", [3])]))
    x = np.array([-1, 0, 2], np.float32)
    outputs = run(engine.create_execution_context(), x=x)
    np.testing.assert_array_equal(outputs["a"], np.abs(x))
    np.testing.assert_array_equal(outputs["b"], -x)
