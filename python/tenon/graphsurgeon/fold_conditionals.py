"""The branch of an If whose condition is a constant takes its place."""
import collections
from typing import Any, Callable, Dict, List, Set

import numpy as np

from tenon.graphsurgeon.misc import is_dynamic_shape, volume
from tenon.graphsurgeon.node import AnyGraph, Node
from tenon.graphsurgeon.scopes import tensors_of
from tenon.graphsurgeon.tensor import Constant, Tensor, Variable
from tenon.graphsurgeon.values import array_of


def flatten_conditionals(graph: Any, stays: Callable[[Node], bool]) -> bool:
    """Puts the branches of such nodes into the graph; returns whether there were any."""
    count = 0
    nodes: List[Node] = []
    names: Set[str] = set()
    holders = collections.Counter(number for node in graph.nodes for number in {id(inner) for inner in node.subgraphs()})
    for node in graph.nodes:
        branch = _branch(node)
        if branch is None or holders[id(branch)] > 1 or stays(node):  # another node runs the same nodes
            nodes.append(node)
            continue
        names = names or {tensor.name for tensor in tensors_of(graph)}
        _rename(branch, names, f"_subg_{count}_{branch.name}")
        nodes.extend(_inlined(node, branch))
        count += 1
    graph.nodes[:] = nodes
    return count > 0


def _branch(node: Node) -> Any:
    """The graph that an If runs, if that is known; None otherwise."""
    if node.op != "If" or node.domain or not node.inputs or not node.outputs:
        return None
    condition = node.inputs[0]
    if not isinstance(condition, Constant) or is_dynamic_shape(condition.shape) or volume(condition.shape) != 1:
        return None
    branch = node.attrs.get("then_branch" if bool(np.ravel(array_of(condition._values))[0]) else "else_branch")
    return branch if isinstance(branch, AnyGraph) and len(branch.outputs) == len(node.outputs) else None  # type: ignore


def _rename(branch: Any, names: Set[str], suffix: str) -> None:
    """Gives the branch's own tensors and nodes names that the graph around does not have."""
    own: Dict[int, Tensor] = {}
    for node in branch.nodes:
        own.update({id(tensor): tensor for tensor in node.outputs if tensor.name})
        own.update({id(tensor): tensor for tensor in node.inputs if isinstance(tensor, Constant) and all(
            any(reader is inner for inner in branch.nodes) for reader in tensor.outputs)})
    for tensor in own.values():
        name = tensor.name + suffix
        while name in names:
            name += "_"
        names.add(name)
        tensor.name = name
    for node in branch.nodes:
        if node.name:
            node.name += suffix


def _inlined(node: Node, branch: Any) -> List[Node]:
    """The branch's nodes, which now compute what the If did; the If loses its links."""
    computed = {id(tensor) for inner in branch.nodes for tensor in inner.outputs}
    nodes = list(branch.nodes)
    results = list(node.outputs)
    node.inputs.clear()
    node.outputs.clear()
    placed: Dict[int, Tensor] = {}
    for tensor, result in zip(branch.outputs, results):
        if id(tensor) not in computed or id(tensor) in placed:  # it is of the graph around, a constant, or comes twice
            nodes.append(Node("Identity", f"{result.name}_branch", inputs=[placed.get(id(tensor), tensor)], outputs=[result]))
            continue
        placed[id(tensor)] = result
        if isinstance(result, Variable) and isinstance(tensor, Variable):
            result.dtype = tensor.dtype if result.dtype is None else result.dtype
            result.shape = tensor.shape if result.shape is None else result.shape
        _take_place(tensor, result)
    branch.outputs[:] = [placed.get(id(tensor), tensor) for tensor in branch.outputs]
    return nodes


def _take_place(tensor: Tensor, result: Tensor) -> None:
    """`result` is computed and read where `tensor` was."""
    for producer in list(tensor.inputs):
        producer.outputs = [result if other is tensor else other for other in producer.outputs]
    for reader in list({id(reader): reader for reader in tensor.outputs}.values()):
        reader.inputs = [result if other is tensor else other for other in reader.inputs]
