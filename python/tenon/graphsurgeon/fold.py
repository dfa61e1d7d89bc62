"""Constant folding: which nodes depend on constants alone, and what takes their place."""
import dataclasses
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

import numpy as np

from tenon.graphsurgeon.errors import OnnxGraphSurgeonException
from tenon.graphsurgeon.fold_casts import elide_casts
from tenon.graphsurgeon.fold_conditionals import flatten_conditionals
from tenon.graphsurgeon.fold_evaluate import Evaluator
from tenon.graphsurgeon.fold_shapes import fold_shapes
from tenon.graphsurgeon.log import G_LOGGER
from tenon.graphsurgeon.node import Node
from tenon.graphsurgeon.scopes import tensors_read
from tenon.graphsurgeon.tensor import Constant, Tensor
from tenon.graphsurgeon.toposort import sorted_nodes
from tenon.graphsurgeon.values import array_of

# What must be computed in each run, says where a quantized model computes in integers, or may run for ever.
_STAY = {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli", "Dropout",
         "QuantizeLinear", "DequantizeLinear", "Loop", "Scan"}


@dataclasses.dataclass
class Folding:
    """The arguments of Graph.fold_constants."""

    fold_shapes: bool = True
    recurse_subgraphs: bool = True
    partitioning: Optional[str] = None
    error_ok: bool = True
    flatten_subgraphs: bool = True
    size_threshold: Optional[int] = None
    should_exclude_node: Optional[Callable[[Node], bool]] = None
    recurse_functions: bool = True

    def stays(self, node: Node) -> bool:
        """Whether the user wants a node to stay."""
        return self.should_exclude_node is not None and bool(self.should_exclude_node(node))


def fold(graph: Any, how: Folding) -> None:
    """Graph.fold_constants."""
    if how.partitioning not in (None, "basic", "recursive"):
        raise OnnxGraphSurgeonException(f"partitioning is {how.partitioning!r}: expected None, 'basic' or 'recursive'")
    if how.recurse_functions:
        for function in graph.functions:
            if function is not graph:
                fold(function, dataclasses.replace(how, recurse_functions=False))
    _fold_nodes(graph, how)
    while how.flatten_subgraphs and flatten_conditionals(graph, how.stays):
        _fold_nodes(graph, how)
    if how.recurse_subgraphs:
        for inner in graph.subgraphs():
            fold(inner, dataclasses.replace(how, recurse_functions=False))


def _fold_nodes(graph: Any, how: Folding) -> None:
    _lower_constants(graph, how)
    elide_casts(graph)
    if how.fold_shapes:
        fold_shapes(graph, how.stays)
    foldable = _foldable(graph, how)
    if foldable:
        values = _evaluate(graph, foldable, how)
        _replace(graph, [node for node in foldable if all(id(t) in values for t in node.outputs if t.name)], values, how)


def _lower_constants(graph: Any, how: Folding) -> None:
    """Constant nodes become constants, whose values are not read."""
    for node in graph.nodes:
        if node.op != "Constant" or node.domain or len(node.outputs) != 1 or len(node.attrs) != 1:
            continue
        (name, value), = node.attrs.items()
        if isinstance(value, Node.AttributeRef) or how.stays(node):
            continue
        if isinstance(value, Constant):
            values: Any = value._values
        elif name in ("value_float", "value_floats"):
            values = np.array(value, np.float32)
        elif name in ("value_int", "value_ints"):
            values = np.array(value, np.int64)
        elif name in ("value_string", "value_strings"):
            values = np.array(value, object)
        else:
            continue
        tensor = node.outputs[0]
        node.outputs.clear()
        tensor.to_constant(values)


def has_attribute_ref(node: Node) -> bool:
    """Whether a node, or one of the graphs in its attributes, takes an attribute of the function around."""
    return any(isinstance(value, Node.AttributeRef) for value in node.attrs.values()) or any(
        has_attribute_ref(inner) for graph in node.subgraphs() for inner in graph.nodes)


def _must_run(node: Node, functions: Dict[Tuple[str, str], Any]) -> bool:
    """Whether a node is one of _STAY, or one of a graph in its attributes or of the function that it calls is."""
    if node.op in _STAY and not node.domain:
        return True
    called = functions.get((node.domain or "", node.op))
    bodies = [*node.subgraphs(), *([called] if called is not None else [])]
    return any(_must_run(inner, functions) for body in bodies for inner in body.nodes)


