"""Plugins made of decorated functions: tensorrt.plugin."""
from typing import List, Tuple

import numpy as np
import numpy.typing as npt
import pytest
from models import plan_of, run, value
from onnx import helper

import tenon.tensorrt as trt
import tenon.tensorrt.plugin as trtp

LOGGER = trt.Logger()


@trtp.register("deco::scale")
def describe_scale(x: trtp.TensorDesc, factor: float, offset: int = 0) -> trtp.TensorDesc:
    return x.like()


@trtp.impl("deco::scale")
def run_scale(x: trtp.Tensor, factor: float, offset: int, outputs: Tuple[trtp.Tensor],
              stream: int) -> None:
    np.asarray(outputs[0])[...] = np.asarray(x) * factor + offset


@trtp.register("deco::circular_pad")
def describe_pad(x: trtp.TensorDesc, pads: npt.NDArray[np.int32]) -> trtp.TensorDesc:
    y = x.like()
    for i in range(len(pads) // 2):
        y.shape_expr[x.ndim - i - 1] += int(pads[2 * i] + pads[2 * i + 1])
    return y


@trtp.impl("deco::circular_pad")
def run_pad(x, pads, outputs):
    widths = [(0, 0)] * (x.ndim - len(pads) // 2) + [
        (int(a), int(b)) for a, b in pads.reshape(-1, 2)[::-1]]
    np.from_dlpack(outputs[0])[...] = np.pad(np.from_dlpack(x), widths, "wrap")


def engine_of_layer(add, shape, dtype=trt.float32, ranges=None):
    """The engine of a network of x and what add(network, x) gives: outputs y0, y1, ..."""
    builder = trt.Builder(LOGGER)
    network = builder.create_network()
    layer = add(network, network.add_input("x", dtype, shape))
    for i in range(layer.num_outputs):
        layer.get_output(i).name = f"y{i}"
        network.mark_output(layer.get_output(i))
    config = builder.create_builder_config()
    if ranges:
        profile = builder.create_optimization_profile()
        profile.set_shape("x", *ranges)
        config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    return trt.Runtime(LOGGER).deserialize_cuda_engine(bytes(plan))


def run_layer(add, x, dtype=trt.float32):
    return run(engine_of_layer(add, x.shape, dtype).create_execution_context(), x=x)


def test_op_in_a_network():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    y = run_layer(lambda n, t: n.add_plugin(trtp.op.deco.scale(t, factor=2.5, offset=-3)), x)
    np.testing.assert_array_equal(y["y0"], x * 2.5 - 3)
    y = run_layer(lambda n, t: n.add_plugin(trtp.op.deco.scale(x=t, factor=1), aot=False), x)
    np.testing.assert_array_equal(y["y0"], x)  # offset has a default, and 1 is a float as well


def test_shapes_are_formulas():
    x = np.random.default_rng(0).standard_normal((2, 3, 4, 5), dtype=np.float32)
    pads = np.array([1, 2, 3, 0], np.int32)
    engine = engine_of_layer(
        lambda n, t: n.add_plugin(trt.plugin.op.deco.circular_pad(t, pads=pads)), (-1, 3, -1, 5),
        ranges=((1, 3, 3, 5), (2, 3, 4, 5), (4, 3, 9, 5)))
    context = engine.create_execution_context()
    for part in x, x[:1, :, :3]:
        expected = np.pad(part, [(0, 0), (0, 0), (3, 0), (1, 2)], "wrap")
        np.testing.assert_array_equal(run(context, x=part)["y0"], expected)


def test_a_node_of_a_model():
    node = helper.make_node("circular_pad", ["x"], ["y"], domain="any", pads=[1, 1],
                            plugin_namespace="deco")
    graph = helper.make_graph([node], "test", [value("x", [2, 3])], [value("y", [2, 5])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17),
                                                    helper.make_opsetid("any", 1)], ir_version=8)
    plan = plan_of(model.SerializeToString())
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    context = trt.Runtime(LOGGER).deserialize_cuda_engine(plan).create_execution_context()
    np.testing.assert_array_equal(run(context, x=x)["y"], np.pad(x, [(0, 0), (1, 1)], "wrap"))


