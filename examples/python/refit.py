"""An engine gets new weights without being built again: a low-rank delta, as LoRA adds one, in and out.

    python refit.py

Needs NumPy and onnx.
"""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

import tenon.tensorrt as trt

RANDOM = np.random.default_rng(0)


def projection(weights):
    """An ONNX model: y = x @ weights, x of shape (n, 64)."""
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "projection.weight"], ["y"])], "projection",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 32])],
        [numpy_helper.from_array(weights, "projection.weight")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def build(model, logger, *flags):
    builder = trt.Builder(logger)
    network = builder.create_network()
    assert trt.OnnxParser(network, logger).parse(model)
    config = builder.create_builder_config()
    for flag in flags:
        config.set_flag(flag)
    return builder.build_serialized_network(network, config)


def run(context, x):
    y = np.empty((2, 32), np.float32)
    assert context.execute_v2([x.ctypes.data, y.ctypes.data])
    return y


def main():
    logger = trt.Logger(trt.Logger.WARNING)
    weights = RANDOM.standard_normal((64, 32), np.float32)
    x = RANDOM.standard_normal((2, 64), np.float32)

    engine = trt.Runtime(logger).deserialize_cuda_engine(build(projection(weights), logger, trt.BuilderFlag.REFIT))
    context = engine.create_execution_context()
    before = run(context, x)

    # By the name of the initializer. Contexts run with the new weights from their next run on.
    delta = RANDOM.standard_normal((64, 4), np.float32) @ RANDOM.standard_normal((4, 32), np.float32)
    refitter = trt.Refitter(engine, logger)
    assert refitter.set_named_weights("projection.weight", weights + delta)
    assert refitter.refit_cuda_engine()
    np.testing.assert_allclose(run(context, x), x @ (weights + delta), rtol=1e-4, atol=1e-4)

    # The weights of before give the results of before, to the bit.
    assert refitter.set_named_weights("projection.weight", weights)
    assert refitter.refit_cuda_engine()
    assert np.array_equal(run(context, x), before)

    # All weights of another model with the same layers.
    trained = RANDOM.standard_normal((64, 32), np.float32)
    parser = trt.OnnxParserRefitter(refitter, logger)
    assert parser.refit_from_bytes(projection(trained)) and refitter.refit_cuda_engine()
    np.testing.assert_allclose(run(context, x), x @ trained, rtol=1e-4, atol=1e-4)

    # A plan without weights, which the model gives where it is loaded.
    small = build(projection(weights), logger, trt.BuilderFlag.STRIP_PLAN)
    engine = trt.Runtime(logger).deserialize_cuda_engine(small)
    refitter = trt.Refitter(engine, logger)
    print(f"a plan of {small.nbytes} bytes needs {refitter.get_missing_weights()}")
    parser = trt.OnnxParserRefitter(refitter, logger)
    assert parser.refit_from_bytes(projection(weights)) and refitter.refit_cuda_engine()
    assert np.array_equal(run(engine.create_execution_context(), x), before)


if __name__ == "__main__":
    main()
