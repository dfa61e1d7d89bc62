"""Tenon runs neural networks: ONNX and PyTorch models, through TensorRT's API, on any machine."""
from tenon._plugins import check_plugins, load_plugins, plugin_from_source
from tenon._tensor_memory import as_array, as_tensor

__all__ = ["as_array", "as_tensor", "check_plugins", "load_plugins", "plugin_from_source"]
