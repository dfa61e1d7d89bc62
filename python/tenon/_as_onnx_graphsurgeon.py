"""`import onnx_graphsurgeon` gives tenon.graphsurgeon."""
import importlib
import sys
import types

# Where programs import names from, and which module of tenon.graphsurgeon has these.
_MODULES = {
    "exporters": "", "exporters.onnx_exporter": "exporter", "graph_pattern": "graph_pattern",
    "graph_pattern.graph_pattern": "graph_pattern", "importers": "", "importers.onnx_importer": "importer", "ir": "",
    "ir.function": "function", "ir.graph": "graph", "ir.node": "node", "ir.tensor": "tensor", "logger": "log",
    "logger.logger": "log", "util": "", "util.exception": "errors", "util.misc": "misc",
}


def install_as_onnx_graphsurgeon() -> types.ModuleType:
    """From now on `import onnx_graphsurgeon` gives tenon.graphsurgeon, in this process; returns it.

    So do its modules, such as onnx_graphsurgeon.ir.tensor. ImportError without the package onnx; RuntimeError if
    another onnx_graphsurgeon was imported before.
    """
    from tenon import graphsurgeon
    other = sys.modules.get("onnx_graphsurgeon", graphsurgeon)
    if other is not graphsurgeon:
        raise RuntimeError(f"{other!r} was imported already: call tenon.install_as_onnx_graphsurgeon() before "
                           "anything imports onnx_graphsurgeon")
    sys.modules["onnx_graphsurgeon"] = graphsurgeon
    for name, ours in _MODULES.items():
        if ours:
            module = importlib.import_module(f"tenon.graphsurgeon.{ours}")
        else:
            module = types.ModuleType(f"onnx_graphsurgeon.{name}", "Holds modules of tenon.graphsurgeon.")
            module.__path__ = []
        sys.modules[f"onnx_graphsurgeon.{name}"] = module
        around, _, last = name.rpartition(".")
        parent = sys.modules[f"onnx_graphsurgeon.{around}"] if around else graphsurgeon
        if getattr(parent, last, None) is None:  # graph_pattern has itself as a module
            setattr(parent, last, module)
    return graphsurgeon
