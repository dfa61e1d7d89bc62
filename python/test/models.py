"""Small ONNX models for the tests, and what runs them."""
import numpy as np
import onnx
import tenon.tensorrt as trt
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT


def value(name, shape, dtype=FLOAT):
    """An input or output; text in the shape stands for dimensions that vary."""
    return helper.make_tensor_value_info(name, dtype, shape)


def model(nodes, inputs, outputs, constants=None):
    """The bytes of a model; `constants` are NumPy arrays by their names."""
    initializers = [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()]
    graph = helper.make_graph(nodes, "test", inputs, outputs, initializers)
    onnx_model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(onnx_model)
    return onnx_model.SerializeToString()


def relu(rows="n"):
    """y = max(x, 0), of shape (rows, 4)."""
    return model([helper.make_node("Relu", ["x"], ["y"], name="relu")], [value("x", [rows, 4])],
                 [value("y", [rows, 4])])


def dense(weights):
    """y = x @ weights, with any number of rows."""
    rows, columns = weights.shape
    return model([helper.make_node("MatMul", ["x", "w"], ["y"])], [value("x", ["n", rows])],
                 [value("y", ["n", columns])], {"w": weights})


def shapes_of(builder, **inputs):
    """A profile from (min, opt, max) of each input."""
    profile = builder.create_optimization_profile()
    for name, shapes in inputs.items():
        profile.set_shape(name, *shapes)
    return profile


def plan_of(onnx_bytes, logger=None, **inputs):
    """The plan of a model, with a profile of these shapes if there are any."""
    logger = logger or trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network()
    parser = trt.OnnxParser(network, logger)
    assert parser.parse(onnx_bytes), parser.get_error(0)
    config = builder.create_builder_config()
    if inputs:
        config.add_optimization_profile(shapes_of(builder, **inputs))
    plan = builder.build_serialized_network(network, config)
    assert plan is not None
    return plan


def engine_of(onnx_bytes, logger=None, **inputs):
    """The engine of a model; it keeps its runtime and logger."""
    logger = logger or trt.Logger(trt.Logger.ERROR)
    return trt.Runtime(logger).deserialize_cuda_engine(plan_of(onnx_bytes, logger, **inputs))


def run(context, **inputs):
    """The outputs by name for NumPy inputs by name."""
    engine = context.engine
    for name, array in inputs.items():
        assert context.set_input_shape(name, array.shape)
    arrays = []
    for name in engine:
        dtype = trt.nptype(engine.get_tensor_dtype(name))
        arrays.append(np.ascontiguousarray(inputs[name]) if name in inputs
                      else np.empty(tuple(context.get_tensor_shape(name)), dtype))
    assert context.execute_v2([array.ctypes.data for array in arrays])
    return {name: array for name, array in zip(engine, arrays) if name not in inputs}
