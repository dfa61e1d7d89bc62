"""Topological orders that leave what is in order where it is."""
import heapq
from typing import Any, Callable, Dict, Iterable, List, Sequence, Set, Tuple, TypeVar

from tenon.graphsurgeon.errors import OnnxGraphSurgeonException
from tenon.graphsurgeon.node import Node
from tenon.graphsurgeon.scopes import tensors_read

Item = TypeVar("Item")


def sorted_nodes(graph: Any) -> List[Node]:
    """The nodes so that each comes behind those whose results it reads, also by graphs in its attributes.

    Of the nodes that may come next it is always the first of the present order. OnnxGraphSurgeonException for a
    cycle, with the nodes on it.
    """
    nodes: List[Node] = graph.nodes
    producer: Dict[int, int] = {}
    for position, node in enumerate(nodes):
        for tensor in node.outputs:
            if tensor.name != "":
                producer[id(tensor)] = position
    needs = [[producer[id(tensor)] for tensor in (tensors_read(node) if node.attrs else node.inputs)
              if id(tensor) in producer] for node in nodes]
    return _sorted(nodes, needs, lambda node: f"'{node.name or ', '.join(t.name for t in node.outputs)}' ({node.op})")


def sorted_functions(functions: Sequence[Any]) -> List[Any]:
    """The functions so that each comes behind those that it calls; OnnxGraphSurgeonException for a cycle."""
    positions = {function.unique_id: position for position, function in enumerate(functions)}
    needs = [[positions[called] for called in _called(function.nodes) if called in positions] for function in functions]
    return _sorted(functions, needs, lambda function: f"function '{function.name}'")


def _called(nodes: Iterable[Node]) -> Iterable[Tuple[str, str]]:
    for node in nodes:
        yield (node.domain or "", node.op)
        for graph in node.subgraphs():
            yield from _called(graph.nodes)


def _sorted(items: Sequence[Item], needs: List[List[int]], name: Callable[[Item], str]) -> List[Item]:
    """Kahn's algorithm; needs[i] are the positions of what item i must come behind, which may come twice."""
    waits = [len(need) for need in needs]
    followers: List[List[int]] = [[] for _ in items]
    for position, need in enumerate(needs):
        for other in need:
            followers[other].append(position)
    ready = [position for position, count in enumerate(waits) if count == 0]  # in order, hence a heap
    order = []
    while ready:
        position = heapq.heappop(ready)
        order.append(position)
        for follower in followers[position]:
            waits[follower] -= 1
            if waits[follower] == 0:
                heapq.heappush(ready, follower)
    if len(order) < len(items):
        cycle = _cycle(needs, next(position for position, count in enumerate(waits) if count > 0), set(order))
        raise OnnxGraphSurgeonException("there is a cycle: " + " reads ".join(name(items[i]) for i in cycle)
                                        + "; take one of the links out")
    return [items[position] for position in order]


def _cycle(needs: List[List[int]], start: int, done: Set[int]) -> List[int]:
    """What lies on a cycle that is reached from `start`, which is still waiting; its first item comes again last."""
    path: List[int] = []
    position: Dict[int, int] = {}
    while start not in position:
        position[start] = len(path)
        path.append(start)
        start = next(need for need in needs[start] if need not in done)
    return path[position[start]:] + [start]
