"""Which tensors a node or graph reads, where graphs in attributes read those of the graphs around them."""
from typing import Any, Iterator, List

from tenon.graphsurgeon.node import Node
from tenon.graphsurgeon.tensor import Tensor


def tensors_read(node: Node) -> Iterator[Tensor]:
    """What a node reads: its inputs, and what the graphs in its attributes read of the graphs around."""
    yield from node.inputs
    if node.attrs:
        for graph in node.subgraphs():
            yield from outer_tensors(graph)


def outer_tensors(graph: Any) -> List[Tensor]:
    """What a graph's nodes and outputs read that is neither its input nor computed in it, each once.

    Constants are among them, whichever graph they are of.
    """
    local = {id(tensor) for tensor in graph.inputs}
    for node in graph.nodes:
        local.update(map(id, node.outputs))
    found = {}
    for node in graph.nodes:
        for tensor in tensors_read(node):
            if tensor.name != "" and id(tensor) not in local:
                found[id(tensor)] = tensor
    for tensor in graph.outputs:
        if id(tensor) not in local:
            found[id(tensor)] = tensor
    return list(found.values())


def tensors_of(graph: Any) -> Iterator[Tensor]:
    """The tensors of a graph's nodes in their order, and those of its own inputs and outputs; without empty ones.

    A tensor comes as often as it is read.
    """
    for node in graph.nodes:
        for tensor in node.inputs:
            if tensor.name != "":
                yield tensor
        for tensor in node.outputs:
            if tensor.name != "":
                yield tensor
    yield from graph.inputs
    yield from graph.outputs
