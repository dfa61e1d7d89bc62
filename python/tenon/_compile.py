"""From a model to an engine."""
import operator
import os
import re
import sys

import numpy as np

from tenon import _timing_cache
from tenon import tensorrt as trt
from tenon._engine import Engine, register_plugins
from tenon._messages import failure, listen, report
from tenon._native import (set_calibration_search, set_deterministic, set_portable, set_target,
                           set_weight_growth_limits)
from tenon._quantize import ArrayCalibrator


def compile(model, *, shapes=None, inputs=None, precision="fp32", target=None, portable=False,
            deterministic=False, plugins=(), timing_cache=None, workspace=None, weight_growth=None,
            optimization_level=None, progress=None, verbose=False, calibration=None) -> Engine:
    """Builds an engine from a model.

    model: an ONNX file (path), the bytes of one, an onnx.ModelProto, a torch.nn.Module, or a
        tensorrt.INetworkDefinition.
    shapes: {input: shape}, or {input: (min, opt, max)} for a dynamic input, each a tuple of ints;
        or a list of such dictionaries, each an optimization profile. For an input whose elements
        decide shapes, its elements. Dynamic inputs need an entry.
    inputs: example inputs of a torch.nn.Module, a tuple or a dictionary; it is exported with them,
        and what `shapes` leaves out has their shapes.
    precision: "fp32", "tf32", "fp16", "bf16" or "int8": what layers of float32 may compute in where the
        target is fast in it, which "cpu" is not. Inputs and outputs keep their types, and so do
        the model's own 16-bit and quantized tensors.
    target: "cpu" or "cuda"; None for the environment variable TENON_TARGET, or else "cuda" where
        there is a GPU.
    portable: whether the plan can be built again where it is loaded on another machine.
    deterministic: whether kernels are chosen without measuring: by the timing cache, or else by
        their order. Two builds then give the same plan; others can differ, for what is fastest
        changes from moment to moment.
    plugins: shared libraries with plugins that the model needs.
    timing_cache: a file that remembers which kernels are fast; read if it is there, and written.
        One that cannot be used is ignored, with a warning of the logger "tenon".
    workspace: the most scratch memory of a layer, in bytes or as "512MiB".
    weight_growth: how much larger than in the model all weights may be in the forms that kernels
        hold them in, in bytes or as "100MiB"; 0 keeps the engine small, None lets it be fast.
    optimization_level: 0 to 5, how long the builder may search.
    progress: True, False, or a function (phase, done, total); None shows it on a terminal.
    verbose: writes the engine's messages to standard error.
    calibration: for "int8" of a model that is not quantized: {input: array}, samples along the first
        axis, of which batches of the first profile's optimal shape are run and the range of each
        tensor holds 99.99 % of its values; or a tensorrt.IInt8Calibrator.

    Raises tenon.Error with the engine's messages, ValueError for shapes that do not fit, TypeError
    for a model of another kind, NotImplementedError for a precision that is not supported yet.
    """
    flag = precision_flag(precision)
    messages = listen(verbose)
    register_plugins(plugins, messages)
    profiles, examples = _profiles(shapes), {}
    if _is_module(model):
        from tenon._export import export
        model, examples = export(model, inputs, profiles)
    elif inputs is not None:
        raise TypeError("inputs are for a torch.nn.Module; an ONNX model has its own")
    network, what, parser = read(model, messages)
    builder = network.builder
    config = builder.create_builder_config()
    config.clear_flag(trt.BuilderFlag.TF32)  # which is there by default
    if flag is not None:
        config.set_flag(flag)
    if target is not None and not set_target(config, target):
        raise failure(f"there is no target {target!r}", messages)
    set_portable(config, portable)
    set_deterministic(config, deterministic)
    # What a module does not use is no input of the network.
    names = {network.get_input(i).name for i in range(network.num_inputs)}
    examples = {name: shape for name, shape in examples.items() if name in names}
    for profile in profiles:
        add_profile(builder, config, network, {**examples, **profile})
    if workspace is not None:
        config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, _bytes("workspace", workspace))
    if weight_growth is not None:
        set_weight_growth_limits(config, plan=_bytes("weight_growth", weight_growth))
    if optimization_level is not None:
        if optimization_level not in range(6):
            raise ValueError(f"optimization_level={optimization_level!r}: expected 0 to 5")
        config.builder_optimization_level = optimization_level
    if progress is None:
        progress = sys.stderr.isatty()
    if progress:
        from tenon._progress import Progress
        config.progress_monitor = Progress(progress if callable(progress) else None)
    calibrator = _set_calibrator(config, network, profiles[0], precision, calibration)
    save_timings = None
    if timing_cache is not None:
        save_timings = _timing_cache.use(timing_cache, config, messages)
    plan = builder.build_serialized_network(network, config)
    if isinstance(calibrator, ArrayCalibrator):
        calibrator.free()
    if plan is None:
        raise failure(f"cannot build {what}", messages)
    if save_timings is not None:
        save_timings()
    report(messages)
    engine = trt.Runtime(messages).deserialize_cuda_engine(plan)
    if engine is None:
        raise failure(f"cannot load what was built from {what}", messages)
    return Engine(engine, messages=messages)


_FLAGS = {"fp32": None, "tf32": trt.BuilderFlag.TF32, "fp16": trt.BuilderFlag.FP16,
          "bf16": trt.BuilderFlag.BF16, "int8": trt.BuilderFlag.INT8}


