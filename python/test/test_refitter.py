"""New weights for an engine, from NumPy and from ONNX models."""
import pathlib

import numpy as np
import onnx
import pytest
import tenon.tensorrt as trt
from models import dense, model, run, value
from onnx import helper, numpy_helper

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "test/golden"
RANDOM = np.random.default_rng(7)
X = RANDOM.standard_normal((3, 4)).astype(np.float32)
A, B = (RANDOM.standard_normal((4, 5)).astype(np.float32) for _ in range(2))


class Messages(trt.ILogger):
    """Keeps errors and warnings."""

    def __init__(self):
        trt.ILogger.__init__(self)
        self.texts = []

    def log(self, severity, msg):
        if severity <= trt.ILogger.WARNING:
            self.texts.append(msg)


def plan_of(onnx_bytes, *flags, logger=None, profile=None, mark=()):
    logger = logger or trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network()
    parser = trt.OnnxParser(network, logger)
    assert parser.parse(onnx_bytes), parser.get_error(0)
    for name in mark:
        assert network.mark_weights_refittable(name)
    config = builder.create_builder_config()
    for flag in flags:
        config.set_flag(flag)
    if profile:
        shapes = builder.create_optimization_profile()
        for name, shape in profile.items():
            shapes.set_shape(name, shape, shape, shape)
        config.add_optimization_profile(shapes)
    plan = builder.build_serialized_network(network, config)
    assert plan is not None
    return plan


def engine_of(plan, logger=None):
    return trt.Runtime(logger or trt.Logger(trt.Logger.ERROR)).deserialize_cuda_engine(plan)


def refit_from(engine, onnx_bytes, logger=None):
    """The refitter and the parser's refitter, which has taken the model."""
    logger = logger or trt.Logger(trt.Logger.INTERNAL_ERROR)
    refitter = trt.Refitter(engine, logger)
    parser = trt.OnnxParserRefitter(refitter, logger)
    return refitter, parser, parser.refit_from_bytes(onnx_bytes)


def test_deltas_go_in_and_out_exactly():
    """A low-rank delta by name, as LoRA adds one: W + U V, and W again."""
    engine = engine_of(plan_of(dense(A), trt.BuilderFlag.REFIT, profile={"x": X.shape}))
    context = engine.create_execution_context()
    before = run(context, x=X)["y"]
    np.testing.assert_allclose(before, X @ A, atol=1e-5)
    refitter = trt.Refitter(engine, trt.Logger(trt.Logger.ERROR))
    assert refitter.get_all_weights() == ["w"]
    assert refitter.get_weights_prototype("w").size == A.size
    delta = RANDOM.standard_normal((4, 1)).astype(np.float32) @ RANDOM.standard_normal((1, 5)).astype(np.float32)
    for weights in (A + delta, B, A):
        assert refitter.set_named_weights("w", np.ascontiguousarray(weights))
        assert refitter.refit_cuda_engine()
        np.testing.assert_allclose(run(context, x=X)["y"], X @ weights, atol=1e-5)
    assert np.array_equal(run(context, x=X)["y"], before)


def with_other_weights(onnx_bytes, scale):
    """The same model, its floats times a scale; and variances, which must be positive, too."""
    changed = onnx.load_from_string(onnx_bytes)
    for tensor in changed.graph.initializer:
        array = numpy_helper.to_array(tensor)
        if array.dtype == np.float32:
            tensor.CopyFrom(numpy_helper.from_array((array * np.float32(scale)).astype(np.float32), tensor.name))
    return changed.SerializeToString()


@pytest.mark.parametrize("name", ["mini_resnet", "mini_mobilenet", "mini_unet", "mini_vgg", "two_stage_head", "dcn_block_fp16"])
def test_a_whole_model_becomes_another(name):
    """With batch normalisation, Winograd's and packed forms, plugins: as if built from the other model."""
    first = (GOLDEN / name / "model.onnx").read_bytes()
    second = with_other_weights(first, 0.5)
    with np.load(next((GOLDEN / name).glob("case_*.npz"))) as stored:
        inputs = {n.removeprefix("in:"): stored[n] for n in stored.files if n.startswith("in:")}
    profile = {n: a.shape for n, a in inputs.items()}
    expected = [run(engine_of(plan_of(m, profile=profile)).create_execution_context(), **inputs) for m in (first, second)]
    engine = engine_of(plan_of(first, trt.BuilderFlag.REFIT, profile=profile))
    context = engine.create_execution_context()

    def check(which):
        for output, array in run(context, **inputs).items():
            reference = expected[which][output].astype(np.float32)
            tolerance = (1e-2 if "fp16" in name else 1e-4) * max(1, np.abs(reference).max())
            np.testing.assert_allclose(array.astype(np.float32), reference, atol=tolerance)

    check(0)
    original = run(context, **inputs)
    for onnx_bytes, which in ((second, 1), (first, 0)):
        refitter, parser, taken = refit_from(engine, onnx_bytes)
        assert taken, parser.get_error(0).desc()
        assert refitter.refit_cuda_engine()
        check(which)
    for output, array in run(context, **inputs).items():
        assert np.array_equal(array, original[output]), "the first weights give the first results, to the bit"


