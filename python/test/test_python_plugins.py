"""Plugins that are written in Python, of both protocols."""
import gc
import subprocess
import sys
import threading

import numpy as np
import pytest
from models import plan_of, run
from scale_plugins import (CREATORS, REGISTRY, SHAPES, ScaleV2, ScaleV2Creator, ScaleV3,
                           ScaleV3Creator, Type, X, as_arrays, model_of, registered)

import tenon
import tenon.tensorrt as trt


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
    assert trt.Runtime(logger).deserialize_cuda_engine(plan) is None


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
        count = expr_builder.operation(trt.DimensionOperation.PROD, inputs[0][0],
                                       shape_inputs[0][0])
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


@pytest.mark.parametrize("base, creator", [(ScaleV2, ScaleV2Creator), (ScaleV3, ScaleV3Creator)])
def test_results_may_be_of_numpy(base, creator):
    def supports(self, pos, in_out, num_inputs):
        return np.bool_(base.supports_format_combination(self, pos, in_out, num_inputs)) or None

    name = f"PyNumpy{base.__name__}"
    plugin_class = type(name, (base,), {
        "supports_format_combination": supports, "num_outputs": np.int64(1),
        "get_workspace_size": lambda self, inputs, outputs: np.prod([8, 3, 4]),
        "get_valid_tactics": lambda self: np.array([1, 2]).tolist(),
        "initialize": lambda self: np.int32(0)})
    registered(type("C", (creator,), {"plugin_class": plugin_class})(name))
    plan = plan_of(model_of(name, "py" if base is ScaleV3 else "", factor=2.0), x=SHAPES)
    context = trt.Runtime(trt.Logger()).deserialize_cuda_engine(plan).create_execution_context()
    np.testing.assert_array_equal(run(context, x=X)["y"], np.maximum(X, 0) * 2)


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


def test_a_plugin_may_use_one_of_cpp():
    class Negated(ScaleV2):
        """-LeakyReLU(x), by the plugin of that name."""

        def __init__(self, factor=1.0):
            super().__init__(factor)
            self.inner = REGISTRY.get_plugin_creator("LReLU_TRT", "1").create_plugin(
                "inner", trt.PluginFieldCollection([trt.PluginField(
                    "negSlope", np.array([0.5], np.float32), Type.FLOAT32)]))

        def get_output_dimensions(self, output_index, inputs, expr_builder):
            return self.inner.get_output_dimensions(output_index, inputs, expr_builder)

        def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
            self.inner.configure_plugin(*self.ranges)
            self.inner.enqueue(input_desc, output_desc, inputs, outputs, workspace, stream)
            y, = as_arrays(outputs, output_desc)
            np.negative(y, out=y)

        def configure_plugin(self, inputs, outputs):
            self.ranges = inputs, outputs

        def get_workspace_size(self, inputs, outputs):
            return self.inner.get_workspace_size(inputs, outputs)

    registered(type("C", (ScaleV2Creator,), {"plugin_class": Negated})("PyNegated"))
    plan = plan_of(model_of("PyNegated", factor=1.0), x=SHAPES)
    engine = trt.Runtime(trt.Logger()).deserialize_cuda_engine(plan)
    np.testing.assert_array_equal(run(engine.create_execution_context(), x=X)["y"],
                                  -np.maximum(X, 0))


def test_an_interpreter_may_end_with_engines_alive():
    script = (
        "import sys; sys.path.insert(0, {folder!r})\n"
        "from test_python_plugins import *\n"
        "plans = [plan_of(model_of(n, s, factor=2.0), x=SHAPES) for n, (c, s) in CREATORS.items()]\n"
        "kept = [trt.Runtime(trt.Logger()).deserialize_cuda_engine(plan) for plan in plans]\n"
        "contexts = [engine.create_execution_context() for engine in kept]\n"
        "print(*[run(context, x=X)['y'].sum() for context in contexts])\n")
    folder = __file__.rpartition("/")[0]
    done = subprocess.run([sys.executable, "-X", "dev", "-c", script.format(folder=folder)],
                          capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["30.0", "30.0"]), done.stderr
    assert "Error" not in done.stderr and "Fatal" not in done.stderr, done.stderr
