"""A model becomes an engine, runs, and is saved: all of Tenon's own API.

    python first_steps.py

Needs NumPy and onnx.
"""
import pathlib
import tempfile

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import tenon


def classifier():
    """An ONNX model: pictures (n, 3, 8, 8) to the probabilities of four classes (n, 4)."""
    random = np.random.default_rng(0)
    weights = random.standard_normal((4, 192), np.float32) / 14
    bias = np.zeros(4, np.float32)
    graph = helper.make_graph(
        [helper.make_node("Flatten", ["images"], ["flat"]),
         helper.make_node("Gemm", ["flat", "weights", "bias"], ["scores"], transB=1),
         helper.make_node("Softmax", ["scores"], ["probabilities"])],
        "classifier", [helper.make_tensor_value_info("images", TensorProto.FLOAT, ["n", 3, 8, 8])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["n", 4])],
        [numpy_helper.from_array(weights, "weights"), numpy_helper.from_array(bias, "bias")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def main(folder):
    # The batch is dynamic: it needs the smallest, usual and largest shape.
    engine = tenon.compile(classifier(), shapes={"images": ((1, 3, 8, 8), (4, 3, 8, 8), (16, 3, 8, 8))})
    print(engine)

    images = np.random.default_rng(1).random((4, 3, 8, 8), np.float32)
    probabilities = engine(images)
    np.testing.assert_allclose(probabilities.sum(1), 1, rtol=1e-5)

    # Names instead of an order; a dictionary gives a dictionary.
    assert np.array_equal(engine(images=images), probabilities)
    assert np.array_equal(engine({"images": images})["probabilities"], probabilities)

    # Memory of one's own for results.
    out = np.empty((4, 4), np.float32)
    engine(images, out=out)
    assert np.array_equal(out, probabilities)

    # A plan is loaded in milliseconds, here or by `tenon run` and C++ programs.
    engine.save(folder / "classifier.plan")
    again = tenon.load(folder / "classifier.plan")
    assert np.array_equal(again(images), probabilities)

    # Mistakes say what was expected.
    try:
        engine(images.astype(np.float64))
    except TypeError as error:
        print(f"As expected, a TypeError: {error}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(pathlib.Path(temporary))
