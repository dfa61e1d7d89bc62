"""Plugins that are written in Python, of both protocols."""
import ctypes
import gc
import pathlib
import subprocess
import sys
import threading

import numpy as np
import onnx
import pytest
from models import engine_of, plan_of, run, value
from onnx import helper

import tenon
import tenon.tensorrt as trt

Type = trt.PluginFieldType
REGISTRY = trt.get_plugin_registry()
LINEAR = trt.TensorFormat.LINEAR


def as_arrays(pointers, descs):
    return [tenon.as_array(*pair) for pair in zip(pointers, descs)]


class ScaleV2(trt.IPluginV2DynamicExt):
    """y = x * factor, of version 2."""

    living = 0

    def __init__(self, factor=1.0):
        trt.IPluginV2DynamicExt.__init__(self)
        self.factor = factor
        self.num_outputs = 1
        self.plugin_type = "PyScaleV2"
        self.plugin_version = "1"
        self.plugin_namespace = ""
        ScaleV2.living += 1

    def __del__(self):
        ScaleV2.living -= 1

    def get_output_datatype(self, index, input_types):
        return input_types[0]

    def get_output_dimensions(self, output_index, inputs, expr_builder):
        return trt.DimsExprs(inputs[0])

    def supports_format_combination(self, pos, in_out, num_inputs):
        return in_out[pos].format == LINEAR and in_out[pos].type == trt.float32

    def configure_plugin(self, inputs, outputs):
        assert isinstance(inputs[0], trt.DynamicPluginTensorDesc)
        self.largest = tuple(inputs[0].max)

    def get_workspace_size(self, inputs, outputs):
        return 4 * trt.volume(self.largest)

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        x, = as_arrays(inputs, input_desc)
        y, = as_arrays(outputs, output_desc)
        scratch = tenon.as_array(workspace, trt.float32, x.shape)
        scratch[:] = x * self.factor
        y[:] = scratch

    def serialize(self):
        return np.float64(self.factor).tobytes()

    def clone(self):
        copy = type(self)(self.factor)
        copy.__dict__.update(self.__dict__)
        return copy


class ScaleV2Creator(trt.IPluginCreator):
    plugin_class = ScaleV2

    def __init__(self, name="PyScaleV2"):
        trt.IPluginCreator.__init__(self)
        self.name = name
        self.plugin_version = "1"
        self.plugin_namespace = ""
        self.field_names = trt.PluginFieldCollection(
            [trt.PluginField("factor", np.array([]), Type.FLOAT32)])

    def create_plugin(self, name, field_collection):
        assert isinstance(field_collection, trt.PluginFieldCollection_)
        factor = {f.name: f.data for f in field_collection}["factor"]
        plugin = self.plugin_class(float(factor[0]))
        plugin.plugin_type = self.name
        return plugin

    def deserialize_plugin(self, name, serialized_plugin):
        plugin = self.plugin_class(float(np.frombuffer(serialized_plugin, np.float64)[0]))
        plugin.plugin_type = self.name
        return plugin


class ScaleV3(trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):
    """y = x * factor, of version 3."""

    living = 0

    def __init__(self, factor=1.0):
        trt.IPluginV3.__init__(self)
        trt.IPluginV3OneCore.__init__(self)
        trt.IPluginV3OneBuild.__init__(self)
        trt.IPluginV3OneRuntime.__init__(self)
        self.factor = factor
        self.num_outputs = 1
        self.plugin_name = "PyScaleV3"
        self.plugin_version = "1"
        self.plugin_namespace = "py"
        ScaleV3.living += 1

    def __del__(self):
        ScaleV3.living -= 1

    def get_capability_interface(self, type):  # noqa: A002
        return self

    def get_output_data_types(self, input_types):
        return [input_types[0]]

    def get_output_shapes(self, inputs, shape_inputs, expr_builder):
        return [trt.DimsExprs(inputs[0])]

    def supports_format_combination(self, pos, in_out, num_inputs):
        desc = in_out[pos].desc
        return desc.format == LINEAR and desc.type == in_out[0].desc.type

    def configure_plugin(self, inputs, outputs):
        pass

    def on_shape_change(self, inputs, outputs):
        self.shape = tuple(inputs[0].dims)

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        x, = as_arrays(inputs, input_desc)
        y, = as_arrays(outputs, output_desc)
        assert x.shape == self.shape
        np.multiply(x, self.factor, out=y)

    def get_fields_to_serialize(self):
        return trt.PluginFieldCollection(
            [trt.PluginField("factor", np.array([self.factor], np.float32), Type.FLOAT32)])

    def attach_to_context(self, resource_context):
        assert isinstance(resource_context, trt.IPluginResourceContext)
        return self.clone()

    def set_tactic(self, tactic):
        pass

    def clone(self):
        copy = type(self)()
        copy.__dict__.update(self.__dict__)
        return copy


