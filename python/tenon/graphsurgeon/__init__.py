"""Graphs of ONNX models that Python programs change, with the names of NVIDIA's onnx-graphsurgeon.

    graph = gs.import_onnx(onnx.load("model.onnx"))
    graph.outputs = [graph.tensors()["features"].to_variable(np.float32, ("N", 512))]
    graph.cleanup().toposort()
    onnx.save(gs.export_onnx(graph), "features.onnx")

Programs that say `import onnx_graphsurgeon as gs` run unchanged by `python -m tenon.as_onnx_graphsurgeon`, or after
tenon.install_as_onnx_graphsurgeon(). It needs the package onnx, 1.15 or newer: pip install 'tenon[onnx]'.
"""
try:
    import onnx as _onnx  # noqa: F401
    import onnx.inliner as _inliner  # noqa: F401  of 1.15
except ImportError as _error:
    raise ImportError("tenon.graphsurgeon needs the package onnx, 1.15 or newer: pip install 'tenon[onnx]'") from _error

from tenon.graphsurgeon.errors import OnnxGraphSurgeonException
from tenon.graphsurgeon.exporter import export_onnx
from tenon.graphsurgeon.function import Function
from tenon.graphsurgeon.graph import Graph
from tenon.graphsurgeon.graph_pattern import GraphPattern, PatternMapping
from tenon.graphsurgeon.importer import import_onnx
from tenon.graphsurgeon.node import Node
from tenon.graphsurgeon.tensor import Constant, LazyValues, SparseValues, Tensor, Variable

# The version of onnx-graphsurgeon whose names these are, which programs ask for.
__version__ = "0.6.1"

__all__ = ["Constant", "Function", "Graph", "GraphPattern", "LazyValues", "Node", "OnnxGraphSurgeonException",
           "PatternMapping", "SparseValues", "Tensor", "Variable", "export_onnx", "import_onnx"]
