"""Shapes that a graph states become constants: whole ones, and elements that Gather or Slice take of one."""
from typing import Any, Callable, List, Optional

import numpy as np

from tenon.graphsurgeon.misc import is_dynamic_dimension
from tenon.graphsurgeon.node import Node
from tenon.graphsurgeon.tensor import Constant, Tensor, Variable
from tenon.graphsurgeon.values import array_of


def fold_shapes(graph: Any, stays: Callable[[Node], bool]) -> None:
    """Replaces what Shape, Shape and Gather, or Shape and Slice give by constants where the extents are known."""
    for node in graph.nodes:
        if node.domain or not node.outputs or node.op not in ("Shape", "Gather", "Slice"):
            continue
        extents = _shape_extents(node) if node.op == "Shape" else _part(node)
        if extents is None or any(is_dynamic_dimension(extent) for extent in np.ravel(extents).tolist()) or stays(node):
            continue
        tensor = node.outputs[0]
        node.outputs.clear()
        tensor.to_constant(np.array(extents, np.int64))


def _shape_extents(node: Node) -> Optional[List[Any]]:
    """The extents that a Shape gives; None where the rank is not known."""
    shape = node.inputs[0].shape if node.inputs else None  # type: ignore[attr-defined]
    bounds = [node.attrs.get("start", 0), node.attrs.get("end")]
    if shape is None or any(isinstance(bound, Node.AttributeRef) for bound in bounds):
        return None
    return [int(extent) if isinstance(extent, np.integer) else extent for extent in shape][bounds[0]:bounds[1]]


def _part(node: Node) -> Any:
    """The extents, an array of objects, that a Gather or Slice of a Shape gives; None where that cannot be said."""
    data: Any = node.inputs[0] if node.inputs else None
    if not isinstance(data, Variable) or len(data.inputs) != 1 or data.inputs[0].op != "Shape" or data.inputs[0].domain:
        return None
    extents = _shape_extents(data.inputs[0])
    if extents is None:
        return None
    elements = np.empty(len(extents), object)
    elements[:] = extents
    return _gathered(node, elements) if node.op == "Gather" else _sliced(node, elements)


def _gathered(node: Node, elements: Any) -> Any:
    indices = _values(node.inputs[1] if len(node.inputs) > 1 else None)
    if indices is None or node.attrs.get("axis", 0) not in (0, -1) or indices.size == 0:
        return None
    if indices.min() < -len(elements) or indices.max() >= len(elements):
        return None  # not valid, and not ours to say
    return elements[indices]


def _sliced(node: Node, elements: Any) -> Any:
    """Slice has its bounds as inputs, and before opset 10 as attributes."""
    bounds: List[Any] = []
    for position, name in enumerate(("starts", "ends", "axes", "steps"), 1):
        if len(node.inputs) > 1:
            tensor = node.inputs[position] if position < len(node.inputs) else None
            missing = tensor is None or tensor.name == ""
            values = None if missing else _values(tensor)
        else:
            missing = name not in node.attrs
            values = None if missing or isinstance(node.attrs[name], Node.AttributeRef) else np.array(node.attrs[name])
        if missing and position > 2:
            values = np.array([0 if name == "axes" else 1])
        if values is None or values.size != 1:
            return None
        bounds.append(int(values.reshape(())))
    start, end, axis, step = bounds
    if axis not in (0, -1) or step == 0:
        return None
    if step < 0 and end < -len(elements):
        end_bound: Optional[int] = None  # up to the first
    else:
        end_bound = end
    return elements[start:end_bound:step]


def _values(tensor: Optional[Tensor]) -> Any:
    return array_of(tensor._values) if isinstance(tensor, Constant) else None