def _foldable(graph: Any, how: Folding) -> List[Node]:
    """The nodes that depend on constants alone, in an order in which they can be computed."""
    inputs = {id(tensor) for tensor in graph.inputs}
    functions = {function.unique_id: function for function in graph.functions}
    known: Set[int] = set()
    found = []
    for node in sorted_nodes(graph):
        if not any(tensor.name for tensor in node.outputs):
            continue
        if not all(isinstance(tensor, Constant) or id(tensor) in known or tensor.name == "" for tensor in tensors_read(node)):
            continue
        if any(id(tensor) in inputs for tensor in node.outputs) or has_attribute_ref(node):
            continue
        if _must_run(node, functions) or how.stays(node):
            continue
        known.update(map(id, node.outputs))
        found.append(node)
    return found


def _evaluate(graph: Any, nodes: List[Node], how: Folding) -> Dict[int, np.ndarray]:
    """The values, by numbers of tensors, of the nodes' results; of none that `partitioning` lets a failure reach."""
    evaluator = Evaluator(graph)
    values: Dict[int, np.ndarray] = {}
    failed: List[Node] = []
    lost: Set[int] = set()
    for node in nodes:
        if any(id(tensor) in lost for tensor in tensors_read(node)):
            lost.update(map(id, node.outputs))
            continue
        if _too_large(node, values, how.size_threshold):
            lost.update(map(id, node.outputs))
            continue
        try:
            results = evaluator.evaluate(node, values)
        except Exception as error:  # whatever an evaluator says
            if not how.error_ok:
                raise
            G_LOGGER.warning(f"node '{node.name}' ({node.op}) is not folded: {error}")
            if how.partitioning is None:
                G_LOGGER.warning("no constants are folded; partitioning='recursive' folds what does not depend on such nodes")
                return {}
            failed.append(node)
            lost.update(map(id, node.outputs))
            continue
        values.update({id(tensor): result for tensor, result in zip(node.outputs, results) if tensor.name})
    if failed and how.partitioning == "basic":
        for number in _connected(nodes, failed):
            values.pop(number, None)
    return values


def _too_large(node: Node, values: Dict[int, np.ndarray], limit: Optional[int]) -> bool:
    """Whether the result is known to be larger than `limit` allows before it is computed, and larger than what it is of."""
    if limit is None or node.domain or node.op not in ("Tile", "Expand", "ConstantOfShape"):
        return False
    read = [_value_of(tensor, values) for tensor in node.inputs]
    try:
        if node.op == "Tile":
            size = read[0].nbytes * int(np.prod(read[1], dtype=np.float64))
        elif node.op == "Expand":
            size = read[0].itemsize * int(np.prod(np.broadcast_shapes(read[0].shape, tuple(read[1])), dtype=np.float64))
        else:
            size = int(np.prod(read[0], dtype=np.float64))  # of a byte at least
    except (ValueError, IndexError, AttributeError):  # the evaluator says it better
        return False
    return size > max(limit, 1 << 24)  # less is computed, as what follows may be small again


def _value_of(tensor: Tensor, values: Dict[int, np.ndarray]) -> Any:
    if isinstance(tensor, Constant):
        return array_of(tensor._values)
    return values.get(id(tensor))


def _connected(nodes: List[Node], failed: List[Node]) -> Set[int]:
    """The results of the nodes that a path of such nodes, in any direction, connects with the failed ones."""
    by_tensor: Dict[int, List[Node]] = {}
    for node in nodes:
        for tensor in [*tensors_read(node), *node.outputs]:
            if not isinstance(tensor, Constant):
                by_tensor.setdefault(id(tensor), []).append(node)
    waiting, seen = list(failed), {id(node) for node in failed}
    found: Set[int] = set()
    while waiting:
        node = waiting.pop()
        found.update(map(id, node.outputs))
        for tensor in [*tensors_read(node), *node.outputs]:
            for other in by_tensor.get(id(tensor), ()):
                if id(other) not in seen:
                    seen.add(id(other))
                    waiting.append(other)
    return found


def _replace(graph: Any, nodes: List[Node], values: Dict[int, np.ndarray], how: Folding) -> None:
    """Makes constants of what nodes that stay read, and takes the results of the others away."""
    outputs = {id(tensor) for tensor in graph.outputs}
    gone: Set[int] = set()
    for node in reversed(nodes):
        results = [tensor for tensor in node.outputs if tensor.name]
        large = [t for t in results if how.size_threshold is not None and values[id(t)].nbytes > how.size_threshold]
        if large:
            G_LOGGER.info(lambda: f"'{large[0].name}' is not folded: it has more than {how.size_threshold} bytes")
            if all(id(reader) in gone for t in results for reader in t.outputs) and not any(id(t) in outputs for t in results):
                gone.add(id(node))  # the constants behind it do not need it
            continue
        gone.add(id(node))
        needed = [t for t in results if id(t) in outputs or any(id(reader) not in gone for reader in t.outputs)]
        node.outputs.clear()
        for tensor in needed:
            tensor.to_constant(values[id(tensor)])
