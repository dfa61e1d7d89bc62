"""Networks and their parts: lifetimes, classes, errors, loops, conditionals, names of 8.x."""
import gc
import sys
import weakref

import numpy as np
import pytest

import tenon.tensorrt as trt
from networks import Messages, constant, evaluate, new_network, run


def with_input(shape=(1, 3, 8, 8), dtype=trt.float32, logger=None):
    network = new_network(logger)
    return network, network.add_input("x0", dtype, shape)


# Loops and conditionals.

def test_loop_that_counts():
    """x doubled three times, and all its values."""
    def define(network, x):
        loop = network.add_loop()
        loop.name = "doubling"
        limit = loop.add_trip_limit(constant(network, np.array(3, np.int32)), trt.TripLimit.COUNT)
        value = loop.add_recurrence(x)
        doubled = network.add_elementwise(value.get_output(0), value.get_output(0),
                                          trt.ElementWiseOperation.SUM).get_output(0)
        value.set_input(1, doubled)
        last = loop.add_loop_output(value.get_output(0), trt.LoopOutput.LAST_VALUE)
        every = loop.add_loop_output(doubled, trt.LoopOutput.CONCATENATE, axis=0)
        every.set_input(1, constant(network, np.array(3, np.int32)))
        assert (limit.kind, every.kind, every.axis) == (
            trt.TripLimit.COUNT, trt.LoopOutput.CONCATENATE, 0)
        assert limit.loop is loop and limit.loop.name == "doubling"
        return last.get_output(0), every.get_output(0)
    x = np.array([1, 2], np.float32)
    last, every = evaluate(define, x)
    np.testing.assert_array_equal(last, 8 * x)
    np.testing.assert_array_equal(every, [2 * x, 4 * x, 8 * x])


def test_loop_over_slices_while_a_condition_holds():
    """Sums rows from the last one while the sum is below a limit."""
    rows = np.array([[5, 5], [4, 4], [3, 3], [2, 2]], np.float32)

    def define(network, x):
        loop = network.add_loop()
        iterator = loop.add_iterator(x, axis=0, reverse=True)
        assert iterator.reverse and iterator.axis == 0
        total = loop.add_recurrence(constant(network, np.zeros(2, np.float32)))
        largest = network.add_reduce(total.get_output(0), trt.ReduceOperation.MAX, 1, False)
        limit = constant(network, np.array(5, np.float32))
        below = network.add_elementwise(largest.get_output(0), limit, trt.ElementWiseOperation.LESS)
        loop.add_trip_limit(below.get_output(0), trt.TripLimit.WHILE)
        total.set_input(1, network.add_elementwise(
            total.get_output(0), iterator.get_output(0), trt.ElementWiseOperation.SUM).get_output(0))
        return loop.add_loop_output(total.get_output(0), trt.LoopOutput.LAST_VALUE).get_output(0)
    np.testing.assert_array_equal(evaluate(define, rows)[0], [5, 5])


@pytest.mark.parametrize("positive", [True, False])
def test_conditional(positive):
    def define(network, x, condition):
        choice = network.add_if_conditional()
        decides = choice.set_condition(condition)
        inside = choice.add_input(x)
        negated = network.add_unary(inside.get_output(0), trt.UnaryOperation.NEG)
        doubled = network.add_elementwise(inside.get_output(0), inside.get_output(0),
                                          trt.ElementWiseOperation.SUM)
        output = choice.add_output(doubled.get_output(0), negated.get_output(0))
        assert decides.conditional is output.conditional is inside.conditional is choice
        return output.get_output(0)
    x = np.arange(3, dtype=np.float32)
    found, = evaluate(define, x, np.array(positive))
    np.testing.assert_array_equal(found, x * 2 if positive else -x)


# Layers as objects.

def test_layers_have_their_own_classes():
    network, x = with_input()
    made = [network.add_activation(x, trt.ActivationType.RELU), network.add_softmax(x),
            network.add_shuffle(x), network.add_constant((1,), np.ones(1, np.float32)),
            network.add_convolution_nd(x, 2, (1, 1), np.ones((2, 3, 1, 1), np.float32)),
            network.add_fully_connected(x, 2, np.ones((2, 192), np.float32))]
    classes = [type(layer) for layer in made]
    assert classes[-2:] == [trt.IConvolutionLayer, trt.IFullyConnectedLayer]
    assert [layer is network.get_layer(i) for i, layer in enumerate(made)] == [True] * 6
    del made
    gc.collect()
    assert [type(layer) for layer in network] == classes
    assert [layer.type for layer in network][-1] == trt.LayerType.FULLY_CONNECTED


