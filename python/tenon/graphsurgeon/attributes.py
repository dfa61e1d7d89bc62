"""Attributes of nodes: from and to onnx's messages."""
from typing import Any, Callable, Dict, List, Tuple

import numpy as np
import onnx

from tenon.graphsurgeon.data_types import to_onnx
from tenon.graphsurgeon.errors import OnnxGraphSurgeonException
from tenon.graphsurgeon.node import AnyGraph, Node
from tenon.graphsurgeon.tensor import Tensor

_KINDS = onnx.AttributeProto
# Kinds, the fields that hold them, and the types by which an AttributeRef names them.
_SINGLE: "List[Tuple[int, str, Any]]" = [
    (_KINDS.FLOAT, "f", float), (_KINDS.INT, "i", int), (_KINDS.STRING, "s", str), (_KINDS.TENSOR, "t", Tensor),
    (_KINDS.GRAPH, "g", AnyGraph)]
_LISTS: Dict[int, str] = {_KINDS.FLOATS: "floats", _KINDS.INTS: "ints", _KINDS.STRINGS: "strings",
                          _KINDS.TENSORS: "tensors", _KINDS.GRAPHS: "graphs"}
_LIST_OF: Dict[int, int] = {_KINDS.FLOAT: _KINDS.FLOATS, _KINDS.INT: _KINDS.INTS, _KINDS.STRING: _KINDS.STRINGS,
                            _KINDS.TENSOR: _KINDS.TENSORS, _KINDS.GRAPH: _KINDS.GRAPHS}


def attribute_value(proto: Any, tensor_of: Callable[[Any], Any], graph_of: Callable[[Any], Any]) -> Any:
    """The value of an AttributeProto; one of a kind that graphs have no word for stays as it is."""
    if proto.ref_attr_name:
        return Node.AttributeRef(proto.ref_attr_name, _type_of(proto.type))
    convert: Any = {_KINDS.STRING: _text, _KINDS.STRINGS: _text, _KINDS.TENSOR: tensor_of, _KINDS.TENSORS: tensor_of,
                    _KINDS.GRAPH: graph_of, _KINDS.GRAPHS: graph_of}.get(proto.type, lambda value: value)
    if proto.type in _LISTS:
        return [convert(value) for value in getattr(proto, _LISTS[proto.type])]
    field = next((field for kind, field, _ in _SINGLE if kind == proto.type), None)
    return proto if field is None else convert(getattr(proto, field))


def _text(value: bytes) -> Any:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def _type_of(kind: int) -> Any:
    for single, _, type_ in _SINGLE:
        if kind == single:
            return type_
        if kind == _LIST_OF[single]:
            return List[type_]  # type: ignore[valid-type]
    return kind


def _kind_of_type(type_: Any) -> int:
    """The kind that an AttributeRef's type names: a class, a list of one, NumPy's numbers, or the kind itself."""
    if isinstance(type_, int):
        return type_
    arguments = getattr(type_, "__args__", ())
    if arguments:
        return _LIST_OF[_kind_of_type(arguments[0])]
    for kind, _, known in _SINGLE:
        if isinstance(type_, type) and issubclass(type_, known):
            return kind
    if isinstance(type_, type) and issubclass(type_, (bool, np.integer)):
        return int(_KINDS.INT)
    if isinstance(type_, type) and issubclass(type_, np.floating):
        return int(_KINDS.FLOAT)
    raise OnnxGraphSurgeonException(f"an attribute of type {type_!r} is none of ONNX: expected int, float, str, Tensor, "
                                    "Graph, or a List of one")


def attribute_proto(name: str, value: Any, op: str, domain: str, tensor_proto: Callable[[Any], Any],
                    graph_proto: Callable[[Any], Any]) -> Any:
    """The AttributeProto of a value; that of an empty list has the type that the operator states."""
    if isinstance(value, onnx.AttributeProto):
        return value
    proto = onnx.AttributeProto(name=name)
    if isinstance(value, Node.AttributeRef):
        proto.ref_attr_name = value.name
        proto.type = _kind_of_type(value.type)  # type: ignore[assignment]
        return proto
    if isinstance(value, np.ndarray):
        value = value.tolist()
    many = isinstance(value, (list, tuple, range)) or (hasattr(value, "__iter__") and not isinstance(
        value, (str, bytes, Tensor, AnyGraph, type)))
    items = [_plain(item) for item in (value if many else [value])]
    kind = _kind(items, name, op, domain)
    if kind == _KINDS.TENSOR:
        items = [tensor_proto(item) for item in items]
    elif kind == _KINDS.GRAPH:
        items = [graph_proto(item) for item in items]
    elif kind == _KINDS.STRING:
        items = [item.encode() if isinstance(item, str) else item for item in items]
    proto.type = _LIST_OF[kind] if many else kind  # type: ignore[assignment]
    field = next(field for single, field, _ in _SINGLE if single == kind)
    if many:
        getattr(proto, _LISTS[proto.type]).extend(items)
    elif kind in (_KINDS.TENSOR, _KINDS.GRAPH):
        getattr(proto, field).CopyFrom(items[0])
    else:
        setattr(proto, field, items[0])
    return proto


def _plain(item: Any) -> Any:
    """A number of Python's for one of NumPy's, and ONNX's number for a type."""
    if isinstance(item, (type, np.dtype)):
        return to_onnx(item)
    item = item.item() if isinstance(item, np.generic) else item
    return int(item) if isinstance(item, bool) else item


def _kind(items: "List[Any]", name: str, op: str, domain: str) -> int:
    if not items:
        return _declared_kind(name, op, domain)
    for kind, types in ((_KINDS.INT, (int,)), (_KINDS.FLOAT, (int, float)), (_KINDS.STRING, (str, bytes)),
                        (_KINDS.TENSOR, (Tensor,)), (_KINDS.GRAPH, (AnyGraph,))):
        if all(isinstance(item, types) for item in items):
            return int(kind)
    raise OnnxGraphSurgeonException(f"attribute '{name}' of a node '{op}' is {items!r}: expected a number, a string, a "
                                    "Tensor, a Graph, a type, or a list of one of these")


def _declared_kind(name: str, op: str, domain: str) -> int:
    if onnx.defs.has(op, domain):
        declared = onnx.defs.get_schema(op, domain=domain).attributes.get(name)
        kinds = {many: single for single, many in _LIST_OF.items()}
        if declared is not None:
            return kinds.get(_KINDS.AttributeType.Value(str(declared.type).rpartition(".")[2]), int(_KINDS.INT))
    return int(_KINDS.INT)