def test_a_stripped_plan_from_its_model():
    first = (GOLDEN / "mini_resnet" / "model.onnx").read_bytes()
    with np.load(next((GOLDEN / "mini_resnet").glob("case_*.npz"))) as stored:
        inputs = {n.removeprefix("in:"): stored[n] for n in stored.files if n.startswith("in:")}
    profile = {n: a.shape for n, a in inputs.items()}
    whole = plan_of(first, trt.BuilderFlag.REFIT, profile=profile)
    stripped = plan_of(first, trt.BuilderFlag.STRIP_PLAN, trt.BuilderFlag.REFIT_IDENTICAL, profile=profile)
    assert len(memoryview(stripped)) < len(memoryview(whole)) / 2
    messages = Messages()
    engine = engine_of(stripped, messages)
    assert engine.create_execution_context() is None and "stripped of its weights" in messages.texts[-1]
    refitter = trt.Refitter(engine, messages)
    assert refitter.get_missing_weights() and not refitter.refit_cuda_engine()
    refitter, parser, taken = refit_from(engine, first)
    assert taken and not refitter.get_missing_weights() and refitter.refit_cuda_engine()
    expected = run(engine_of(whole).create_execution_context(), **inputs)
    for output, array in run(engine.create_execution_context(), **inputs).items():
        np.testing.assert_allclose(array, expected[output], atol=1e-4 * np.abs(expected[output]).max())
    again = engine_of(engine.serialize())
    assert run(again.create_execution_context(), **inputs).keys() == expected.keys()


def conditional(weights):
    """y = x @ weights where flag, else x @ -weights: each branch has a copy of its own."""
    def branch(name, array):
        node = helper.make_node("MatMul", ["x", name], [f"{name}_out"])
        return helper.make_graph([node], name, [], [value(f"{name}_out", None)], [numpy_helper.from_array(array, name)])

    node = helper.make_node("If", ["flag"], ["y"], then_branch=branch("plus", weights), else_branch=branch("minus", -weights))
    return model([node], [value("x", [3, 4]), value("flag", [], onnx.TensorProto.BOOL)], [value("y", [3, 5])])


def test_weights_of_bodies():
    engine = engine_of(plan_of(conditional(A), trt.BuilderFlag.REFIT))
    refitter, parser, taken = refit_from(engine, conditional(B))
    assert sorted(refitter.get_all_weights()) == ["minus", "plus"]
    assert taken and refitter.refit_cuda_engine()
    context = engine.create_execution_context()
    for flag, sign in ((True, 1), (False, -1)):
        np.testing.assert_allclose(run(context, x=X, flag=np.array(flag))["y"], sign * X @ B, atol=1e-5)


def test_sizes_and_indices_stay():
    """What decides shapes is no weight to refit."""
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["r"]), helper.make_node("Gather", ["r", "rows"], ["g"]),
             helper.make_node("Mul", ["g", "factor"], ["y"])]
    constants = {"shape": np.array([4, 3]), "rows": np.array([2, 0]), "factor": np.float32([2, 3, 4])}
    onnx_bytes = model(nodes, [value("x", [3, 4])], [value("y", [2, 3])], constants)
    engine = engine_of(plan_of(onnx_bytes, trt.BuilderFlag.REFIT))
    refitter = trt.Refitter(engine, trt.Logger(trt.Logger.INTERNAL_ERROR))
    assert refitter.get_all_weights() == ["factor"]
    assert not refitter.set_named_weights("rows", np.array([1, 1]))
    messages = Messages()
    plan_of(onnx_bytes, trt.BuilderFlag.REFIT_INDIVIDUAL, logger=messages, mark=["rows", "factor"])
    assert any("'rows' of type int64 are not refittable" in text for text in messages.texts)