def test_layers_of_every_type_have_a_class():
    classes = {name for name in vars(trt) if name.startswith("I") and name.endswith("Layer")}
    special = {"FULLY_CONNECTED", "RNN_V2", "PLUGIN"}  # of 8.x and before
    named = {name.replace("Layer", "").upper()[1:] for name in classes}
    for name in set(trt.LayerType.__members__) - special:
        plain = name.replace("_", "")
        assert {plain, "IF" + plain} & named, name


def test_assigning_the_class_of_a_layer_is_harmless():
    network, x = with_input()
    network.add_convolution_nd(x, 2, (1, 1), np.ones((2, 3, 1, 1), np.float32))
    layer = network.get_layer(0)
    layer.__class__ = trt.IConvolutionLayer
    layer.__class__ = trt.ILayer
    assert type(layer) is layer.__class__ is trt.IConvolutionLayer and layer.num_output_maps == 2
    for wrong in (trt.IActivationLayer, int, None):
        with pytest.raises(TypeError, match="the layer is a .*IConvolutionLayer, not a"):
            layer.__class__ = wrong
    assert layer.num_output_maps == 2


def test_properties_of_layers_and_tensors():
    network, x = with_input((-1, 3))
    layer = network.add_identity(x)
    layer.name, layer.metadata = "first", "about it"
    assert (layer.name, layer.metadata, layer.type) == ("first", "about it", trt.LayerType.IDENTITY)
    assert layer.num_inputs == layer.num_outputs == 1 and layer.get_input(0) is x
    assert not layer.precision_is_set and layer.precision == trt.float32
    layer.precision = trt.float16
    layer.set_output_type(0, trt.float16)
    assert layer.precision_is_set and layer.output_type_is_set(0)
    assert layer.get_output_type(0) == trt.float16
    layer.reset_precision()
    layer.reset_output_type(0)
    assert not layer.precision_is_set and not layer.output_type_is_set(0)

    y = layer.get_output(0)
    y.name = "y"
    assert (y.name, y.shape, y.dtype, y.is_network_input, x.is_network_input) == (
        "y", (-1, 3), trt.float32, False, True)
    network.mark_output(y)
    assert y.is_network_output and network.get_output(0) is y and network.num_outputs == 1
    network.unmark_output(y)
    assert not y.is_network_output and y.is_execution_tensor and not y.is_shape_tensor
    x.set_dimension_name(0, "batch")
    assert x.get_dimension_name(0) == "batch" and x.get_dimension_name(1) is None
    x.shape = [2, 3]
    x.allowed_formats = 1 << int(trt.TensorFormat.LINEAR)
    assert x.shape == (2, 3) and x.allowed_formats == 1 and x.location == trt.TensorLocation.DEVICE
    assert x.dynamic_range is None and x.set_dynamic_range(-1, 2)
    assert x.dynamic_range == (-1, 2)
    x.dynamic_range = (-3, 3)
    assert x.dynamic_range == (-3, 3)
    x.reset_dynamic_range()
    assert x.dynamic_range is None


def test_network_is_a_sequence_of_layers():
    network, x = with_input()
    network.name = "small"
    for _ in range(3):
        x = network.add_identity(x).get_output(0)
    assert len(network) == network.num_layers == 3 and network.name == "small"
    assert [layer.name for layer in network] == [network[i].name for i in range(3)]
    assert network[-1] is network[2] and network.get_layer(3) is None is network.get_layer(-1)
    for index in (3, -4):
        with pytest.raises(IndexError):
            network[index]
    assert network.get_input(0).name == "x0" and network.get_input(1) is network.get_output(0) is None
    assert network.get_flag(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH)
    assert network.flags & 1 and not network.has_implicit_batch_dimension


# Wrong arguments.