def precision_flag(precision):
    """The BuilderFlag that allows it, None for "fp32"."""
    if precision in ("fp8", "int4", "best"):
        raise NotImplementedError(
            f"precision={precision!r} is not supported yet; a model's own quantized tensors keep "
            "their types")
    if precision not in _FLAGS:
        raise ValueError(f"precision={precision!r}: expected one of {', '.join(map(repr, _FLAGS))}")
    return _FLAGS[precision]


def _set_calibrator(config, network, profile, precision, calibration):
    """The calibrator, which must live until the network is built; None where none is needed."""
    if calibration is None:
        layers = {network.get_layer(i).type for i in range(network.num_layers)}
        if precision == "int8" and not layers & {trt.LayerType.QUANTIZE, trt.LayerType.DEQUANTIZE}:
            raise ValueError("precision='int8': the model is not quantized: give samples with calibration=")
        return None
    if precision != "int8":
        raise ValueError(f"calibration is for precision='int8', not {precision!r}")
    calibrator = calibration
    if isinstance(calibration, dict):
        shapes, samples = {}, dict(calibration)
        for tensor in (network.get_input(i) for i in range(network.num_inputs)):
            if tensor.name not in samples:
                raise ValueError(f"calibration: there are no samples of input '{tensor.name}'")
            samples[tensor.name] = np.asarray(samples[tensor.name], trt.nptype(tensor.dtype))
            given = profile.get(tensor.name)
            shapes[tensor.name] = (tuple(tensor.shape) if given is None
                                   else _min_opt_max(tensor.name, given)[1])
        calibrator = ArrayCalibrator(samples, shapes)
        set_calibration_search(config, "percentile")
    config.int8_calibrator = calibrator
    return calibrator


def read(model, messages):
    """(network, what it was made from, its parser) of an ONNX model or a network."""
    if isinstance(model, trt.INetworkDefinition):
        return model, f"network '{model.name}'", None
    network = trt.Builder(messages).create_network(
        1 << int(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH))
    parser = trt.OnnxParser(network, messages)
    what = "the model"
    if isinstance(model, (str, os.PathLike)):
        path = os.fspath(model)
        if not os.path.isfile(path):
            raise FileNotFoundError(f"there is no model '{path}'")
        what = f"'{path}'"
        parsed = parser.parse_from_file(path)
    elif isinstance(model, (bytes, bytearray, memoryview)):
        parsed = parser.parse(model)
    elif hasattr(model, "SerializeToString"):
        parsed = parser.parse(model.SerializeToString())
    else:
        raise TypeError(
            "expected an ONNX file, its bytes, an onnx.ModelProto, a torch.nn.Module or a "
            f"tensorrt.INetworkDefinition, found {type(model).__name__}")
    if not parsed:
        raise failure(f"cannot read {what}", messages)
    return network, what, parser


def add_profile(builder, config, network, shapes):
    """An optimization profile from {input: shape} or {input: (min, opt, max)}."""
    profile = builder.create_optimization_profile()
    tensors = {t.name: t for t in (network.get_input(i) for i in range(network.num_inputs))}
    for name in shapes:
        if name not in tensors:
            raise ValueError(f"shapes: there is no input '{name}'; the inputs are "
                             + ", ".join(f"'{n}'" for n in tensors))
    missing = []
    for name, tensor in tensors.items():
        extents = tuple(tensor.shape)
        if name not in shapes:
            if -1 in extents or tensor.is_shape_tensor:
                missing.append(f"'{name}' {extents}")
            continue
        three = _min_opt_max(name, shapes[name])
        if tensor.is_shape_tensor:
            profile.set_shape_input(name, *three)
            continue
        for shape in three:
            if len(shape) != len(extents) or any(e not in (-1, s) for e, s in zip(extents, shape)):
                raise ValueError(f"shapes: input '{name}' has shape {extents}, found {shape}")
        if not all(a <= b <= c for a, b, c in zip(*three)):
            raise ValueError(f"shapes: input '{name}': expected min <= opt <= max, found {three}")
        profile.set_shape(name, *three)
    if missing:
        raise ValueError(f"dynamic inputs need shapes: {', '.join(missing)}; give "
                         "shapes={name: shape} or shapes={name: (min, opt, max)}")
    config.add_optimization_profile(profile)


def _min_opt_max(name, shape):
    try:
        shape = tuple(shape)
        if all(isinstance(s, (tuple, list)) for s in shape) and shape:
            if len(shape) != 3:
                raise ValueError
            return tuple(tuple(map(_extent, s)) for s in shape)
        return (tuple(map(_extent, shape)),) * 3
    except (TypeError, ValueError):
        raise ValueError(f"shapes: input '{name}': expected a shape or (min, opt, max), "
                         f"found {shape}") from None


def _extent(value):
    value = operator.index(value)
    if not -2**63 <= value < 2**63:
        raise ValueError
    return value


def _profiles(shapes):
    profiles = list(shapes) if isinstance(shapes, (list, tuple)) else [shapes or {}]
    for profile in profiles:
        if not isinstance(profile, dict):
            raise TypeError(f"shapes: expected {{input: shape}}, found {type(profile).__name__}")
    return profiles


def _is_module(model):
    return any(kind.__module__ == "torch.nn.modules.module" for kind in type(model).__mro__)


def _bytes(name, size):
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMG]?)(i?B)?\s*", str(size))
    count = int(float(match[1]) * 1024 ** " KMG".index(match[2] or " ")) if match else 2**63
    if count >= 2**63:
        raise ValueError(f"{name}={size!r}: expected bytes, or a text such as '512MiB'")
    return count
