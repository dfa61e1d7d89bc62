"""New nodes with names that nothing in the graph has."""
from typing import Any, Iterable, List, Optional, Sequence, Set

import numpy as np

from tenon.graphsurgeon.errors import OnnxGraphSurgeonException
from tenon.graphsurgeon.node import Node
from tenon.graphsurgeon.tensor import Constant, Tensor, Variable


class NameMaker:
    """Names of a prefix and a number that grows with each, whatever the prefix."""

    def __init__(self) -> None:
        self._number = 0
        # What the nodes up to the last that was seen are called: a graph of n layers is not walked n times.
        self._seen: Set[str] = set()
        self._seen_nodes: List[Node] = []

    def copy(self) -> "NameMaker":
        """One that goes on with the same number."""
        made = NameMaker()
        made._number = self._number
        return made

    def make(self, prefix: str, existing: "Iterable[str]") -> str:
        """A name that is not in `existing`, which should be a set."""
        while True:
            name = f"{prefix}_{self._number}"
            self._number += 1
            if name not in existing:
                return name

    def existing(self, graph: Any) -> Set[str]:
        """The names of the graph's nodes and tensors.

        Those of nodes that were seen before are not read again: whoever renames something to a prefix and a number
        sees to it that the number is not made later.
        """
        nodes, seen = graph.nodes, self._seen_nodes
        if len(seen) > len(nodes) or (seen and nodes[len(seen) - 1] is not seen[-1]):
            self._seen, self._seen_nodes = set(), []
            seen = self._seen_nodes
        for node in nodes[len(seen):]:
            self._seen.add(node.name)
            self._seen.update(tensor.name for tensor in node.inputs)
            self._seen.update(tensor.name for tensor in node.outputs)
            seen.append(node)
        self._seen.update(tensor.name for tensor in graph.inputs)
        self._seen.update(tensor.name for tensor in graph.outputs)
        return self._seen


def add_layer(graph: Any, names: NameMaker, inputs: Optional[Sequence[Any]], outputs: Optional[Sequence[Any]],
              *args: Any, **kwargs: Any) -> List[Tensor]:
    """Adds a node whose inputs and outputs are what Graph.layer says; returns its outputs."""
    existing = names.existing(graph)
    read = [_tensor_of(one, names, existing) for one in inputs or ()]
    computed = [_tensor_of(one, names, existing) for one in outputs or ()]
    if not kwargs.get("name") and len(args) < 2:
        kwargs["name"] = names.make("onnx_graphsurgeon_node", existing)
    node = Node(*args, **kwargs, inputs=read, outputs=computed)  # type: ignore[misc]
    graph.nodes.append(node)
    return list(node.outputs)


def _tensor_of(given: Any, names: NameMaker, existing: Set[str]) -> Tensor:
    def new(prefix: str) -> str:
        name = names.make(prefix, existing)
        existing.add(name)
        return name

    if isinstance(given, Tensor):
        return given
    if isinstance(given, str):
        return Variable(new(given))
    if isinstance(given, (np.ndarray, np.generic)):
        return Constant(new("onnx_graphsurgeon_constant"), np.asarray(given))
    if isinstance(given, (int, float)):
        return Constant(new("onnx_graphsurgeon_constant"), np.array(given, _type_of([given])))
    if isinstance(given, (list, tuple)) and all(isinstance(one, (int, float, np.number, np.bool_)) for one in given):
        return Constant(new("onnx_graphsurgeon_lst_constant"), np.array(given, _type_of(given)))
    raise OnnxGraphSurgeonException(f"{given!r} is neither a tensor nor what a layer makes one of: a str, an array, or "
                                    "a list or tuple of numbers")


def _type_of(numbers: Sequence[Any]) -> type:
    return np.float32 if any(isinstance(one, (float, np.floating)) for one in numbers) else np.int64
