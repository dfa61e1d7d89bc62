"""Models in int8: `tenon quantize` in a process of its own, and calibrators of arrays."""
import os
import pathlib
import subprocess
import tempfile

import numpy as np

from tenon import cudart
from tenon import tensorrt as trt
from tenon._compare import _path_of
from tenon._native import Error

_PROGRAM = pathlib.Path(__file__).with_name("bin") / "tenon"


def quantize(model, output=None, *, data=None, cache=None, algorithm=None, keep_float=(),
             max_loss=None, loss_metric="relative", loss_data=None, equalize=False,
             smooth_quant=None, bias_correction=False, weight_only=None, group_size=None, options=()):
    """A model in int8, with QuantizeLinear and DequantizeLinear, that other engines read, too.

    model: an ONNX file (path), the bytes of one or an onnx.ModelProto.
    output: a file for the result as well.
    data: samples to calibrate with: {input: array} whose first axis counts them, or an .npz file of
        such, or a folder of these, or of JPEG and PNG pictures for a network's only input.
    cache: a calibration cache: read where the file exists, and else written. Either this or `data`
        is needed, unless weights alone are quantized.
    algorithm: "percentile" (None), "entropy2", "entropy", "minmax" or "mse".
    keep_float: names of nodes that stay in float.
    max_loss: how much the outputs may lose: as many layers as needed return to float. `loss_metric`
        says what is measured, "relative", "cosine" or "top1", and `loss_data` on what, as `data`,
        which is the default.
    equalize, smooth_quant, bias_correction: what is done to the model first; smooth_quant is alpha, from
        0 to 1, or True.
    weight_only: "int4" or "int8": the constant matrices of products alone, without samples, `group_size`
        weights with a scale (128; 0 for a scale for each channel).
    options: of `tenon build`, as ["--shapes=images:1x3x224x224"], and how pictures fill the input, as
        ["--calibFit=letterbox", "--calibMean=123.7,116.3,103.5"].

    Returns the bytes of the ONNX model, whose metadata "tenon.kept_float" names the nodes that stayed
    in float. Raises tenon.Error with what the command line says, FileNotFoundError for a model that is
    not there, TypeError for a model of another kind.
    """
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder) / "int8.onnx" if output is None else pathlib.Path(output)
        command = ["quantize", _path_of(model, folder, "model"), f"--output={result}", *options]
        values = {"--calibData": _samples(data, folder, "data"), "--calib": cache,
                  "--calibAlgorithm": algorithm, "--maxLoss": max_loss,
                  "--weightOnly": weight_only, "--groupSize": group_size}
        if max_loss is not None:
            values |= {"--lossMetric": loss_metric, "--lossData": _samples(loss_data, folder, "loss")}
        if smooth_quant is not None and smooth_quant is not False:
            values["--smoothQuant"] = 0.5 if smooth_quant is True else smooth_quant
        command += [f"{option}={os.fspath(value) if isinstance(value, os.PathLike) else value}"
                    for option, value in values.items() if value is not None]
        command += ["--equalize"] * equalize + ["--biasCorrection"] * bias_correction
        if keep_float:
            names = pathlib.Path(folder) / "kept.txt"
            names.write_text("".join(f"{name}\n" for name in keep_float))
            command.append(f"--keepFloat=@{names}")
        done = subprocess.run([str(_PROGRAM), *map(str, command)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines() or ["tenon quantize failed"]
            raise Error(lines[-1].removeprefix("tenon: "))
        return result.read_bytes()


def _samples(data, folder, name):
    """The path of samples, of which a dictionary's become a file."""
    if data is None or isinstance(data, (str, os.PathLike)):
        return data
    path = pathlib.Path(folder) / f"{name}.npz"
    np.savez(path, **{key: np.asarray(array) for key, array in data.items()})
    return path


class ArrayCalibrator(trt.IInt8EntropyCalibrator2):
    """Gives batches of {input: samples}, arrays whose first axis counts samples.

    shapes: those of a batch, by input. What does not fill one at the end is left out. Its range
    search is the builder configuration's.
    """

    def __init__(self, samples, shapes):
        super().__init__()
        self.shapes, self.at, self.addresses = shapes, 0, {}
        self.samples = {name: np.asarray(array) for name, array in samples.items()}
        counts = {len(array) if array.ndim else 0 for array in self.samples.values()}
        if len(counts) != 1 or 0 in counts:
            raise ValueError("calibration: expected arrays of as many samples each, 1 or more, found "
                             + ", ".join(f"'{n}' {a.shape}" for n, a in self.samples.items()))
        for name, array in self.samples.items():
            if name in shapes and tuple(shapes[name][1:]) != array.shape[1:]:
                raise ValueError(f"calibration: '{name}' has samples of {array.shape[1:]}, and the input "
                                 f"{tuple(shapes[name])}")

    def get_batch_size(self):
        """Samples of a batch."""
        return next(iter(self.shapes.values()))[0]

    def get_batch(self, names):
        """Addresses of device memory, input by input; None when no batch is left."""
        size, begin = self.get_batch_size(), self.at
        if begin + size > min(map(len, self.samples.values())):
            return None
        self.at += size
        for name in names:
            batch = np.ascontiguousarray(self.samples[name][begin:begin + size])
            if name not in self.addresses:
                self.addresses[name] = _checked(*cudart.cudaMalloc(batch.nbytes))
            _checked(*cudart.cudaMemcpy(self.addresses[name], batch.ctypes.data, batch.nbytes,
                                        cudart.cudaMemcpyKind.cudaMemcpyDefault))
        return [self.addresses[name] for name in names]

    def read_calibration_cache(self):
        """None: there is no cache."""

    def write_calibration_cache(self, cache):
        """Does nothing: there is no cache."""

    def free(self):
        """Releases the memory of batches."""
        for address in self.addresses.values():
            cudart.cudaFree(address)
        self.addresses = {}


def _checked(status, *result):
    if status != cudart.cudaError_t.cudaSuccess:
        raise MemoryError(f"calibration: {status}")
    return result[0] if result else None
