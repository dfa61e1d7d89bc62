"""Casts of integers to floats and back, around arithmetic that gives integers, go.

Exporters compute shapes so. Integers then stay exact where floats would round those beyond 2^24.
"""
from typing import Any, Dict, Optional, Tuple

import numpy as np
import onnx

from tenon.graphsurgeon.data_types import to_numpy, to_onnx
from tenon.graphsurgeon.node import Node
from tenon.graphsurgeon.tensor import Constant, Tensor
from tenon.graphsurgeon.values import array_of

_OPS = {"Add", "Sub", "Mul", "Max", "Min", "Concat"}
_INTEGERS = {onnx.TensorProto.INT32, onnx.TensorProto.INT64}
_FLOATS = {onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16}


def elide_casts(graph: Any) -> None:
    """Takes the casts around each such node away, where nobody else reads what would no longer be computed."""
    outputs = {id(tensor) for tensor in graph.outputs}
    made: Dict[Tuple[int, int], Constant] = {}
    for node in graph.nodes:
        if node.op in _OPS and not node.domain and len(node.outputs) == 1:
            result = node.outputs[0]
            if len(result.outputs) == 1 and id(result) not in outputs:
                _elide(node, result.outputs[0], made)


def _elide(node: Node, cast: Node, made: Dict[Tuple[int, int], Constant]) -> None:
    target = cast.attrs.get("to")
    if cast.op != "Cast" or cast.domain or target not in _INTEGERS:
        return
    replaced = [None if isinstance(tensor, Constant) else _before_cast(tensor, target) for tensor in node.inputs]
    if not any(replaced) or any(source is None and not isinstance(tensor, Constant)
                                for source, tensor in zip(replaced, node.inputs)):
        return
    inputs = [source or _as_integers(tensor, target, made) for source, tensor in zip(replaced, node.inputs)]
    if not all(inputs):
        return
    node.inputs = inputs  # type: ignore[assignment]
    result = cast.outputs[0]
    cast.inputs.clear()
    cast.outputs.clear()
    node.outputs = [result]


def _before_cast(tensor: Tensor, target: int) -> Optional[Tensor]:
    """The integers of type `target` that a cast made floats of; None if none did."""
    if len(tensor.inputs) != 1 or tensor.inputs[0].op != "Cast" or tensor.inputs[0].domain:
        return None
    cast = tensor.inputs[0]
    source: Any = cast.inputs[0]
    if cast.attrs.get("to") not in _FLOATS or source.dtype is None or to_onnx(source.dtype) != target:
        return None
    return source


def _as_integers(tensor: Any, target: int, made: Dict[Tuple[int, int], Constant]) -> Optional[Constant]:
    """A constant of integers with the values of one of floats; None where these are no integers."""
    key = (id(tensor), target)
    if key not in made:
        values = array_of(tensor._values)
        if values.dtype.kind != "f" or not np.array_equal(values, np.rint(values)) or np.any(np.abs(values) > 2**24):
            return None
        dtype = to_numpy(target)
        made[key] = Constant(f"{tensor.name}_as_{dtype.name}", values.astype(dtype))
    return made[key]
