"""Copies of graphs: new nodes and tensors, the same values."""
import copy
from typing import Any, Dict, Iterable

from tenon.graphsurgeon.node import AnyGraph, Node
from tenon.graphsurgeon.tensor import Constant, Tensor


class Copier:
    """Copies graphs and those in their attributes, and each tensor once.

    tensor_map: {name: tensor} for what a graph reads of one around it that is not copied.
    """

    def __init__(self, tensor_map: Dict[str, Tensor]) -> None:
        self._around = tensor_map
        self._copies: Dict[int, Tensor] = {}

    def tensor(self, tensor: Tensor) -> Tensor:
        """The copy of a tensor; one that is not of a graph that is copied may be one of the graph around."""
        made = self._copies.get(id(tensor))
        if made is None:
            around = self._around.get(tensor.name) if tensor.name else None
            if around is not None and isinstance(tensor, Constant):  # unless it is another one of that name
                around = around if getattr(around, "_values", None) is tensor._values else None
            made = self._copies[id(tensor)] = tensor.copy() if around is None else around  # type: ignore[attr-defined]
        return made

    def own(self, tensors: Iterable[Tensor]) -> None:
        """These are of the graph that is copied, whatever the one around has of their names."""
        for tensor in tensors:
            self._copies.setdefault(id(tensor), tensor.copy())  # type: ignore[attr-defined]

    def node(self, node: Node) -> Node:
        """A node of the copies of its tensors."""
        attrs = {name: self._value(value) for name, value in node.attrs.items()}
        return node._with(attrs, map(self.tensor, node.inputs), map(self.tensor, node.outputs))

    def _value(self, value: Any) -> Any:
        if isinstance(value, AnyGraph):
            return self.graph(value)
        return [self._value(one) for one in value] if isinstance(value, list) else value

    def graph(self, graph: Any) -> Any:
        """A graph like `graph`, of its class, without functions."""
        self.own(graph.inputs)
        for node in graph.nodes:
            self.own(node.outputs)
        made = copy.copy(graph)
        made.nodes = [self.node(node) for node in graph.nodes]
        made.inputs = [self.tensor(tensor) for tensor in graph.inputs]
        made.outputs = [self.tensor(tensor) for tensor in graph.outputs]
        made.import_domains = copy.copy(graph.import_domains)
        made.metadata = dict(graph.metadata)
        made.graph_metadata = dict(graph.graph_metadata)
        made.quantization_annotations = [
            (self.tensor(tensor), {key: self.tensor(parameter) for key, parameter in parameters.items()})
            for tensor, parameters in graph.quantization_annotations]
        made._names = graph._names.copy()
        made._functions = []
        return made


def copy_graph(graph: Any, tensor_map: Dict[str, Tensor]) -> Any:
    """Graph.copy."""
    made = Copier(tensor_map).graph(graph)
    functions = {id(function): function.copy() for function in graph.functions}
    for function in functions.values():
        function._functions = [functions.get(id(called), called) for called in function._functions]
    made.functions = list(functions.values())
    return made
