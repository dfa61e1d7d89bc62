"""Functions of tensorRT_Pro's pytrt (trtpy) on Tenon: `import tenon.pytrt as pytrt`.

On machines without a GPU `device_id` is accepted, and means nothing. The applications (Yolo, Retinaface, …) and
set_compile_int8_process are not supported yet and say so by name.
"""
import enum
import os
import pathlib
import struct

import numpy as np

from tenon import _wrapper, cudart
from tenon._compile import read
from tenon._engine import Engine
from tenon._files import write_file
from tenon._messages import listen
from tenon._quantize import quantize

_DTYPES = {0: np.dtype(np.float32), 1: np.dtype(np.float16), 2: np.dtype(np.int32),
           3: np.dtype(np.uint8)}
_MAGIC = 0xFCCFE2E2


class Mode(enum.Enum):
    """What an engine computes in."""
    FP32 = 0
    FP16 = 1
    INT8 = 2


class NormType(enum.Enum):
    """The formula of a Norm."""
    NONE = 0
    MeanStd = 1
    AlphaBeta = 2


class ChannelType(enum.Enum):
    """Whether a Norm swaps red and blue first."""
    NONE = 0
    Invert = 1


class Norm:
    """How a picture becomes numbers; normalize() applies it."""

    def __init__(self, type=NormType.NONE, mean=(0, 0, 0), std=(1, 1, 1), alpha=1.0, beta=0.0,
                 channel_type=ChannelType.NONE):
        self.type, self.mean, self.std = type, list(mean), list(std)
        self.alpha, self.beta, self.channel_type = alpha, beta, channel_type

    @staticmethod
    def mean_std(mean, std, alpha=1.0, channel_type=ChannelType.NONE):
        """(picture * alpha - mean) / std, a mean and std for each channel."""
        return Norm(NormType.MeanStd, mean, std, alpha, 0.0, channel_type)

    @staticmethod
    def alpha_beta(alpha, beta, channel_type=ChannelType.NONE):
        """picture * alpha + beta."""
        return Norm(NormType.AlphaBeta, alpha=alpha, beta=beta, channel_type=channel_type)

    @staticmethod
    def none():
        """The picture as it is."""
        return Norm()


def normalize(norm, image):
    """(H, W, 3) of bytes or floats to (1, 3, H, W) of float32; NumPy's arrays or tensors."""
    if not isinstance(image, np.ndarray):
        import torch
        return torch.from_numpy(normalize(norm, image.numpy()))
    if norm.channel_type == ChannelType.Invert:
        image = image[..., ::-1]
    image = image.astype(np.float32)
    if norm.type == NormType.MeanStd:
        image = (image * np.float32(norm.alpha) - np.float32(norm.mean)) / np.float32(norm.std)
    elif norm.type == NormType.AlphaBeta:
        image = image * np.float32(norm.alpha) + np.float32(norm.beta)
    return np.ascontiguousarray(image.transpose(2, 0, 1)[None])


class ModelSource:
    """An ONNX model: a file or its bytes."""

    def __init__(self, model):
        self.model = model

    @staticmethod
    def from_onnx(file):
        """A file."""
        return ModelSource(os.fspath(file))

    @staticmethod
    def from_onnx_data(data):
        """The bytes of a file."""
        return ModelSource(bytes(data))


class CompileOutput:
    """Where a plan goes: a file, or `data`."""

    def __init__(self, file=None):
        self.file, self.data = file, None

    @staticmethod
    def to_file(file):
        """A file."""
        return CompileOutput(os.fspath(file))

    @staticmethod
    def to_memory():
        """The attribute `data`."""
        return CompileOutput()


class Infer(Engine):
    """A callable engine on NumPy's arrays or PyTorch's tensors; what comes in comes out."""

    @property
    def num_input(self):
        """How many inputs there are."""
        return len(self.inputs)

    @property
    def num_output(self):
        """How many outputs there are."""
        return len(self.outputs)

    @property
    def max_batch_size(self):
        """The largest first extent of the first input."""
        return self.inputs[0].max[0]

    @property
    def device(self):
        """The number of the GPU; 0 on the CPU, too."""
        return self.gpu or 0

    def get_input_name(self, index=0):
        """The name of an input."""
        return self.inputs[index].name

    def get_output_name(self, index=0):
        """The name of an output."""
        return self.outputs[index].name

    def is_input_name(self, name):
        """Whether an input is called so."""
        return any(t.name == name for t in self.inputs)

    def is_output_name(self, name):
        """Whether an output is called so."""
        return any(t.name == name for t in self.outputs)

    def serial_engine(self):
        """The plan's bytes."""
        return self.serialize()

    def print(self):
        """Prints inputs and outputs."""
        print(self)


