"""Tenon runs neural networks: ONNX and PyTorch models, through TensorRT's API, on any machine.

    engine = tenon.compile("model.onnx", shapes={"images": (1, 3, 224, 224)})
    scores = engine(images)
    engine.save("model.plan"); engine = tenon.load("model.plan")

`tenon.tensorrt` has TensorRT's own API; `tenon.mmcv`, `tenon.mmdeploy` and `tenon.pytrt` have the
functions of these projects, and `tenon.graphsurgeon` edits ONNX models as onnx-graphsurgeon does.
"""
from tenon import _load  # noqa: F401, first
from tenon._as_onnx_graphsurgeon import install_as_onnx_graphsurgeon
from tenon._as_tensorrt import install_as_tensorrt
from tenon._compare import compare
from tenon._compile import compile
from tenon._engine import Engine, Tensor, load
from tenon._native import _tenon_version as __version__
from tenon._native import (Error, describe_machine, describe_operators, dump, import_limit,
                           import_node_limit, set_deterministic, set_import_limit,
                           set_import_node_limit, set_portable, set_target, set_threads,
                           set_weight_growth_limits, threads)
from tenon._plugins import check_plugins, load_plugins, plugin_from_source
from tenon._quantize import quantize
from tenon._tensor_memory import as_array, as_tensor

__all__ = ["Engine", "Error", "Tensor", "as_array", "as_tensor", "check_plugins", "compare",
           "compile", "describe_machine", "describe_operators", "dump", "import_limit",
           "import_node_limit", "install_as_onnx_graphsurgeon", "install_as_tensorrt", "load",
           "load_plugins", "plugin_from_source", "quantize", "set_deterministic",
           "set_import_limit", "set_import_node_limit", "set_portable",
           "set_target", "set_threads", "set_weight_growth_limits", "threads"]
