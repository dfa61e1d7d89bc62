"""The functions of mmdeploy.backend.tensorrt on Tenon: `from tenon.mmdeploy import from_onnx`.

Plugins of MMDeploy are part of Tenon. On machines without a GPU `device_id` and device="cuda:0" are
accepted, and mean nothing. TRTWrapper and TorchAllocator need PyTorch, HDF5Calibrator needs h5py.
"""
import json
import logging
import os
import pathlib

from tenon import _wrapper
from tenon import tensorrt as trt
from tenon._messages import Error
from tenon._later import later

__all__ = ["HDF5Calibrator", "TRTWrapper", "TensorRTManager", "TorchAllocator", "from_onnx",
           "get_ops_path", "get_trt_log_level", "load", "load_tensorrt_plugin", "onnx2tensorrt",
           "save", "search_cuda_version"]


def from_onnx(onnx_model, output_file_prefix, input_shapes, max_workspace_size=0, fp16_mode=False,
              int8_mode=False, int8_param=None, device_id=0, log_level=trt.Logger.ERROR, **kwargs):
    """The tensorrt.ICudaEngine of an ONNX file or onnx.ModelProto; also `<prefix>.engine`.

    input_shapes: {input: {"min_shape": …, "opt_shape": …, "max_shape": …}}. int8_param, for
    int8_mode: {"calib_file": …, "model_type": …, "algorithm": …} of HDF5Calibrator. RuntimeError when
    the model cannot be read, AssertionError when it cannot be built.
    """
    kinds = ("min_shape", "opt_shape", "max_shape")
    for name, shapes in input_shapes.items():
        if not isinstance(shapes, dict) or not all(kind in shapes for kind in kinds):
            raise ValueError(f"input_shapes: '{name}': expected a dictionary of {', '.join(kinds)}, "
                             f"found {shapes}")
    profile = {name: [shapes[kind] for kind in kinds] for name, shapes in input_shapes.items()}
    calibrator = None
    if int8_mode:
        param = int8_param or {}
        if "calib_file" not in param:
            raise ValueError("int8_mode: int8_param has no 'calib_file'")
        from tenon._hdf5_calibrator import HDF5Calibrator
        calibrator = HDF5Calibrator(
            param["calib_file"], input_shapes, model_type=param.get("model_type", "end2end"),
            device_id=device_id,
            algorithm=param.get("algorithm", trt.CalibrationAlgoType.ENTROPY_CALIBRATION_2))
    try:
        engine = _wrapper.build(onnx_model, profile, log_level=log_level, fp16=fp16_mode,
                                calibrator=calibrator, workspace=max_workspace_size,
                                device_id=device_id)
    except Error as error:
        if str(error).startswith("Failed to create"):
            raise AssertionError(str(error)) from None
        raise
    save(engine, f"{output_file_prefix}.engine")
    return engine


def save(engine, path):
    """Writes a tensorrt.ICudaEngine or its plan (IHostMemory) to a file."""
    _wrapper.save(engine, path)


def load(path, allocator=None):
    """The tensorrt.ICudaEngine of a plan file; `allocator`, an IGpuAllocator, gives its memory."""
    return _wrapper.load(path, allocator)


def load_tensorrt_plugin():
    """Registers MMDeploy's plugins, which are part of Tenon; returns whether they are there."""
    return _wrapper.load_plugin_library()


def get_ops_path():
    """The path of the library with the plugins."""
    return _wrapper.plugin_library()


def search_cuda_version():
    """The version of the CUDA runtime that Tenon stands in for, such as "13.0"."""
    import ctypes
    runtime = ctypes.CDLL(str(pathlib.Path(__file__).with_name("lib") / "compatible/libcudart.so.13"))
    version = ctypes.c_int()
    runtime.cudaRuntimeGetVersion(ctypes.byref(version))
    return f"{version.value // 1000}.{version.value % 1000 // 10}"


