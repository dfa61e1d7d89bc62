"""The values of a node whose inputs are known.

Tenon's engine computes a node whose inputs and outputs are all of the types that it has as ONNX means them; what it
does not take, and other types, onnx.reference computes, which is the standard's own. Each time is a message of
severity DEBUG.
"""
from typing import Any, Dict, List, Tuple

import numpy as np
import onnx
import onnx.helper
import onnx.inliner
import onnx.shape_inference

from tenon.graphsurgeon.data_types import to_numpy
from tenon.graphsurgeon.exporter import OnnxExporter, opset_imports_of
from tenon.graphsurgeon.log import G_LOGGER
from tenon.graphsurgeon.node import Node
from tenon.graphsurgeon.scopes import tensors_read
from tenon.graphsurgeon.tensor import Constant, LazyValues, SparseValues, Tensor

# What the engine neither widens nor takes for quantized numbers.
_EXACT = {onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.INT32, onnx.TensorProto.INT64,
          onnx.TensorProto.BOOL}


class Evaluator:
    """Computes nodes of a graph one by one, also those that call its functions."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        functions = [function for function in graph.functions if function is not graph]
        self._called = {function.unique_id for function in functions}
        self._functions: Dict[str, List[Any]] = {"": []}
        self._sources = functions
        self._imports = opset_imports_of(graph)

    def evaluate(self, node: Node, values: Dict[int, np.ndarray]) -> List[Any]:
        """The node's results, None for those that are left out.

        values: those of variables, by numbers of objects; constants have their own, which are not decoded for good.
        Raises what onnx.reference raises where neither computes it.
        """
        model = self._model(node, values)
        wanted = [tensor.name for tensor in node.outputs if tensor.name]
        reason = _not_exact(model)
        if not reason:
            try:
                results = _by_tenon(model)
            except Exception as error:  # tenon.Error with what it lacks, mostly
                reason = str(error).strip().split("\n")[0]
        if reason:
            G_LOGGER.debug(lambda: f"node '{node.name}' ({node.op}) is computed by onnx.reference: {reason}")
            results = _by_reference(model)
        found = dict(zip(wanted, results))
        return [found.get(tensor.name) for tensor in node.outputs]

    def _model(self, node: Node, values: Dict[int, np.ndarray]) -> Any:
        """A model without inputs that computes the node."""
        read: Dict[str, Any] = {}
        for tensor in tensors_read(node):
            if tensor.name and tensor.name not in read:
                read[tensor.name] = _tensor_proto(tensor, values)
        constants = frozenset(id(tensor) for tensor in tensors_read(node) if isinstance(tensor, Constant))
        outputs = [onnx.helper.make_empty_tensor_value_info(tensor.name) for tensor in node.outputs if tensor.name]
        graph = onnx.helper.make_graph([OnnxExporter.export_node(node, constants)], "folded", [], outputs,
                                       list(read.values()))
        functions = self._function_protos(node)
        domains = {entry.domain for entry in self._imports}
        others = [onnx.helper.make_opsetid(entry.domain, entry.version) for function in functions
                  for entry in function.opset_import if entry.domain not in domains]
        model = onnx.helper.make_model(graph, opset_imports=[*self._imports, *others], functions=functions)
        model.ir_version = self._graph.ir_version or 10
        if functions:
            defaults = {(function.domain, function.name): function.attribute_proto for function in model.functions}
            for nodes in [model.graph.node, *(function.node for function in model.functions)]:
                _state_defaults(nodes, defaults)
            model = onnx.inliner.inline_local_functions(model)
        return onnx.shape_inference.infer_shapes(model)

    def _function_protos(self, node: Node) -> List[Any]:
        """The graph's functions, if the node may call one."""
        if not self._called or ((node.domain or "", node.op) not in self._called and not any(True for _ in node.subgraphs())):
            return []
        if "all" not in self._functions:
            self._functions["all"] = [OnnxExporter.export_function(function.copy().cleanup())  # without nodes that are folded
                                      for function in self._sources]
        return self._functions["all"]


def _tensor_proto(tensor: Tensor, values: Dict[int, np.ndarray]) -> Any:
    if not isinstance(tensor, Constant):
        return OnnxExporter.export_tensor_proto(Constant(tensor.name, values[id(tensor)]))
    stored = tensor._values
    if isinstance(stored, SparseValues) or (isinstance(stored, LazyValues) and stored.tensor.data_location):
        return OnnxExporter.export_tensor_proto(Constant(tensor.name, stored.load()))
    return OnnxExporter.export_tensor_proto(Constant(tensor.name, stored))


def _state_defaults(nodes: Any, defaults: Dict[Tuple[str, str], Any]) -> None:
    """Gives calls of functions the attributes that they leave to defaults, which onnx.inliner forgets."""
    for node in nodes:
        given = {attribute.name for attribute in node.attribute}
        node.attribute.extend(proto for proto in defaults.get((node.domain, node.op_type), ()) if proto.name not in given)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _state_defaults(attribute.g.node, defaults)


def _not_exact(model: Any) -> str:
    """Why the engine would not compute the node in the types that ONNX gives it; "" if it would."""
    for proto in model.graph.initializer:
        if proto.data_type not in _EXACT:
            return f"'{proto.name}' is of type {onnx.TensorProto.DataType.Name(proto.data_type)}"
    for proto in model.graph.output:
        kind = proto.type.tensor_type.elem_type
        if kind not in _EXACT:
            return f"the type of '{proto.name}' is {onnx.TensorProto.DataType.Name(kind)}"
    return ""


def _by_tenon(model: Any) -> List[np.ndarray]:
    import tenon
    results = tenon.compile(model.SerializeToString(), target="cpu", deterministic=True, progress=False)()
    arrays = [np.asarray(result) for result in (results if isinstance(results, tuple) else (results,))]
    for proto, array in zip(model.graph.output, arrays):
        expected = to_numpy(proto.type.tensor_type.elem_type)
        if array.dtype != expected:
            raise TypeError(f"the engine has '{proto.name}' as {array.dtype}, and the model as {expected}")
    return arrays


def _by_reference(model: Any) -> List[np.ndarray]:
    from onnx.reference import ReferenceEvaluator
    results = ReferenceEvaluator(model).run(None, {})
    for proto, result in zip(model.graph.output, results):
        if not isinstance(result, (np.ndarray, np.generic)):
            raise TypeError(f"'{proto.name}' is {type(result).__name__}, and constants are tensors")
    return [np.asarray(result) for result in results]
