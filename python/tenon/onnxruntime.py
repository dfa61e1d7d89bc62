"""Tenon as an execution provider of ONNX Runtime 1.23.2 or newer, whose programs change by one line:

    session = onnxruntime.InferenceSession("model.onnx", tenon.onnxruntime.session_options())

Tenon takes the nodes that it knows, ONNX Runtime's own CPU provider the others. `get_library_path` and `get_ep_name` are for
programs that register providers themselves, in any language.
"""
import pathlib
import re

__all__ = ["get_ep_name", "get_library_path", "register", "session_options"]

_OLDEST = (1, 23, 2)  # older ones have providers of the host's memory take whole models only
_OPTIONS = {"precision": ("fp32", "tf32", "bf16", "fp16")}
_registered = False


def get_library_path() -> str:
    """Of the library that ONNX Runtime loads: OrtApi::RegisterExecutionProviderLibrary."""
    return str(pathlib.Path(__file__).with_name("lib") / "libonnxruntime_ep_tenon.so")


def get_ep_name() -> str:
    """By which sessions name the provider."""
    return "TenonExecutionProvider"


def register() -> None:
    """Makes the provider known to ONNX Runtime in this process, once."""
    global _registered
    onnxruntime = _import_onnxruntime()
    if not _registered:
        onnxruntime.register_execution_provider_library("tenon", get_library_path())
        _registered = True


def session_options(options=None, **provider_options):
    """onnxruntime.SessionOptions with the provider first: new ones, or `options`, which are changed.

    `precision` is "fp32", which is the default, "tf32", "bf16" or "fp16"."""
    for name, value in provider_options.items():
        if name not in _OPTIONS:
            raise TypeError(f"the provider has no option {name}; it has {', '.join(_OPTIONS)}")
        if value not in _OPTIONS[name]:
            raise ValueError(f"{name}: expected one of {', '.join(map(repr, _OPTIONS[name]))}, found {value!r}")
    register()
    onnxruntime = _import_onnxruntime()
    options = onnxruntime.SessionOptions() if options is None else options
    devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == get_ep_name()]
    options.add_provider_for_devices(devices[:1], provider_options)
    return options


def _import_onnxruntime():
    try:
        import onnxruntime
    except ImportError as error:
        raise ImportError("tenon.onnxruntime needs ONNX Runtime: pip install 'tenon[onnxruntime]'") from error
    version = re.match(r"(\d+)\.(\d+)\.(\d+)", onnxruntime.__version__)
    if version and tuple(map(int, version.groups())) < _OLDEST:
        raise ImportError(f"tenon.onnxruntime needs ONNX Runtime {'.'.join(map(str, _OLDEST))} or newer, found {onnxruntime.__version__}")
    return onnxruntime