def test_a_model_that_computes_something_else():
    engine = engine_of(plan_of(dense(A), trt.BuilderFlag.REFIT, profile={"x": X.shape}))
    context = engine.create_execution_context()
    before = run(context, x=X)["y"]
    for other, why in ((dense(np.ones((4, 6), np.float32)), "layer w (Constant) of the model differs"), (b"no model", "")):
        refitter, parser, taken = refit_from(engine, other)
        assert not taken and parser.num_errors == 1 and why in parser.get_error(0).desc()
        parser.clear_errors()
        assert parser.num_errors == 0
    first, second = (
        model([helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("LeakyRelu", ["p"], ["y"], name="bend", alpha=alpha)],
              [value("x", [3, 4])], [value("y", [3, 5])], {"w": A}) for alpha in (0.25, 0.5))
    refitter, parser, taken = refit_from(engine_of(plan_of(first, trt.BuilderFlag.REFIT)), second)
    assert not taken and "more than its weights" in parser.get_error(0).desc()
    assert np.array_equal(run(context, x=X)["y"], before)


def test_initializers_apart_from_the_model():
    engine = engine_of(plan_of(dense(A), trt.BuilderFlag.REFIT, profile={"x": X.shape}))
    logger = trt.Logger(trt.Logger.INTERNAL_ERROR)
    refitter = trt.Refitter(engine, logger)
    parser = trt.OnnxParserRefitter(refitter, logger)
    assert not parser.refit_model_proto()
    assert parser.load_model_proto(dense(A))
    assert not parser.load_initializer("nobody", B.ctypes.data, B.nbytes)
    assert parser.load_initializer("w", B.ctypes.data, B.nbytes)
    assert parser.refit_model_proto() and refitter.refit_cuda_engine()
    np.testing.assert_allclose(run(engine.create_execution_context(), x=X)["y"], X @ B, atol=1e-5)


def test_values_that_half_precision_cannot_hold():
    messages = Messages()
    plan = plan_of(dense(A), trt.BuilderFlag.REFIT, trt.BuilderFlag.FP16, logger=messages, profile={"x": X.shape})
    refitter = trt.Refitter(engine_of(plan, messages), messages)
    large = np.full_like(A, 1e6)
    assert refitter.weights_validation
    assert refitter.set_named_weights("w", large) and refitter.refit_cuda_engine()
    assert sum("20 of 20 values are beyond the range of FP16" in text for text in messages.texts) == 1
    refitter.weights_validation = False
    assert refitter.refit_cuda_engine()
    assert sum("beyond the range" in text for text in messages.texts) == 1


def test_an_engine_that_is_not_refittable():
    engine = engine_of(plan_of(dense(A), profile={"x": X.shape}))
    assert not engine.refittable
    with pytest.raises(RuntimeError, match="Refitter was not made"):
        trt.Refitter(engine, trt.Logger(trt.Logger.INTERNAL_ERROR))


# Float64: float32 has no room for one after a billion, and the model takes the billion away again.
BILLION = np.float64(2**30)
FINE = {"w": BILLION + np.array([1, 2.5, -3, 0.25]), "c": np.full(4, BILLION)}
OTHER = {"w": BILLION / 2 + np.array([-0.5, 7, 0.125, 2]), "c": np.full(4, BILLION / 2)}


def in_float64(constants):
    """y = x * w - x * c in float64, as float32."""
    nodes = [helper.make_node("Cast", ["x"], ["x64"], to=onnx.TensorProto.DOUBLE),
             helper.make_node("Mul", ["x64", "w"], ["a"]), helper.make_node("Mul", ["x64", "c"], ["b"]),
             helper.make_node("Sub", ["a", "b"], ["d"]), helper.make_node("Cast", ["d"], ["y"], to=onnx.TensorProto.FLOAT)]
    return model(nodes, [value("x", [3, 4])], [value("y", [3, 4])], constants)


def expected_in_float64(constants, x):
    x = x.astype(np.float64)
    return (x * constants["w"] - x * constants["c"]).astype(np.float32)


