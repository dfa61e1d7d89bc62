"""Nodes of a graph: an operator with its attributes, inputs and outputs."""
import dataclasses
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, Optional

import numpy as np

from tenon.graphsurgeon.links import SynchronizedList, replace_links
from tenon.graphsurgeon.tensor import Tensor

if TYPE_CHECKING:
    from tenon.graphsurgeon.graph import Graph


class AnyGraph:
    """What is a graph, for those who must know before Graph is defined."""


class Node:
    """An operator in a graph.

    op: the operator's type, in `domain` (None or "" for ONNX's own). attrs: {name: value}; a value is a number, a
    string, bytes, a Tensor, a Graph, a list of these, a type, or an AttributeRef. inputs and outputs: tensors;
    those left out are Variable.empty(). Their own lists follow. doc_string and metadata are what exporters wrote.
    """

    @dataclasses.dataclass
    class AttributeRef:
        """The value of an attribute that the function around the node has: its name there, and its type, such as
        int, float, str, Tensor, Graph or List[int]."""

        name: str
        type: Any

    def __init__(self, op: str, name: Optional[str] = None, attrs: Optional[Dict[str, Any]] = None,
                 inputs: Optional[Iterable[Tensor]] = None, outputs: Optional[Iterable[Tensor]] = None,
                 domain: Optional[str] = None) -> None:
        self.op = op
        self.name = name or ""
        self.attrs: Dict[str, Any] = {} if attrs is None else attrs
        self._inputs: SynchronizedList[Tensor] = SynchronizedList(self, "outputs", inputs or ())
        self._outputs: SynchronizedList[Tensor] = SynchronizedList(self, "inputs", outputs or ())
        self.domain = domain
        self.doc_string = ""
        self.metadata: Dict[str, str] = {}

    @property
    def inputs(self) -> SynchronizedList[Tensor]:
        """The tensors that the node reads."""
        return self._inputs

    @inputs.setter
    def inputs(self, tensors: Iterable[Tensor]) -> None:
        self._inputs = replace_links(self._inputs, self, "outputs", tensors)

    @property
    def outputs(self) -> SynchronizedList[Tensor]:
        """The tensors that the node computes."""
        return self._outputs

    @outputs.setter
    def outputs(self, tensors: Iterable[Tensor]) -> None:
        self._outputs = replace_links(self._outputs, self, "inputs", tensors)

    def i(self, tensor_idx: int = 0, producer_idx: int = 0) -> "Node":
        """The node that computes an input: self.inputs[tensor_idx].inputs[producer_idx]."""
        return self._inputs[tensor_idx].inputs[producer_idx]

    def o(self, consumer_idx: int = 0, tensor_idx: int = 0) -> "Node":
        """A node that reads an output: self.outputs[tensor_idx].outputs[consumer_idx]."""
        return self._outputs[tensor_idx].outputs[consumer_idx]

    def subgraphs(self, recursive: bool = False) -> "Iterator[Graph]":
        """The graphs in the attributes, as of If, Loop and Scan; with `recursive` also those within them."""
        if not self.attrs:
            return
        for value in self.attrs.values():
            for graph in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(graph, AnyGraph):
                    yield graph  # type: ignore[misc]
                    if recursive:
                        yield from graph.subgraphs(recursive=True)  # type: ignore[attr-defined]

    def copy(self, inputs: Optional[Iterable[Tensor]] = None, outputs: Optional[Iterable[Tensor]] = None,
             tensor_map: Optional[Dict[str, Tensor]] = None) -> "Node":
        """A node with the same operator and attributes, and these inputs and outputs.

        Graphs in the attributes are copied; what they read of the graph around is looked up by name in `tensor_map`.
        """
        def copied(value: Any) -> Any:
            if isinstance(value, AnyGraph):
                return value.copy(tensor_map)  # type: ignore[attr-defined]
            return [copied(one) for one in value] if isinstance(value, list) else value

        return self._with({name: copied(value) for name, value in self.attrs.items()}, inputs, outputs)

    def _with(self, attrs: Dict[str, Any], inputs: Optional[Iterable[Tensor]],
              outputs: Optional[Iterable[Tensor]]) -> "Node":
        node = Node(self.op, self.name, attrs, inputs, outputs, self.domain)
        node.doc_string, node.metadata = self.doc_string, dict(self.metadata)
        return node

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Node):
            return NotImplemented
        return self is other or (
            self.op == other.op and self.name == other.name and (self.domain or "") == (other.domain or "")
            and same_attributes(self.attrs, other.attrs)
            and self._inputs == other._inputs and self._outputs == other._outputs)

    __hash__ = None  # type: ignore[assignment]  # what is compared changes

    def __repr__(self) -> str:
        lines = [f"{self.name} ({self.op})"]
        for title, tensors in (("Inputs", self._inputs), ("Outputs", self._outputs)):
            lines += [f"\t{title}: ["] + [f"\t\t{tensor}" for tensor in tensors] + ["\t]"]
        if self.attrs:
            lines.append(f"Attributes: {self.attrs}")
        if self.domain:
            lines.append(f"Domain: {self.domain}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return repr(self)


def same_attributes(one: Dict[str, Any], other: Dict[str, Any]) -> bool:
    """Whether two dictionaries of attributes have equal values, arrays too."""
    return one.keys() == other.keys() and all(_same(value, other[name]) for name, value in one.items())


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return bool(one == other)