class ScaleV3Creator(trt.IPluginCreatorV3One):
    plugin_class = ScaleV3

    def __init__(self, name="PyScaleV3"):
        trt.IPluginCreatorV3One.__init__(self)
        self.name = name
        self.plugin_version = "1"
        self.plugin_namespace = "py"
        self.field_names = trt.PluginFieldCollection(
            [trt.PluginField("factor", np.array([]), Type.FLOAT32)])
        self.phases = []

    def create_plugin(self, name, field_collection, phase):
        self.phases.append(phase)
        factor = {f.name: f.data for f in field_collection}["factor"]
        plugin = self.plugin_class(float(factor[0]))
        plugin.plugin_name = self.name
        return plugin


CREATORS = {"PyScaleV2": (ScaleV2Creator(), ""), "PyScaleV3": (ScaleV3Creator(), "py")}
for _creator, _namespace in CREATORS.values():
    assert REGISTRY.register_creator(_creator, _namespace)


def registered(creator):
    """A creator that is there for one test."""
    assert REGISTRY.register_creator(creator, creator.plugin_namespace)
    return creator


def model_of(op, namespace="", **attributes):
    """The bytes of a model that is one node of a custom operator, after a ReLU."""
    nodes = [helper.make_node("Relu", ["x"], ["r"]),
             helper.make_node(op, ["r"], ["y"], domain="custom", plugin_namespace=namespace,
                              **attributes)]
    graph = helper.make_graph(nodes, "test", [value("x", ["n", 3])], [value("y", ["n", 3])])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("custom", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


SHAPES = ((1, 3), (2, 3), (8, 3))
X = np.array([[1, -2, 3], [-4, 5, 6]], np.float32)


@pytest.mark.parametrize("name", CREATORS)
def test_in_a_model_of_onnx(name):
    creator, namespace = CREATORS[name]
    assert REGISTRY.get_creator(name, "1", namespace) is creator
    plan = bytes(plan_of(model_of(name, namespace, factor=2.5), x=SHAPES))
    engine = trt.Runtime(trt.Logger()).deserialize_cuda_engine(plan)
    context = engine.create_execution_context()
    for x in X, X[:1], np.ones((8, 3), np.float32):
        np.testing.assert_allclose(run(context, x=x)["y"], np.maximum(x, 0) * 2.5)


@pytest.mark.parametrize("plugin", [ScaleV2(3), ScaleV3(3)])
def test_in_a_network_built_by_hand(plugin):
    logger = trt.Logger()
    builder = trt.Builder(logger)
    network = builder.create_network()
    x = network.add_input("x", trt.float32, (2, 3))
    if isinstance(plugin, trt.IPluginV2):
        layer = network.add_plugin_v2([x], plugin)
        assert isinstance(layer, trt.IPluginV2Layer)
    else:
        layer = network.add_plugin_v3([x], [], plugin)
        assert isinstance(layer, trt.IPluginV3Layer)
    assert type(layer.plugin) is type(plugin) and layer.plugin is not plugin  # the layer's clone
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    engine = trt.Runtime(logger).deserialize_cuda_engine(plan)
    np.testing.assert_allclose(run(engine.create_execution_context(), x=X)["y"], X * 3)


@pytest.mark.parametrize("name", CREATORS)
def test_contexts_run_in_threads(name):
    plan = plan_of(model_of(name, CREATORS[name][1], factor=2.0), x=SHAPES)
    engine = trt.Runtime(trt.Logger()).deserialize_cuda_engine(plan)
    results = {}

    def work(number):
        context = engine.create_execution_context()
        for i in range(50):
            x = np.full((1 + i % 8, 3), number + i, np.float32)
            results.setdefault(number, []).append(np.array_equal(run(context, x=x)["y"], x * 2))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(all(r) and len(r) == 50 for r in results.values()) and len(results) == 4


@pytest.mark.parametrize("name, plugin_class", [("PyScaleV2", ScaleV2), ("PyScaleV3", ScaleV3)])
def test_objects_go_with_their_engines(name, plugin_class):
    gc.collect()
    before = plugin_class.living
    plan = plan_of(model_of(name, CREATORS[name][1], factor=2.0), x=SHAPES)
    engine = trt.Runtime(trt.Logger()).deserialize_cuda_engine(plan)
    context = engine.create_execution_context()
    run(context, x=X)
    assert plugin_class.living > before
    del context, engine
    gc.collect()
    assert plugin_class.living == before


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
    assert any("enqueue() raised LookupError: asynchronous reasons" in m for m in messages), messages
    cudart.cudaStreamDestroy(stream)


@pytest.mark.parametrize("base, creator, method, result, message", [
    (ScaleV2, ScaleV2Creator, "get_output_datatype", "x", "get_output_datatype gave a str; expected DataType"),
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


def test_a_plan_whose_creator_is_gone():
    creator = registered(ScaleV3Creator("PyGone"))
    plan = bytes(plan_of(model_of("PyGone", "py", factor=1.0), x=SHAPES))
    assert creator.phases == [trt.TensorRTPhase.BUILD]
    logger = trt.Logger(trt.Logger.INTERNAL_ERROR)
    context = trt.Runtime(logger).deserialize_cuda_engine(plan).create_execution_context()
    run(context, x=X)
    assert creator.phases[1:] == [trt.TensorRTPhase.RUNTIME]
    assert REGISTRY.deregister_creator(creator)
    np.testing.assert_array_equal(run(context, x=X)["y"], np.maximum(X, 0))  # has its plugin
    context = trt.Runtime(logger).deserialize_cuda_engine(plan).create_execution_context()
    assert context.set_input_shape("x", X.shape)
    assert not context.execute_v2([X.ctypes.data, np.empty_like(X).ctypes.data])


def test_formulas_end_with_their_call():
    kept = []

    class Keeps(ScaleV3):
        def get_output_shapes(self, inputs, shape_inputs, expr_builder):
            kept.extend([expr_builder, inputs[0][0]])
            assert not inputs[0][0].is_constant() and inputs[0][1].is_constant()
            assert inputs[0][1].get_constant_value() == 3
            rows = expr_builder.operation(trt.DimensionOperation.SUM, inputs[0][0],
                                          expr_builder.constant(0))
            return [trt.DimsExprs([rows, inputs[0][1]])]

    registered(type("C", (ScaleV3Creator,), {"plugin_class": Keeps})("PyKeeps"))
    plan_of(model_of("PyKeeps", "py", factor=1.0), x=SHAPES)
    for use in (lambda: kept[0].constant(3), kept[1].is_constant):
        with pytest.raises(RuntimeError, match="a call of the plugin that is over"):
            use()


class Repeat(ScaleV3):
    """Repeats its input, a vector, as often as its shape input says."""

    def get_output_shapes(self, inputs, shape_inputs, expr_builder):
        count = expr_builder.operation(trt.DimensionOperation.PROD, inputs[0][0], shape_inputs[0][0])
        return [trt.DimsExprs([count])]

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        x, = as_arrays(inputs, input_desc)
        y, = as_arrays(outputs, output_desc)
        y[:] = np.tile(x, len(y) // len(x))


class NonZero(ScaleV3):
    """The indices of what is not 0, and how many there are."""

    def __init__(self, factor=1.0):
        super().__init__(factor)
        self.num_outputs = 2

    def get_output_data_types(self, input_types):
        return [trt.int32, trt.int32]

    def get_output_shapes(self, inputs, shape_inputs, expr_builder):
        half = expr_builder.operation(trt.DimensionOperation.FLOOR_DIV, inputs[0][0],
                                      expr_builder.constant(2))
        size = expr_builder.declare_size_tensor(1, half, inputs[0][0])
        assert size.is_size_tensor()
        return [trt.DimsExprs([size]), trt.DimsExprs(0)]

    def supports_format_combination(self, pos, in_out, num_inputs):
        return in_out[pos].desc.type == (trt.float32 if pos == 0 else trt.int32)

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        x, = as_arrays(inputs, input_desc)
        found = np.flatnonzero(x).astype(np.int32)
        tenon.as_array(outputs[0], output_desc[0], found.shape)[:] = found
        tenon.as_array(outputs[1], output_desc[1])[...] = len(found)
        with pytest.raises(ValueError, match="known only once the plugin has run"):
            tenon.as_array(outputs[0], output_desc[0])


def built(make_layer, plugin_class):
    """An engine of a network with one plugin, whose layer make_layer(network, x) adds."""
    name = plugin_class.__name__
    if REGISTRY.get_creator(name, "1", "py") is None:
        registered(type("C", (ScaleV3Creator,), {"plugin_class": plugin_class})(name))
    plugin = plugin_class()
    plugin.plugin_name = name
    logger = trt.Logger()
    builder = trt.Builder(logger)
    network = builder.create_network()
    x = network.add_input("x", trt.float32, (4,))
    make_layer(network, x, plugin)
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    return trt.Runtime(logger).deserialize_cuda_engine(plan)


def test_shape_inputs():
    def add(network, x, plugin):
        times = network.add_constant((), trt.Weights(np.array(3, np.int32))).get_output(0)
        layer = network.add_plugin_v3([x], [times], plugin)
        layer.get_output(0).name = "y"
        network.mark_output(layer.get_output(0))

    x = np.array([1, 2, 3, 4], np.float32)
    np.testing.assert_array_equal(
        run(built(add, Repeat).create_execution_context(), x=x)["y"], np.tile(x, 3))


def test_sizes_that_running_tells():
    def add(network, x, plugin):
        layer = network.add_plugin_v3([x], [], plugin)
        for i, name in enumerate(["where", "count"]):
            layer.get_output(i).name = name
            network.mark_output(layer.get_output(i))

    context = built(add, NonZero).create_execution_context()
    x, count = np.array([0, 5, 0, 7], np.float32), np.empty((), np.int32)
    where = np.full(4, -1, np.int32)
    for name, array in ("x", x), ("where", where), ("count", count):
        context.set_tensor_address(name, array.ctypes.data)
    assert context.execute_async_v3(0)
    assert count == 2 and tuple(context.get_tensor_shape("where")) == (2,)
    assert where.tolist() == [1, 3, -1, -1]


def test_sides_may_be_other_objects():
    class Core(trt.IPluginV3OneCore):
        plugin_name, plugin_version, plugin_namespace = "PySides", "1", "py"

    class Parted(trt.IPluginV3):
        def __init__(self, sides=None):
            self.sides = sides or ScaleV3(5.0)

        def get_capability_interface(self, type):  # noqa: A002
            return Core() if type == trt.PluginCapabilityType.CORE else self.sides

        def clone(self):
            return Parted(self.sides)

    class Creator(ScaleV3Creator):
        def create_plugin(self, name, field_collection, phase):
            return Parted()

    registered(Creator("PySides"))
    plan = plan_of(model_of("PySides", "py", factor=1.0), x=SHAPES)
    engine = trt.Runtime(trt.Logger()).deserialize_cuda_engine(plan)
    np.testing.assert_allclose(run(engine.create_execution_context(), x=X)["y"],
                               np.maximum(X, 0) * 5)


def test_an_interpreter_may_end_with_engines_alive():
    script = (
        "import sys; sys.path.insert(0, {folder!r})\n"
        "from test_python_plugins import *\n"
        "kept = [trt.Runtime(trt.Logger()).deserialize_cuda_engine(plan_of(model_of(n, s, factor=2.0),"
        " x=SHAPES)) for n, (c, s) in CREATORS.items()]\n"
        "contexts = [engine.create_execution_context() for engine in kept]\n"
        "print(*[run(context, x=X)['y'].sum() for context in contexts])\n")
    folder = __file__.rpartition("/")[0]
    done = subprocess.run([sys.executable, "-X", "dev", "-c", script.format(folder=folder)],
                          capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["30.0", "30.0"]), done.stderr
    assert "Error" not in done.stderr and "Fatal" not in done.stderr, done.stderr