def test_wrong_types_are_type_errors():
    network, x = with_input()
    kernel = np.ones((4, 3, 3, 3), np.float32)
    for call in (lambda: network.add_activation(None, trt.ActivationType.RELU),
                 lambda: network.add_activation(x, 0),
                 lambda: network.add_activation(x, trt.UnaryOperation.EXP),
                 lambda: network.add_convolution_nd(x, 4, 3, kernel),
                 lambda: network.add_convolution_nd(x, 4, (3, 3), [1.0]),
                 lambda: network.add_convolution_nd(x, 4, (3, 3), None),
                 lambda: network.add_concatenation(x),
                 lambda: network.add_concatenation([x, "x"]),
                 lambda: network.add_reduce(x, trt.ReduceOperation.SUM, -1, True),
                 lambda: network.add_reduce(x, trt.ReduceOperation.SUM, 1, "yes"),
                 lambda: network.add_input("y", "float32", (1,)),
                 lambda: network.mark_output(None),
                 lambda: setattr(x, "dtype", "float32"),
                 lambda: setattr(x, "unknown", 1),
                 lambda: trt.INetworkDefinition(), lambda: trt.ITensor(), lambda: trt.ILayer()):
        with pytest.raises((TypeError, AttributeError)):
            call()
    with pytest.raises(TypeError, match=r"dtype\(\): incompatible"):  # names the property
        x.dtype = "float32"
    assert len(network) == 0


def test_weights_of_other_types_say_what_to_do():
    network, x = with_input()
    with pytest.raises(ValueError, match="weights cannot be float64; convert the array"):
        network.add_constant((2,), np.zeros(2))
    layer = network.add_convolution_nd(x, 4, (1, 1), np.ones((4, 3, 1, 1), np.float32))
    with pytest.raises(ValueError, match="weights cannot be int16"):
        layer.bias = np.zeros(4, np.int16)
    with pytest.raises(TypeError):
        layer.bias = "none"
    masked = np.ma.masked_array(np.ones(4, np.float32), [0, 1, 0, 0])
    for give in (lambda: setattr(layer, "bias", masked), lambda: network.add_constant((4,), masked),
                 lambda: trt.Weights(masked)):
        with pytest.raises(TypeError, match="MaskedArray: the engine knows no masks"):
            give()


def test_shapes_of_other_kinds_say_what_to_do():
    network, x = with_input()
    with pytest.raises(TypeError, match="a dimension is an int, not a NoneType; -1 stands for"):
        network.add_input("y", trt.float32, (None, 3))
    with pytest.raises(TypeError, match="not a float"):
        network.add_pooling_nd(x, trt.PoolingType.MAX, [2.0, 2])
    with pytest.raises(ValueError, match="not equal to expected DimsHW length, which is 2"):
        network.add_pooling(x, trt.PoolingType.MAX, (2, 2, 2))
    with pytest.raises(ValueError, match="Input length 9"):
        network.add_shuffle(x).first_transpose = range(9)
    for wrong in ("22", 2, None):
        with pytest.raises(TypeError):
            network.add_pooling_nd(x, trt.PoolingType.MAX, wrong)
    size = np.array([2, 2])
    assert network.add_pooling_nd(x, trt.PoolingType.MAX, size).window_size_nd == (2, 2)


def test_what_does_not_fit_is_none_and_logged():
    logger = Messages()
    network, x = with_input(logger=logger)
    assert network.add_constant((2,), np.zeros(3, np.float32)) is None
    assert network.add_input("x0", trt.float32, (1,)) is None
    assert network.add_concatenation([x, None]) is None
    layer = network.add_identity(x)
    assert layer.get_output(1) is layer.get_input(7) is layer.get_output(-1) is None
    layer.set_input(5, x)
    assert len(logger.errors) == 4
    assert "3 weights do not fill" in logger.errors[0] and "'x0'" in logger.errors[1]
    with pytest.raises(ValueError, match="exactly 2 elements"):
        x.dynamic_range = (1,)
    with pytest.raises(ValueError, match="smaller one first"):
        x.dynamic_range = (1, -1)


def test_exceptions_of_a_logger_come_out_of_the_call():
    class Raising(trt.ILogger):
        def __init__(self):
            trt.ILogger.__init__(self)

        def log(self, severity, msg):
            if severity <= trt.ILogger.ERROR:
                raise KeyError(msg)

    network, x = with_input(logger=Raising())
    with pytest.raises(KeyError, match="3 weights do not fill"):
        network.add_constant((2,), np.zeros(3, np.float32))
    with pytest.raises(KeyError):
        network.add_identity(x).set_input(9, x)


# Lifetimes.

def test_weights_are_copied():
    arrays = [np.full((2, 3, 1, 1), 2, np.float32), np.ones(2, np.float32),
              np.full(2, 5, np.float32), np.full((2, 1, 1), 3, np.float32)]
    gone = [weakref.ref(array) for array in arrays]
    network, x = with_input((1, 3, 2, 2))
    layer = network.add_convolution_nd(x, 2, (1, 1), arrays[0], arrays[1])
    layer.bias = arrays[2]
    three = network.add_constant((1, 2, 1, 1), trt.Weights(arrays[3]))
    y = network.add_elementwise(layer.get_output(0), three.get_output(0),
                                trt.ElementWiseOperation.PROD).get_output(0)
    network.mark_output(y)
    arrays[0][:] = -1
    del arrays
    assert not any(array() is not None for array in gone)
    found, = run(network, np.ones((1, 3, 2, 2), np.float32))
    assert found.tolist() == np.full((1, 2, 2, 2), (2 * 3 + 5) * 3).tolist()