def compileTRT(max_batch_size, source, output, mode=Mode.FP32, inputs_dims=(), device_id=0,
               int8_norm=None, int8_preprocess_const_value=114, int8_image_directory=".",
               int8_entropy_calibrator_file="", max_workspace_size=1 << 30):
    """Builds a ModelSource into a CompileOutput; True, or an exception says why not.

    The batch goes from 1 to max_batch_size, and is 1 at best. inputs_dims: for each input its
    shape, without or with the batch, -1 for extents to keep; empty to keep all.

    Mode.INT8 calibrates a network of one input by the entropy of what the JPEG and PNG pictures of
    int8_image_directory make of its tensors, each in the middle of the input with a border of
    int8_preprocess_const_value, BGR, and through int8_norm. int8_entropy_calibrator_file keeps the
    ranges: where it exists no picture is read.
    """
    model = source.model
    if mode == Mode.INT8:
        model = _quantized(model, inputs_dims, int8_norm or Norm.none(), int8_preprocess_const_value,
                           int8_image_directory, int8_entropy_calibrator_file)
    engine = _wrapper.build(
        model, lambda network: _batch_profile(network, max_batch_size, inputs_dims),
        fp16=mode == Mode.FP16, workspace=max_workspace_size, device_id=device_id)
    if output.file is not None:
        _wrapper.save(engine, output.file)
    else:
        output.data = bytes(engine.serialize())
    return True


def compile_onnx_to_file(max_batch_size, file, saveto, mode=Mode.FP32, inputs_dims=(), device_id=0,
                         int8_norm=None, int8_preprocess_const_value=114, int8_image_directory=".",
                         int8_entropy_calibrator_file="", max_workspace_size=1 << 30):
    """Builds an ONNX file into a plan file: compileTRT()."""
    return compileTRT(max_batch_size, ModelSource.from_onnx(file), CompileOutput.to_file(saveto),
                      mode, inputs_dims, device_id, int8_norm, int8_preprocess_const_value,
                      int8_image_directory, int8_entropy_calibrator_file, max_workspace_size)


def compile_onnxdata_to_memory(max_batch_size, data, mode=Mode.FP32, inputs_dims=(), device_id=0,
                               int8_norm=None, int8_preprocess_const_value=114,
                               int8_image_directory=".", int8_entropy_calibrator_file="",
                               max_workspace_size=1 << 30):
    """The plan's bytes of an ONNX model's bytes: compileTRT()."""
    output = CompileOutput.to_memory()
    compileTRT(max_batch_size, ModelSource.from_onnx_data(data), output, mode, inputs_dims,
               device_id, int8_norm, int8_preprocess_const_value, int8_image_directory,
               int8_entropy_calibrator_file, max_workspace_size)
    return output.data


def from_torch(torch_model, input, max_batch_size=None, mode=Mode.FP32, inputs_dims=(),
               device_id=0, input_names=None, output_names=None, dynamic=True, opset=11,
               onnx_save_file=None, engine_save_file=None, int8_norm=None,
               int8_preprocess_const_value=114, int8_image_directory=".",
               int8_entropy_calibrator_file="", max_workspace_size=1 << 30):
    """An Infer of a torch.nn.Module, exported with `input`, a tensor or several.

    dynamic: the batch goes from 1 to max_batch_size, by default that of `input`. Names are
    "input.0" and so on.
    """
    from tenon._export import to_onnx
    inputs = tuple(input) if isinstance(input, (tuple, list)) else (input,)
    if max_batch_size is None:
        max_batch_size = inputs[0].shape[0]
    names = input_names or [f"input.{i}" for i in range(len(inputs))]
    axes = {name: {0: "batch"} for name in names} if dynamic else {}
    model = to_onnx(torch_model, inputs, names, output_names or "output.{}", axes, opset)
    if onnx_save_file is not None:
        write_file(onnx_save_file, model)
    plan = compile_onnxdata_to_memory(max_batch_size, model, mode, inputs_dims, device_id, int8_norm,
                                      int8_preprocess_const_value, int8_image_directory,
                                      int8_entropy_calibrator_file, max_workspace_size)
    if engine_save_file is not None:
        write_file(engine_save_file, plan)
    return load_infer_data(plan)


def load(file_or_data):
    """An Infer of a plan file or its bytes."""
    if isinstance(file_or_data, (str, os.PathLike)):
        return load_infer_file(file_or_data)
    return load_infer_data(file_or_data)


def load_infer_file(file):
    """An Infer of a plan file."""
    return Infer(_wrapper.load(file))


def load_infer_data(data):
    """An Infer of a plan's bytes."""
    return Infer(_wrapper.deserialize(data))


