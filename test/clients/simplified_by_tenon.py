"""A pytest plugin: what `onnxslim.slim` and `onnxsim.simplify` are asked for is done by tenon.onnx, whatever of both is installed.

A test that has asked has the property "simplified": the others are of the inside of these packages.
"""
import sys

import onnx
import pytest

import tenon.onnx as edit

# Passes of onnxslim that a test leaves out, and ours.
SKIPS = {"constant_folding": "fold", "graph_fusion": "weights", "subexpression_elimination": "share", "weight_tying": "share"}
asked = []  # by the test that runs


def loaded(model):
    if isinstance(model, edit.Model):
        return model
    return edit.parse(model.SerializeToString()) if isinstance(model, onnx.ModelProto) else edit.load(str(model))


def simplified(model, skips=()):
    """`tenon onnx resolve-if fold clean`, less what is to be skipped."""
    edit.resolve_conditions(model)
    for name, change in (("fold", edit.fold_constants), ("weights", edit.fold_into_weights), ("effect", edit.remove_without_effect),
                         ("share", edit.share_equal)):
        if name not in skips:
            change(model)
    edit.remove_unused(model)
    return onnx.load_from_string(model.serialize())


def slim(model, *names, **options):
    """As onnxslim's: a ModelProto, or None where a path to write to is given."""
    asked.append("slim")
    options |= dict(zip(("output_model", "model_check", "input_shapes", "inputs", "outputs"), names))
    if isinstance(model, list):
        if len(model) > 1 or options.get("inspect"):
            return None
        model = model[0]
    edited = loaded(model)
    if options.get("inputs") or options.get("outputs"):
        edit.extract(edited, *([text.split(":")[0] for text in options.get(key) or []] for key in ("inputs", "outputs")))
    for text in options.get("input_shapes") or []:
        name, shape = text.split(":")
        edit.set_dims(edited, name, [int(extent) for extent in shape.split(",")])
    result = simplified(edited, {SKIPS.get(name) for name in options.get("skip_optimizations") or []})
    if options.get("dtype") == "fp16":
        half = loaded(result)
        edit.to_float16(half, keep_io=False)
        result = onnx.load_from_string(half.serialize())
    if options.get("model_check"):
        original = model if isinstance(model, onnx.ModelProto) else onnx.load(str(model))
        assert_equal_outputs(original, result)
    if not options.get("output_model"):
        return result
    onnx.save(result, options["output_model"])
    return None


def simplify(model, check_n=0, **options):
    """As onnxsim's: a ModelProto, and whether it gives the same."""
    asked.append("simplify")
    edited = loaded(model)
    if options.get("unused_output"):
        edit.extract(edited, [], [name for name, _, _ in edited.outputs() if name not in options["unused_output"]])
    result = simplified(edited)
    if check_n and not options.get("unused_output"):
        original = onnx.load(str(model)) if not isinstance(model, onnx.ModelProto) else model
        assert_equal_outputs(original, result, options.get("test_input_shapes") or {})
    return result, True


def assert_equal_outputs(before, after, shapes=()):
    import numpy as np
    import onnxruntime

    feeds, results = None, []
    for model in (before, after):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        if feeds is None:
            feeds, generator = {}, np.random.default_rng(5)
            for value in session.get_inputs():
                shape = dict(shapes).get(value.name) or [extent if isinstance(extent, int) and extent > 0 else 1 for extent in value.shape]
                feeds[value.name] = generator.random(shape).astype(
                    onnx.helper.tensor_dtype_to_np_dtype(next(given for given in model.graph.input if given.name == value.name)
                                                         .type.tensor_type.elem_type))
        names = {value.name for value in session.get_inputs()}
        results.append(session.run(None, {name: array for name, array in feeds.items() if name in names}))
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


def pytest_configure(config):
    for name, function in (("onnxslim", slim), ("onnxsim", simplify)):
        try:
            module = __import__(name)
        except ImportError:
            continue
        setattr(module, function.__name__, function)
        # `from onnxslim.cli import slim`, too.
        for other in [other for key, other in sys.modules.items() if key.startswith(name + ".")]:
            if getattr(other, function.__name__, None) is not None and not hasattr(getattr(other, function.__name__), "__path__"):
                setattr(other, function.__name__, function)


@pytest.fixture(autouse=True)
def _whether_tenon_was_asked(record_property):
    asked.clear()
    yield
    if asked:
        record_property("simplified", len(asked))