def test_weights_that_have_gaps_are_copied():
    network, x = with_input((2, 3))
    values = np.arange(6, dtype=np.float32).reshape(3, 2)
    added = network.add_elementwise(x, network.add_constant((2, 3), values.T).get_output(0),
                                    trt.ElementWiseOperation.SUM)
    network.mark_output(added.get_output(0))
    wanted = values.T.copy()
    values[:] = -1
    np.testing.assert_array_equal(run(network, np.zeros((2, 3), np.float32))[0], wanted)


def test_weights_read_back_keep_their_network():
    network, x = with_input()
    view = network.add_constant((4,), np.arange(4, dtype=np.float32)).weights
    del network, x
    gc.collect()
    assert view.tolist() == [0, 1, 2, 3]


def test_parts_keep_their_network_and_the_network_its_builder():
    logger = trt.Logger()
    builder = trt.Builder(logger)
    network = builder.create_network()
    x = network.add_input("x0", trt.float32, (2,))
    layer, loop = network.add_identity(x), network.add_loop()
    choice = network.add_if_conditional()
    assert network.builder is builder
    del builder, network, x, logger
    gc.collect()
    assert layer.get_input(0).name == "x0" and layer.get_output(0).shape == (2,)
    del layer
    gc.collect()
    assert loop.name and choice.name


def test_networks_are_freed():
    def references(of):
        gc.collect()
        return sys.getrefcount(of)

    values, gone = np.ones(1000, np.float32), []
    before = references(values)
    for _ in range(20):
        network, x = with_input((1000,))
        layer = network.add_constant((1000,), values)
        layer.weights = values
        assert network.set_weights_name(values, "ones")
        network.mark_output(network.add_elementwise(
            x, layer.get_output(0), trt.ElementWiseOperation.SUM).get_output(0))
        gone.append(weakref.ref(network))
    assert references(values) == before
    del network, x, layer
    gc.collect()
    assert not any(network() is not None for network in gone)


# Names of 8.x.

def test_layers_under_the_names_of_8():
    kernel, fully = np.ones((2, 3, 3, 3), np.float32), np.ones((4, 18), np.float32)

    def define(network, x):
        convolution = network.add_convolution(x, 2, trt.DimsHW(3, 3), kernel)
        convolution.stride = (2, 2)
        convolution.padding = (1, 1)
        convolution.dilation = (1, 1)
        assert convolution.kernel_size == (3, 3) and convolution.stride_nd == (2, 2)
        pooling = network.add_pooling(convolution.get_output(0), trt.PoolingType.MAX, (2, 2))
        pooling.stride = (1, 1)
        assert pooling.window_size == (2, 2)
        padding = network.add_padding(pooling.get_output(0), (0, 0), (0, 0))
        assert padding.pre_padding == (0, 0)
        connected = network.add_fully_connected(padding.get_output(0), 4, fully,
                                                np.full(4, 0.5, np.float32))
        assert connected.num_output_channels == 4 and connected.bias.tolist() == [0.5] * 4
        back = network.add_deconvolution(pooling.get_output(0), 1, (2, 2),
                                         np.ones((2, 1, 2, 2), np.float32))
        back.stride = (2, 2)
        return pooling.get_output(0), connected.get_output(0), back.get_output(0)
    pooled, connected, back = evaluate(define, np.ones((1, 3, 8, 8), np.float32))
    assert pooled.tolist() == np.full((1, 2, 3, 3), 27).tolist()
    assert connected.tolist() == np.full((1, 4, 1, 1), 27 * 18 + 0.5).tolist()
    assert back.tolist() == np.full((1, 1, 6, 6), 54).tolist()


def test_other_names_of_8():
    network, x = with_input()
    assert not network.has_explicit_precision
    network.destroy()
    assert network.add_identity(x) is not None
    assert trt.SliceMode is trt.SampleMode and trt.ResizeMode is trt.InterpolationMode
    with pytest.raises(NotImplementedError, match="write the recurrence with add_loop"):
        network.add_rnn_v2(x, 1, 2, 3, trt.RNNOperation.LSTM)
    with network as same:
        assert same is network
