"""From a torch.nn.Module to ONNX, by torch.onnx.export's TorchScript exporter."""
import inspect
import io
import warnings

import torch

_CHECKER_ERROR = getattr(torch.onnx.errors, "CheckerError", ())  # newer versions do not check


def export(module, inputs, profiles):
    """(bytes of the ONNX model, {input: shape of its example}).

    inputs: example tensors, a tuple in the order of forward()'s parameters or a dictionary.
    profiles: dictionaries {input: shape or (min, opt, max)}; extents that differ among their shapes
        and the example's are dynamic. Inputs have the names of forward()'s parameters; outputs are
        "output_0" and so on, or the keys of a dictionary that the module returns.
    """
    if inputs is None:
        raise TypeError("a torch.nn.Module needs example inputs: inputs=(tensor, ...)")
    if isinstance(inputs, torch.Tensor):
        inputs = (inputs,)
    if not isinstance(inputs, (tuple, list, dict)):
        raise TypeError("inputs: expected a tensor, a tuple or a dictionary of tensors, found "
                        + type(inputs).__name__)
    names = _parameters(module, inputs)
    values = [inputs[name] for name in names] if isinstance(inputs, dict) else list(inputs)
    for name, value in zip(names, values):
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"inputs: '{name}' is no tensor but {type(value).__name__}")
    examples = {name: tuple(value.shape) for name, value in zip(names, values)}
    model = to_onnx(module, tuple(values), names, "output_{}", _dynamic_axes(examples, profiles))
    return model, examples


def to_onnx(module, inputs, names, output_names, dynamic_axes, opset=None):
    """The ONNX model's bytes. output_names: a list, or a format for the outputs' numbers."""
    mode = module.training
    module.eval()
    try:
        if isinstance(output_names, str):
            with torch.no_grad():
                output_names = _output_names(module(*inputs), output_names)
        options = {"dynamo": False} if "dynamo" in _signature(torch.onnx.export) else {}
        file = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            try:
                torch.onnx.export(module, inputs, file, input_names=list(names),
                                  output_names=list(output_names), dynamic_axes=dynamic_axes,
                                  opset_version=opset, **options)
            except _CHECKER_ERROR:
                # ONNX does not know the operators of plugins. The model is written all the same,
                # and the builder says what is wrong with it.
                if not file.getvalue():
                    raise
    finally:
        module.train(mode)
    return file.getvalue()


def _signature(function):
    return inspect.signature(function).parameters


def _parameters(module, inputs):
    if isinstance(module, torch.jit.ScriptModule):
        parameters = module.forward.schema.arguments[1:]
        return _chosen([p.name for p in parameters], inputs, any_number=False)
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = _signature(module.forward).values()
    return _chosen([p.name for p in parameters if p.kind in kinds], inputs,
                   any(p.kind == p.VAR_POSITIONAL for p in parameters))


def _chosen(names, inputs, any_number):
    """The names of `inputs`, of forward()'s parameters `names` and maybe any number more."""
    if isinstance(inputs, dict):
        for name in inputs:
            if name not in names:
                raise TypeError(f"inputs: forward() has no parameter '{name}'; it has {names}")
        return names[:len(inputs)] if set(names[:len(inputs)]) == set(inputs) else list(inputs)
    if any_number:
        names += [f"input_{i}" for i in range(len(names), len(inputs))]
    if len(names) < len(inputs):
        raise TypeError(f"inputs: {len(inputs)} tensors are given, but forward() takes {names}")
    return names[:len(inputs)]


def _output_names(result, form):
    if isinstance(result, dict):
        return [str(name) for name in result]
    count = len(result) if isinstance(result, (tuple, list)) else 1
    return [form.format(i) for i in range(count)]


def _dynamic_axes(examples, profiles):
    axes = {}
    for name, example in examples.items():
        shapes = [example]
        for profile in profiles:
            shape = profile.get(name, example)
            shapes += shape if shape and isinstance(shape[0], (tuple, list)) else [shape]
        dynamic = {i: f"{name}_{i}" for i in range(len(example))
                   if any(len(s) > i and s[i] != example[i] for s in shapes)}
        if dynamic:
            axes[name] = dynamic
    return axes
