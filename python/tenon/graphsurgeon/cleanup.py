"""Removes from a graph what its outputs do not need; a time that grows with the graph, not with its square."""
from typing import Any, Dict, List, Set

from tenon.graphsurgeon.links import keep_links
from tenon.graphsurgeon.node import Node
from tenon.graphsurgeon.scopes import tensors_read
from tenon.graphsurgeon.tensor import Tensor, Variable


def cleanup(graph: Any, unused_outputs: bool, subgraphs: bool, unused_inputs: bool) -> None:
    """Removes the nodes that do not contribute to the outputs, and the links to nodes that are not in the graph.

    unused_outputs: also outputs of nodes that nobody reads: those behind the last that is read, and others become
    empty, as operators tell outputs apart by their positions. subgraphs: also in the graphs in attributes, first.
    unused_inputs: also inputs of this graph, never those of the others, which are told apart by their positions.
    """
    if subgraphs:
        for inner in graph.subgraphs():
            cleanup(inner, unused_outputs, True, False)
    for tensor in graph.inputs:
        tensor.inputs.clear()
    used, read = _used(graph)
    removed = [node for node in graph.nodes if id(node) not in used]
    graph.nodes[:] = [node for node in graph.nodes if id(node) in used]
    _unlink(removed)
    _forget_foreign_consumers(graph)
    if unused_outputs:
        for node in graph.nodes:
            _drop_outputs(node, read)
    if unused_inputs:
        graph.inputs[:] = [tensor for tensor in graph.inputs if id(tensor) in read]


def _used(graph: Any) -> "tuple[Set[int], Set[int]]":
    """The nodes that contribute to the outputs, and the tensors that are read, as numbers of objects."""
    producer: Dict[int, Node] = {}
    for node in graph.nodes:
        for tensor in node.outputs:
            producer[id(tensor)] = node
    for tensor in graph.inputs:
        producer.pop(id(tensor), None)
    nodes: Set[int] = set()
    tensors: Set[int] = set()
    waiting: List[Tensor] = list(graph.outputs)
    while waiting:
        tensor = waiting.pop()
        if id(tensor) in tensors:
            continue
        tensors.add(id(tensor))
        node = producer.get(id(tensor))
        if node is not None and id(node) not in nodes:
            nodes.add(id(node))
            waiting.extend(tensors_read(node))
    return nodes, tensors


def _unlink(nodes: List[Node]) -> None:
    """Takes the nodes' inputs and outputs away; every list of a tensor is gone through once."""
    gone = set(map(id, nodes))
    read = {id(tensor): tensor for node in nodes for tensor in node.inputs}
    computed = {id(tensor): tensor for node in nodes for tensor in node.outputs}
    for links in [*(tensor.outputs for tensor in read.values()), *(tensor.inputs for tensor in computed.values())]:
        keep_links(links, [other for other in links if id(other) not in gone])
    for node in nodes:
        keep_links(node.inputs, [])
        keep_links(node.outputs, [])


def _forget_foreign_consumers(graph: Any) -> None:
    """An output of the graph may still be linked to nodes that the user took out of it."""
    inside = {id(node) for node in graph.nodes}
    if any(id(node) not in inside for tensor in graph.outputs for node in tensor.outputs):
        inside.update(id(node) for inner in graph.subgraphs(recursive=True) for node in inner.nodes)
        for tensor in graph.outputs:
            for node in [node for node in tensor.outputs if id(node) not in inside]:
                node.inputs = [other for other in node.inputs if other is not tensor]


def _drop_outputs(node: Node, read: Set[int]) -> None:
    for position in reversed(range(len(node.outputs))):
        tensor = node.outputs[position]
        if tensor.name == "" or id(tensor) in read:
            continue
        if position == len(node.outputs) - 1:
            del node.outputs[position]
        else:
            node.outputs[position] = Variable.empty()
