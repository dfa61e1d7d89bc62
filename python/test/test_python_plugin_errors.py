"""What goes wrong in plugins that are written in Python."""
import ctypes
import pathlib
import sys

import numpy as np
import pytest
from models import engine_of, plan_of, run
from scale_plugins import (REGISTRY, SHAPES, ScaleV2, ScaleV2Creator, ScaleV3, ScaleV3Creator, X,
                           model_of, registered)

import tenon
import tenon.tensorrt as trt


def raising(base, creator, method, error):
    """A creator of plugins of which `method` raises `error`."""
    def fail(self, *arguments):
        raise error

    name = f"PyRaises{base.__name__}{method}{error.args[0].split()[0]}"
    plugin_class = type(name, (base,), {method: fail})
    return registered(type(name + "Creator", (creator,), {"plugin_class": plugin_class})(name))


BUILD_CALLS = [
    *((ScaleV2, ScaleV2Creator, m) for m in (
        "clone", "get_output_datatype", "get_output_dimensions", "supports_format_combination",
        "configure_plugin", "serialize", "initialize", "get_workspace_size")),
    *((ScaleV3, ScaleV3Creator, m) for m in (
        "clone", "get_capability_interface", "get_output_data_types", "get_output_shapes",
        "supports_format_combination", "configure_plugin", "get_valid_tactics",
        "get_workspace_size", "get_fields_to_serialize", "attach_to_context", "on_shape_change",
        "set_tactic"))]


@pytest.mark.parametrize("base, creator, method", BUILD_CALLS)
def test_what_is_raised_while_building_comes_out(base, creator, method):
    error = LookupError(f"{method} has its reasons")
    made = raising(base, creator, method, error)
    with pytest.raises(LookupError, match="has its reasons") as caught:
        plan = plan_of(model_of(made.name, made.plugin_namespace, factor=1.0), x=SHAPES)
        trt.Runtime(trt.Logger(trt.Logger.INTERNAL_ERROR)).deserialize_cuda_engine(
            plan).create_execution_context()
    assert caught.value is error and caught.traceback[-1].name == "fail"


@pytest.mark.parametrize("base, creator", [(ScaleV2, ScaleV2Creator), (ScaleV3, ScaleV3Creator)])
def test_what_is_raised_while_running_comes_out(base, creator):
    error = LookupError("enqueue has its reasons")
    made = raising(base, creator, "enqueue", error)
    plan = plan_of(model_of(made.name, made.plugin_namespace, factor=1.0), x=SHAPES)
    engine = trt.Runtime(trt.Logger(trt.Logger.INTERNAL_ERROR)).deserialize_cuda_engine(plan)
    context = engine.create_execution_context()
    for _ in range(2):
        with pytest.raises(LookupError, match="has its reasons") as caught:
            run(context, x=X)
        assert caught.value is error and caught.traceback[-1].name == "fail"


def test_what_is_raised_on_the_thread_of_a_stream_goes_to_its_hook(monkeypatch):
    made = raising(ScaleV3, ScaleV3Creator, "enqueue", LookupError("asynchronous reasons"))
    messages, told = [], []
    monkeypatch.setattr(sys, "unraisablehook", lambda hook: told.append(hook.exc_value))

    class Listens(trt.ILogger):
        def log(self, severity, msg):
            messages.append(msg)

    engine = engine_of(model_of(made.name, made.plugin_namespace, factor=1.0), Listens(), x=SHAPES)
    context, y = engine.create_execution_context(), np.empty_like(X)
    context.set_input_shape("x", X.shape)
    context.set_tensor_address("x", X.ctypes.data)
    context.set_tensor_address("y", y.ctypes.data)
    cudart = ctypes.CDLL(str(pathlib.Path(tenon.__file__).with_name("lib") / "libtenon_cudart.so"))
    stream = ctypes.c_void_p()
    assert cudart.cudaStreamCreate(ctypes.byref(stream)) == 0
    context.execute_async_v3(stream.value)
    cudart.cudaStreamSynchronize(stream)
    assert [str(e) for e in told] == ["asynchronous reasons"]
    told_why = "enqueue() raised LookupError: asynchronous reasons"
    assert any(told_why in message for message in messages), messages
    cudart.cudaStreamDestroy(stream)


