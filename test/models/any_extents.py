"""Lets the batch, height and width of a convolutional network vary: convert(bytes) -> onnx.ModelProto.

For models that were exported with one shape written into them, which no operator depends on.
"""
import onnx

NAMES = {0: "batch", 2: "height", 3: "width"}


def convert(data):
    model = onnx.load_model_from_string(data)
    graph = model.graph
    weights = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in weights]
    for value in [*inputs, *graph.output]:
        for axis, name in NAMES.items():
            of_output = f"{value.name}_{name}" if axis > 0 and value not in inputs else name
            value.type.tensor_type.shape.dim[axis].dim_param = of_output
    used = {name for node in graph.node for name in node.input}
    kept = [tensor for tensor in graph.initializer if tensor.name in used]
    del graph.input[:], graph.value_info[:], graph.initializer[:]
    graph.input.extend(inputs)
    graph.initializer.extend(kept)
    onnx.checker.check_model(model, full_check=True)
    return model