@trtp.register("deco::non_zero")
def describe_non_zero(x: trtp.TensorDesc) -> Tuple[trtp.TensorDesc, trtp.TensorDesc]:
    most = x.shape_expr.numel()
    count = trtp.size_tensor(opt=most // 2, upper_bound=most)
    return trtp.from_shape_expr((count.expr(), 2), dtype=trt.int32), count


@trtp.autotune("deco::non_zero")
def tune_non_zero(x: trtp.TensorDesc, outputs) -> List[trtp.AutoTuneCombination]:
    assert x.has_shape and not x.has_shape_expr and tuple(x.shape.max) == (2, 3)
    return [trtp.AutoTuneCombination("FP32|FP16, INT32, INT32")]


@trtp.impl("deco::non_zero")
def run_non_zero(x, outputs, stream):
    found = np.argwhere(np.asarray(x))
    assert outputs[0].is_data_dependent
    np.asarray(outputs[0].aliased(found.shape))[...] = found
    np.asarray(outputs[1])[...] = len(found)


def test_sizes_that_running_tells():
    engine = engine_of_layer(lambda n, t: n.add_plugin(trtp.op.deco.non_zero(t)), (2, 3))
    context = engine.create_execution_context()
    x = np.array([[0, 1, 0], [2, 0, 3]], np.float32)
    where, count = np.full((6, 2), -1, np.int32), np.empty((), np.int32)
    for name, array in ("x", x), ("y0", where), ("y1", count):
        context.set_tensor_address(name, array.ctypes.data)
    assert context.execute_async_v3(0)
    assert count == 3 and tuple(context.get_tensor_shape("y0")) == (3, 2)
    np.testing.assert_array_equal(where[:3], np.argwhere(x))


@trtp.register("deco::tactics")
def describe_tactics(x: trtp.TensorDesc, text: str, raw: bytes, on: bool,
                     table: npt.NDArray[np.float64]) -> trtp.TensorDesc:
    return x.like()


@trtp.autotune("deco::tactics")
def tune_tactics(x, text, outputs):
    combination = trtp.AutoTuneCombination()
    combination.pos([0, 1], "FP32|FP16")
    combination.tactics([7, 9])
    return [trtp.AutoTuneCombination("INT32, INT32", tactics=[3]), combination]


@trtp.impl("deco::tactics")
def run_tactics(x, text, raw, on, table, outputs, tactic):
    assert (text, raw, on) == ("text", b"\1\0\2", True) and table.tolist() == [0.1, 0.2]
    np.asarray(outputs[0])[...] = tactic


@pytest.mark.parametrize("dtype, tactics", [
    (np.float32, (7, 9)), (np.float16, (7, 9)), (np.int32, (3,))])
def test_tactics_and_attributes_of_every_kind(dtype, tactics):
    kinds = {np.float32: trt.float32, np.float16: trt.float16, np.int32: trt.int32}
    y = run_layer(lambda n, t: n.add_plugin(trtp.op.deco.tactics(
        t, text="text", raw=b"\1\0\2", on=True, table=np.array([0.1, 0.2]))),
        np.ones((2, 3), dtype), kinds[dtype])
    assert set(y["y0"].ravel().tolist()) <= set(tactics)


def test_types_that_do_not_fit_are_refused():
    network_of = lambda dtype: run_layer(  # noqa: E731
        lambda n, t: n.add_plugin(trtp.op.deco.non_zero(t)), np.ones((2, 3), np.int32), dtype)
    with pytest.raises((AssertionError, TypeError)):
        network_of(trt.int32)


def test_what_functions_raise_comes_out():
    @trtp.register("deco::bad_shape")
    def _(x: trtp.TensorDesc) -> trtp.TensorDesc:
        raise LookupError("no such shape")

    @trtp.register("deco::bad_run")
    def _(x: trtp.TensorDesc) -> trtp.TensorDesc:
        return x.like()

    x = np.ones((2, 3), np.float32)
    with pytest.raises(LookupError, match="no such shape"):
        run_layer(lambda n, t: n.add_plugin(trtp.op.deco.bad_shape(t)), x)
    with pytest.raises(NotImplementedError, match="deco::bad_run has no impl function"):
        run_layer(lambda n, t: n.add_plugin(trtp.op.deco.bad_run(t)), x)

    @trtp.impl("deco::bad_run")
    def _(x, outputs):
        raise LookupError("no such value")

    with pytest.raises(LookupError, match="no such value"):
        run_layer(lambda n, t: n.add_plugin(trtp.op.deco.bad_run(t)), x)


def test_wrong_definitions_are_refused():
    def fine(x: trtp.TensorDesc) -> trtp.TensorDesc:
        return x.like()

    with pytest.raises(ValueError, match="not of the form 'namespace::name'"):
        trtp.register("scale")(fine)
    for decorator in (trtp.register, trtp.impl, trtp.autotune):
        for wrong in (5, None, fine):
            with pytest.raises(TypeError, match="expected a plugin id, 'namespace::name', found"):
                decorator(wrong)
        with pytest.raises(TypeError, match="the decorator is for a function, not for 5"):
            decorator("deco::wrong")(5)
    with pytest.raises(ValueError, match="deco::scale is registered already"):
        trtp.register("deco::scale")(fine)

    def untyped(x, k: int) -> trtp.TensorDesc: ...
    def endless(x: trtp.TensorDesc): ...
    def of_lists(x: trtp.TensorDesc, k: list) -> trtp.TensorDesc: ...
    def turned(k: int, x: trtp.TensorDesc) -> trtp.TensorDesc: ...
    for function, message in ((untyped, "'x' has no annotation"), (endless, "no return annotation"),
                              (of_lists, "attribute 'k' is of type <class 'list'>"),
                              (turned, "input 'x' stands behind attributes")):
        with pytest.raises(ValueError, match=message):
            trtp.register("deco::wrong")(function)
    with pytest.raises(ValueError, match="deco::unknown is not registered"):
        trtp.impl("deco::unknown")(fine)
    with pytest.raises(ValueError, match=r"arguments \(x, wrong, outputs\)"):
        trtp.impl("deco::circular_pad")(lambda x, wrong, outputs: None)
    with pytest.raises(ValueError, match="has a function for impl already"):
        trtp.impl("deco::scale")(run_scale)
    with pytest.raises(NotImplementedError, match="aot_impl is not supported yet"):
        trtp.aot_impl("deco::scale")
    with pytest.raises(NotImplementedError, match="SymInt8 is not supported yet"):
        trtp.SymInt8(3)


def test_wrong_calls_are_refused():
    network = trt.Builder(LOGGER).create_network()
    x = network.add_input("x", trt.float32, (2, 3))
    op = trtp.op.deco
    with pytest.raises(TypeError, match=r"has the inputs \(x\); 2 are given"):
        op.scale(x, x, factor=1.0)
    with pytest.raises(TypeError, match="no attribute 'faktor'"):
        op.scale(x, faktor=1.0)
    with pytest.raises(ValueError, match="attribute 'factor' is not given"):
        op.scale(x)
    with pytest.raises(TypeError, match="attribute 'factor' is 'much'"):
        op.scale(x, factor="much")
    with pytest.raises(TypeError, match="attribute 'offset' is 1.5; expected .*int"):
        op.scale(x, factor=1.0, offset=1.5)
    with pytest.raises(AttributeError, match="no plugin deco::nothing"):
        op.nothing
    with pytest.raises(AttributeError, match="namespace 'nobody'"):
        trtp.op.nobody
    with pytest.raises(TypeError, match="expected what a function of tensorrt.plugin.op gives"):
        network.add_plugin(3)
    with pytest.raises(NotImplementedError, match="aot"):
        network.add_plugin(op.scale(x, factor=1.0), aot=True)


def test_shape_expressions():
    a, b = trtp.ShapeExpr(7), trtp.ShapeExpr(2)
    values = [a + b, 1 + a, a - b, 10 - b, a * 3, 3 * a, a // b, 15 // b, trtp.cdiv(a, b),
              trtp.max(a, 9), trtp.min(3, a), a == 7, a < b, a > b]
    assert [e.constant_value() for e in values] == [9, 8, 5, 8, 21, 21, 3, 7, 4, 9, 3, 1, 0, 1]
    fake = trtp.ShapeExpr()
    assert fake.is_fake and (fake + a).is_fake and not a.is_fake
    with pytest.raises(RuntimeError, match="fake"):
        fake.is_constant
    with pytest.raises(ValueError, match="divided by 0"):
        a // 0
    with pytest.raises(ValueError, match="needs a ShapeExpr"):
        trtp.cdiv(3, 2)
    shape = trtp.ShapeExprs.from_tuple((a, 3))
    shape[1] += 2
    assert shape.numel().constant_value() == 35 and len(shape) == 2
    with pytest.raises(ValueError, match="a shape of 9 dimensions"):
        trtp.ShapeExprs(9)


def test_shapes_and_descriptions():
    shape = trtp.Shape((2, -1))
    assert shape.is_dynamic and tuple(shape) == (2, -1) and str(shape) == "Shape([2, -1])"
    with pytest.raises(ValueError, match="no fixed number"):
        shape.numel()
    shape[1] = 5
    assert shape.numel() == 10
    desc = trtp.TensorDesc((10, 2), dtype=trt.float32)
    assert desc.ndim == 2 and desc.numel().constant_value() == 20 and not desc.is_dynamic
    assert desc.has_shape_expr and not desc.has_shape and not desc.is_size_tensor
    with pytest.raises(AttributeError, match="see shape_expr"):
        desc.shape
    alias = desc.aliased()
    assert alias.is_aliased and alias.get_aliased() is desc and not desc.like().is_aliased


def test_aliased_outputs_are_refused_by_name():
    @trtp.register("deco::in_place")
    def _(x: trtp.TensorDesc) -> trtp.TensorDesc:
        return x.aliased()

    messages = []

    class Listens(trt.ILogger):
        def log(self, severity, msg):
            messages.append(msg)

    builder = trt.Builder(Listens())
    network = builder.create_network()
    x = network.add_input("x", trt.float32, (2, 3))
    network.mark_output(network.add_plugin(trtp.op.deco.in_place(x)).get_output(0))
    assert builder.build_serialized_network(network, builder.create_builder_config()) is None
    assert any("share the memory of input 0" in m and "not supported yet" in m for m in messages)


@pytest.mark.parametrize("types, layouts, message", [
    ("FP32, FOO", None, "'FOO' is none of"), ("FP32|FP16*INT32", None, "cannot both"),
    ("FP32", "ROUND", "'ROUND' is none of")])
def test_wrong_combinations(types, layouts, message):
    with pytest.raises(ValueError, match=message):
        trtp.AutoTuneCombination(types, layouts)


def test_combinations_are_dependent_or_not():
    def fits(combination, *types):
        descs = []
        for kind in types:
            descs.append(trt.PluginTensorDesc())
            descs[-1].type = kind
        return combination.tactics_for(descs) is not None

    together = trtp.AutoTuneCombination("FP32|FP16, FP32|FP16, INT32")
    assert fits(together, trt.float32, trt.float32, trt.int32) and fits(together, trt.float16)
    assert not fits(together, trt.float32, trt.float16)
    assert not fits(together, trt.float32, trt.float32, trt.int8)
    apart = trtp.AutoTuneCombination("FP32*FP16, FP32|FP16, FP32|FP16", "LINEAR|HWC")
    assert fits(apart, trt.float16, trt.float32, trt.float32)
    assert not fits(apart, trt.float16, trt.float32, trt.float16)
    with pytest.raises(ValueError, match="positive numbers"):
        trtp.AutoTuneCombination("FP32", tactics=[0])