@pytest.mark.parametrize("base, creator, method, result, message", [
    (ScaleV2, ScaleV2Creator, "get_output_datatype", "x",
     "get_output_datatype gave a str; expected DataType"),
    (ScaleV2, ScaleV2Creator, "clone", 3, "clone gave a int; expected IPluginV2DynamicExt"),
    (ScaleV2, ScaleV2Creator, "serialize", "text", "serialize gave a str; expected bytes"),
    (ScaleV3, ScaleV3Creator, "get_output_shapes", [], "gave 0 for 1 outputs"),
    (ScaleV3, ScaleV3Creator, "get_output_shapes", [trt.DimsExprs(2)], "dimension 0 .* is not set"),
    (ScaleV3, ScaleV3Creator, "get_fields_to_serialize", [1], "expected PluginField objects"),
    (ScaleV3, ScaleV3Creator, "get_capability_interface", 7, "gave a int; expected IPluginV3One"),
])
def test_wrong_results_are_named(base, creator, method, result, message):
    name = f"PyWrong{base.__name__}{method}{len(message)}"
    plugin_class = type(name, (base,), {method: lambda self, *arguments: result})
    made = registered(type(name, (creator,), {"plugin_class": plugin_class})(name))
    with pytest.raises((TypeError, ValueError), match=message):
        plan_of(model_of(name, made.plugin_namespace, factor=1.0), x=SHAPES)


def test_missing_methods_are_named():
    class Bare(trt.IPluginV2DynamicExt):
        plugin_type, plugin_version = "Bare", "1"
        num_outputs = 1

    network = trt.Builder(trt.Logger(trt.Logger.INTERNAL_ERROR)).create_network()
    x = network.add_input("x", trt.float32, (2, 3))
    with pytest.raises(NotImplementedError, match=r"Bare does not define clone\(\)"):
        network.add_plugin_v2([x], Bare())
    Bare.num_outputs = "many"
    with pytest.raises(TypeError, match="Bare.num_outputs gave a str; expected int"):
        network.add_plugin_v2([x], Bare())
    del Bare.plugin_type
    with pytest.raises(AttributeError, match="Bare.plugin_type is not set"):
        network.add_plugin_v2([x], Bare())
    with pytest.raises(TypeError, match="expected an IPluginV2DynamicExt"):
        network.add_plugin_v2([x], ScaleV3())
    with pytest.raises(TypeError, match="expected an IPluginV3"):
        network.add_plugin_v3([x], [], object())


def test_creators_must_say_what_they_make():
    class Nameless(trt.IPluginCreatorV3One):
        plugin_version = "1"

    with pytest.raises(AttributeError, match="Nameless.name is not set"):
        REGISTRY.register_creator(Nameless(), "")
    with pytest.raises(TypeError, match="expected an IPluginCreator"):
        REGISTRY.register_creator(object(), "")
    creator = ScaleV3Creator("PyRegisteredTwice")
    assert REGISTRY.register_creator(creator, "py")
    assert not REGISTRY.register_creator(creator, "py")
    assert REGISTRY.deregister_creator(creator) and not REGISTRY.deregister_creator(creator)
    assert REGISTRY.get_creator("PyRegisteredTwice", "1", "py") is None


def test_creators_that_refuse():
    class Refuses(ScaleV3Creator):
        def create_plugin(self, name, field_collection, phase):
            return None

    class Raises(ScaleV3Creator):
        def create_plugin(self, name, field_collection, phase):
            raise KeyError("factor")

    registered(Refuses("PyRefuses"))
    registered(Raises("PyRaises"))
    logger = trt.Logger(trt.Logger.INTERNAL_ERROR)
    network = trt.Builder(logger).create_network()
    parser = trt.OnnxParser(network, logger)
    assert not parser.parse(model_of("PyRefuses", "py", factor=1.0))
    assert "PyRefuses" in parser.get_error(0).desc()
    network = trt.Builder(logger).create_network()
    with pytest.raises(KeyError, match="factor"):
        trt.OnnxParser(network, logger).parse(model_of("PyRaises", "py", factor=1.0))