def save_tensor(array, file):
    """Writes float32, float16, int32 or uint8 numbers as tensorRT_Pro's Tensor::save_to_file."""
    numbers = [number for number, dtype in _DTYPES.items() if dtype == array.dtype]
    if not numbers:
        raise TypeError(f"save_tensor: no number for {array.dtype}; there are "
                        + ", ".join(map(str, _DTYPES.values())))
    head = struct.pack(f"<III{array.ndim}i", _MAGIC, array.ndim, numbers[0], *array.shape)
    write_file(file, head + np.ascontiguousarray(array).tobytes())


def load_tensor(file):
    """The array of a file of save_tensor() or Tensor::save_to_file."""
    data = pathlib.Path(file).read_bytes()
    if len(data) < 12:
        raise ValueError(f"'{file}' is no tensor file: it has {len(data)} bytes")
    magic, rank, number = struct.unpack_from("<III", data)
    if magic != _MAGIC or rank > 8 or number not in _DTYPES or len(data) < 12 + 4 * rank:
        raise ValueError(f"'{file}' is no tensor file")
    shape = struct.unpack_from(f"<{rank}i", data, 12)
    values = np.frombuffer(data, _DTYPES[number], offset=12 + 4 * rank)
    if min(shape, default=0) < 0 or values.size != np.prod(shape, dtype=int):
        raise ValueError(f"'{file}': {values.size} elements for shape {shape}")
    return values.reshape(shape).copy()


def set_device(device_id):
    """The GPU that engines are built and loaded on from now on, in this thread; without one only 0,
    the CPU."""
    error, = cudart.cudaSetDevice(device_id)
    if error != cudart.cudaError_t.cudaSuccess:
        raise ValueError(f"there is no device {device_id}")


def get_device():
    """The number that set_device() was given last; 0 at first."""
    return cudart.cudaGetDevice()[1]


set_devie, get_devie = set_device, get_device  # as pytrt spells them


def init_nv_plugins():
    """Registers every plugin that comes with Tenon."""
    return _wrapper.load_plugin_library()


_LATER = ("set_compile_int8_process", "set_compile_hook_reshape_layer", "onnx_hub", "Yolo",
          "CenterNet", "Retinaface", "Scrfd", "Arcface", "AlphaPose", "Fall", "MixMemory", "Tensor")


def __getattr__(name):
    if name in _LATER:
        raise NotImplementedError(f"pytrt.{name} is not supported yet")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def _quantized(model, inputs_dims, norm, border, pictures, cache):
    # The bytes of the model with Q/DQ; tenon quantize has (pixel - mean) * scale.
    if norm.type == NormType.MeanStd:
        scale = [norm.alpha / std for std in norm.std]
        mean = [mean / norm.alpha for mean in norm.mean]
    elif norm.type == NormType.AlphaBeta:
        scale, mean = [norm.alpha] * 3, [-norm.beta / norm.alpha] * 3
    else:
        scale, mean = [1.0] * 3, [0.0] * 3
    color = "rgb" if norm.channel_type == ChannelType.Invert else "bgr"
    options = ["--calibFit=letterbox", f"--calibBorder={border}", f"--calibColor={color}",
               "--calibScale=" + ",".join(map(repr, scale)), "--calibMean=" + ",".join(map(repr, mean))]
    network, _, _ = read(model, listen(False))
    dynamic = {network.get_input(i).name for i in range(network.num_inputs) if -1 in network.get_input(i).shape}
    options += [f"--optShapesCalib={name}:" + "x".join(map(str, smallest))
                for name, (smallest, _, _) in _batch_profile(network, 1, inputs_dims).items() if name in dynamic]
    return quantize(model, data=pictures, cache=cache or None, algorithm="entropy2", options=options)


def _batch_profile(network, max_batch_size, inputs_dims):
    # {input: (min, opt, max)} whose first extent is the batch.
    profile = {}
    for i in range(network.num_inputs):
        tensor = network.get_input(i)
        shape = list(tensor.shape)
        if i < len(inputs_dims):
            given = [int(extent) for extent in inputs_dims[i]]
            rest = given if len(given) == len(shape) - 1 else given[1:]
            shape[1:] = [old if new == -1 else new for old, new in zip(shape[1:], rest)]
        if -1 in shape[1:]:
            raise ValueError(f"input '{tensor.name}' has shape {tuple(tensor.shape)}: give the "
                             "extents that are -1 by inputs_dims")
        batches = (1, 1, max_batch_size) if shape[0] == -1 else (shape[0],) * 3
        profile[tensor.name] = tuple((batch, *shape[1:]) for batch in batches)
    return profile
