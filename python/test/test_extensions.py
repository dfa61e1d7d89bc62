"""Threads, limits and descriptions: what Tenon offers beyond TensorRT."""
import json

import numpy as np
import pytest
import tenon
import tenon.tensorrt as trt
from models import dense, model, relu, shapes_of, value
from onnx import helper


def test_threads():
    before = tenon.threads()
    try:
        tenon.set_threads(1)
        assert tenon.threads() == 1
    finally:
        tenon.set_threads(before)
    assert tenon.threads() == before


def test_limits_of_models():
    logger = trt.Logger(trt.Logger.INTERNAL_ERROR)
    fill = model([helper.make_node("ConstantOfShape", ["s"], ["c"]),
                  helper.make_node("Add", ["x", "c"], ["y"])],
                 [value("x", [100, 100])], [value("y", [100, 100])],
                 {"s": np.array([100, 100], np.int64)})

    def parser():
        return trt.OnnxParser(trt.Builder(logger).create_network(), logger)

    default, default_nodes = tenon.import_limit(), tenon.import_node_limit()
    try:
        tenon.set_import_limit(1000)
        assert tenon.import_limit() == 1000
        assert not parser().parse(fill)
        tenon.set_import_limit(0)
        tenon.set_import_node_limit(1)
        assert not parser().parse(fill)
    finally:
        tenon.set_import_limit(0)
        tenon.set_import_node_limit(0)
    assert (tenon.import_limit(), tenon.import_node_limit()) == (default, default_nodes)
    assert parser().parse(fill)


def test_descriptions():
    assert json.loads(tenon.describe_machine())
    operators = json.loads(tenon.describe_operators())["operators"]
    assert "Conv" in [operator["name"] for operator in operators]


def test_dumps_of_networks():
    builder = trt.Builder(trt.Logger())
    network, config = builder.create_network(), builder.create_builder_config()
    parser = trt.OnnxParser(network, builder.logger)
    assert parser.parse(relu())
    config.add_optimization_profile(shapes_of(builder, x=((1, 4), (2, 4), (3, 4))))
    for stage in "import", "optimize", "plan":
        assert "relu" in tenon.dump(network, config, stage)
        assert json.loads(tenon.dump(network, config, stage, json=True))
    with pytest.raises(ValueError, match="'nothing'"):
        tenon.dump(network, config, "nothing")


def test_targets_and_portable_plans():
    builder = trt.Builder(trt.Logger(trt.Logger.INTERNAL_ERROR))
    network, config = builder.create_network(), builder.create_builder_config()
    x = network.add_input("x", trt.float32, (4,))
    network.mark_output(network.add_activation(x, trt.ActivationType.RELU).get_output(0))
    assert not tenon.set_target(config, "tpu")
    assert tenon.set_target(config, "cpu") and tenon.set_target(config, "")
    usual = builder.build_serialized_network(network, config)
    tenon.set_portable(config, True)
    portable = builder.build_serialized_network(network, config)
    assert portable.nbytes > usual.nbytes
    assert trt.Runtime(builder.logger).deserialize_cuda_engine(portable) is not None


def test_deterministic_builds():
    layer = dense(np.ones((64, 64), np.float32))
    one, other = (tenon.compile(layer, shapes={"x": (8, 64)}, deterministic=True) for _ in range(2))
    assert bytes(one.serialize()) == bytes(other.serialize())


def test_limits_of_packed_weights():
    """Winograd's weights take up to four times as much as those of a convolution of 3x3."""
    weights = np.random.default_rng(0).standard_normal((256, 256, 3, 3), np.float32)
    convolution = model([helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])],
                        [value("x", [1, 256, 28, 28])], [value("y", [1, 256, 28, 28])],
                        {"w": weights})
    # Without timing, the kernel is Winograd's where its weights may take so much.
    usual = tenon.compile(convolution, target="cpu", optimization_level=0).serialize()
    limited = tenon.compile(convolution, target="cpu", optimization_level=0, weight_growth="1MiB").serialize()
    assert len(limited) < 1.5 * weights.nbytes < len(usual)

    builder = trt.Builder(trt.Logger(trt.Logger.INTERNAL_ERROR))
    network, config = builder.create_network(), builder.create_builder_config()
    assert trt.OnnxParser(network, builder.logger).parse(convolution)
    config.builder_optimization_level = 0
    assert tenon.set_target(config, "cpu")
    sizes = []
    for limits in {"layer": 0}, {"plan": 0}, {}:
        assert tenon.set_weight_growth_limits(config, **limits)
        sizes.append(builder.build_serialized_network(network, config).nbytes)
    assert sizes[0] == sizes[1] < 1.5 * weights.nbytes < sizes[2]