@pytest.mark.parametrize("flag", [trt.BuilderFlag.REFIT, trt.BuilderFlag.REFIT_INDIVIDUAL])
def test_weights_of_float64_keep_all_their_digits(flag):
    """By name as int64 with the bits, and from a model."""
    engine = engine_of(plan_of(in_float64(FINE), flag, mark=["w", "c"]))
    context = engine.create_execution_context()
    assert np.array_equal(run(context, x=X)["y"], expected_in_float64(FINE, X))
    refitter = trt.Refitter(engine, trt.Logger(trt.Logger.ERROR))
    assert sorted(refitter.get_all_weights()) == ["c", "w"]
    assert refitter.get_weights_prototype("w").dtype == trt.int64
    for constants in (OTHER, FINE):
        for name, array in constants.items():
            assert refitter.set_named_weights(name, array.view(np.int64))
        assert refitter.refit_cuda_engine()
        assert np.array_equal(run(context, x=X)["y"], expected_in_float64(constants, X))
    refitter, parser, taken = refit_from(engine, in_float64(OTHER))
    assert taken and refitter.refit_cuda_engine()
    assert np.array_equal(run(context, x=X)["y"], expected_in_float64(OTHER, X))


def test_weights_of_float64_are_made_of_float32_too():
    engine = engine_of(plan_of(in_float64(FINE), trt.BuilderFlag.REFIT))
    refitter = trt.Refitter(engine, trt.Logger(trt.Logger.INTERNAL_ERROR))
    coarse = {name: np.float32([0.1, 2, 3, 4]) * scale for name, scale in (("w", 3), ("c", 1))}
    for name, array in coarse.items():
        assert refitter.set_named_weights(name, array)
    assert refitter.refit_cuda_engine()
    found = run(engine.create_execution_context(), x=X)["y"]
    assert np.array_equal(found, expected_in_float64({n: a.astype(np.float64) for n, a in coarse.items()}, X))
    messages = Messages()
    refitter = trt.Refitter(engine, messages)
    assert not refitter.set_named_weights("w", np.ones(4, np.float16))
    assert "expected 4 of int64, which hold the bits of float64, or of float32" in messages.texts[0]


def in_both(w):
    """x times a row of w in float64; z = x @ w in float32, since products have no float64."""
    nodes = [helper.make_node("Cast", ["x"], ["x64"], to=onnx.TensorProto.DOUBLE),
             helper.make_node("Gather", ["w", "row"], ["factor"]), helper.make_node("Mul", ["x64", "factor"], ["a"]),
             helper.make_node("Cast", ["a"], ["whole"], to=onnx.TensorProto.INT64),
             helper.make_node("MatMul", ["x64", "w"], ["p"]), helper.make_node("Cast", ["p"], ["z"], to=onnx.TensorProto.FLOAT)]
    return model(nodes, [value("x", [3, 4])], [value("whole", [3, 4], onnx.TensorProto.INT64), value("z", [3, 4])],
                 {"w": w, "row": np.array(1)})


def test_weights_that_are_float64_and_float32():
    """Layers that have no float64 get the same numbers in float32, whichever way they are given."""
    first, second = (RANDOM.standard_normal((4, 4)) * 1e12 for _ in range(2))
    x = np.round(X * 8)
    engine = engine_of(plan_of(in_both(first), trt.BuilderFlag.REFIT))
    context = engine.create_execution_context()

    def check(w):
        found = run(context, x=x)
        assert np.array_equal(found["whole"], (x.astype(np.float64) * w[1]).astype(np.int64))
        np.testing.assert_allclose(found["z"], x @ w, rtol=1e-4, atol=1e8)

    check(first)
    refitter = trt.Refitter(engine, trt.Logger(trt.Logger.ERROR))
    assert refitter.get_all_weights() == ["w"]
    assert refitter.set_named_weights("w", second.view(np.int64)) and refitter.refit_cuda_engine()
    check(second)
    refitter, parser, taken = refit_from(engine, in_both(first))
    assert taken and refitter.refit_cuda_engine()
    check(first)


def test_a_stripped_plan_of_float64():
    engine = engine_of(plan_of(in_float64(FINE), trt.BuilderFlag.STRIP_PLAN))
    refitter = trt.Refitter(engine, trt.Logger(trt.Logger.ERROR))
    assert sorted(refitter.get_missing_weights()) == ["c", "w"]
    refitter, parser, taken = refit_from(engine, in_float64(FINE))
    assert taken and refitter.refit_cuda_engine()
    assert np.array_equal(run(engine.create_execution_context(), x=X)["y"], expected_in_float64(FINE, X))