def get_trt_log_level():
    """The severity that fits the level of Python's logger "mmdeploy"."""
    level = logging.getLogger("mmdeploy").getEffectiveLevel()
    for least, severity in ((logging.ERROR, trt.Logger.ERROR), (logging.WARNING, trt.Logger.WARNING),
                            (logging.INFO, trt.Logger.INFO)):
        if level >= least:
            return severity
    return trt.Logger.VERBOSE


def onnx2tensorrt(work_dir, save_file, model_id, deploy_cfg, onnx_model, device="cuda:0",
                  partition_type="end2end", **kwargs):
    """Builds `onnx_model` as the deployment configuration says, into work_dir/save_file.

    deploy_cfg: a mapping (mmengine's Config is one), or a JSON file, with backend_config:
    {"type": "tensorrt", "common_config": {"fp16_mode", "int8_mode", "max_workspace_size"},
    "model_inputs": [{"input_shapes": …}]}, of which model_id counts.
    """
    if isinstance(deploy_cfg, (str, os.PathLike)):
        path = pathlib.Path(deploy_cfg)
        if path.suffix != ".json":
            raise TypeError(f"deploy_cfg '{path}': give mmengine's Config.fromfile() of it")
        deploy_cfg = json.loads(path.read_text())
    backend = deploy_cfg["backend_config"]
    if backend.get("type", "tensorrt") != "tensorrt":
        raise ValueError(f"deploy_cfg: expected backend 'tensorrt', found '{backend['type']}'")
    inputs = backend["model_inputs"]
    if not 0 <= model_id < len(inputs):
        raise ValueError(f"model_id {model_id}: deploy_cfg has {len(inputs)} model_inputs")
    os.makedirs(work_dir, exist_ok=True)
    common = dict(backend.get("common_config", {}))
    settings = {**common, **{k: v for k, v in inputs[model_id].items() if k != "input_shapes"}}
    name = os.path.join(work_dir, save_file)
    prefix = name.removesuffix(".engine")
    from_onnx(onnx_model, prefix, inputs[model_id]["input_shapes"],
              log_level=get_trt_log_level(), device_id=_wrapper.device_index(device), **settings)
    if name != prefix + ".engine":
        os.replace(prefix + ".engine", name)


class TensorRTManager:
    """MMDeploy's entry points to this backend."""

    @classmethod
    def build_wrapper(cls, backend_files, device="cpu", input_names=None, output_names=None,
                      deploy_cfg=None, **kwargs):
        """A TRTWrapper of the first of the files."""
        from tenon._torch_wrapper import MmdeployWrapper
        return MmdeployWrapper(backend_files[0], output_names, _wrapper.device_index(device))

    @classmethod
    def is_available(cls, with_custom_ops=False):
        """True: the plugins are part of Tenon."""
        return True

    @classmethod
    def get_version(cls):
        """The version of TensorRT's API."""
        return trt.__version__

    @classmethod
    def check_env(cls, log_callback=lambda text: None):
        """Tells the versions, a line each; returns them."""
        lines = [f"tensorrt:\t{cls.get_version()}", "tensorrt custom ops:\tAvailable"]
        for line in lines:
            log_callback(line)
        return "\n".join(lines)

    @classmethod
    def to_backend(cls, ir_files, work_dir, deploy_cfg, log_level=logging.INFO, device="cpu",
                   **kwargs):
        """The plans, one of each ONNX file, as onnx2tensorrt() makes them in `work_dir`."""
        plans = []
        for model_id, file in enumerate(ir_files):
            plan = pathlib.Path(file).with_suffix(".engine").name
            onnx2tensorrt(work_dir, plan, model_id, deploy_cfg, file, device=device, **kwargs)
            plans.append(os.path.join(work_dir, plan))
        return plans


__getattr__ = later(__name__, {
    "HDF5Calibrator": "tenon._hdf5_calibrator.HDF5Calibrator",
    "TRTWrapper": "tenon._torch_wrapper.MmdeployWrapper",
    "TorchAllocator": "tenon._torch_allocator.TorchAllocator",
})

load_tensorrt_plugin()
