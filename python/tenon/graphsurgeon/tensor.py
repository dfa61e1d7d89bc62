"""Tensors of a graph: variables, whose values come when the model runs, and constants."""
from typing import TYPE_CHECKING, Any, ClassVar, Dict, Iterable, Optional, Sequence, Union

import numpy as np

from tenon.graphsurgeon.data_types import DataType
from tenon.graphsurgeon.errors import OnnxGraphSurgeonException
from tenon.graphsurgeon.links import SynchronizedList, replace_links
from tenon.graphsurgeon.values import LazyValues, SparseValues, Values

if TYPE_CHECKING:
    from tenon.graphsurgeon.node import Node

__all__ = ["Constant", "LazyValues", "SparseValues", "Tensor", "Variable"]


class Tensor:
    """What Variable and Constant share; not made itself.

    name: str; "" for an optional input or output that is left out. inputs: the nodes that compute the tensor,
    at most one in a valid model; outputs: the nodes that read it, once for each time. Both lists follow those
    of the nodes. Tensors with equal names are equal: a graph must not have two.
    """

    DYNAMIC: ClassVar[int] = -1

    name: str
    _inputs: "SynchronizedList[Node]"
    _outputs: "SynchronizedList[Node]"

    def __init__(self) -> None:
        raise NotImplementedError("Tensor is abstract: make a Variable or a Constant")

    def _start(self, name: str) -> None:
        self.name = name
        self._inputs = SynchronizedList(self, "outputs", ())
        self._outputs = SynchronizedList(self, "inputs", ())

    @property
    def inputs(self) -> "SynchronizedList[Node]":
        """The nodes that compute the tensor."""
        return self._inputs

    @inputs.setter
    def inputs(self, nodes: "Iterable[Node]") -> None:
        self._inputs = replace_links(self._inputs, self, "outputs", nodes)

    @property
    def outputs(self) -> "SynchronizedList[Node]":
        """The nodes that read the tensor."""
        return self._outputs

    @outputs.setter
    def outputs(self, nodes: "Iterable[Node]") -> None:
        self._outputs = replace_links(self._outputs, self, "inputs", nodes)

    def is_empty(self) -> bool:
        """Whether it stands for an optional input or output that is left out, which has no name."""
        return self.name == ""

    def _become(self, new: "Tensor") -> None:
        links = self._inputs, self._outputs
        self.__class__ = new.__class__
        self.__dict__ = new.__dict__
        self._inputs, self._outputs = links

    def to_constant(self, values: Values, data_location: Optional[int] = None,
                    export_dtype: Optional[DataType] = None) -> "Constant":
        """Makes this tensor, where it is, a Constant with these values; returns it."""
        self._become(Constant(self.name, values, data_location, export_dtype))
        return self  # type: ignore[return-value]

    def to_variable(self, dtype: Optional[DataType] = None,
                    shape: Optional[Sequence[Union[int, str, None]]] = ()) -> "Variable":
        """Makes this tensor, where it is, a Variable of this type and shape; returns it.

        Without a shape it is a scalar; None is a shape that is not known.
        """
        self._become(Variable(self.name, dtype, list(shape) if shape == () else shape))
        return self  # type: ignore[return-value]

    def i(self, tensor_idx: int = 0, producer_idx: int = 0) -> "Tensor":
        """An input of a node that computes this tensor: self.inputs[producer_idx].inputs[tensor_idx]."""
        return self._inputs[producer_idx].inputs[tensor_idx]

    def o(self, consumer_idx: int = 0, tensor_idx: int = 0) -> "Tensor":
        """An output of a node that reads this tensor: self.outputs[consumer_idx].outputs[tensor_idx]."""
        return self._outputs[consumer_idx].outputs[tensor_idx]

    def __eq__(self, other: object) -> bool:
        return self.name == other.name if isinstance(other, Tensor) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # names change

    def __repr__(self) -> str:
        return f"{type(self).__name__} ({self.name}): (shape={self.shape}, dtype={self.dtype})"  # type: ignore

    def __str__(self) -> str:
        return repr(self)


class Variable(Tensor):
    """A tensor whose values come when the model runs.

    dtype: its type, None if not known. shape: a sequence of ints, names of dimensions and -1 or None for
    extents that are not known; None without a rank. type: "tensor_type", or what else ONNX calls it. doc_string and
    metadata, {key: value}, are what exporters wrote of it.
    """

    dtype: Optional[DataType]
    shape: Any
    type: str
    doc_string: str
    metadata: "Dict[str, str]"

    def __init__(self, name: str, dtype: Optional[DataType] = None,
                 shape: Optional[Sequence[Union[int, str, None]]] = None, type: str = "tensor_type") -> None:
        self._start(name)
        self.dtype = dtype
        self.shape = shape
        self.type = type
        self.doc_string = ""
        self.metadata = {}

    @staticmethod
    def empty() -> "Variable":
        """A tensor without a name, for an optional input or output that is left out."""
        return Variable("")

    def copy(self) -> "Variable":
        """A tensor of the same name, type and shape, which no node computes or reads."""
        shape = list(self.shape) if isinstance(self.shape, list) else self.shape
        made = Variable(self.name, self.dtype, shape, self.type)
        made.doc_string, made.metadata = self.doc_string, dict(self.metadata)
        return made


class Constant(Tensor):
    """A tensor whose values are in the model.

    values: an array, which is not copied, or LazyValues, which become one when `values` is asked for.
    data_location: onnx.TensorProto.DEFAULT or EXTERNAL, None where nobody says. export_dtype: the type that an
    exported model has the values in; None for their own.
    """

    _values: Values
    data_location: Optional[int]

    def __init__(self, name: str, values: Values, data_location: Optional[int] = None,
                 export_dtype: Optional[DataType] = None) -> None:
        self._start(name)
        self._values = _checked(name, values)
        self.data_location = data_location
        self._export_dtype = export_dtype

    @property
    def values(self) -> np.ndarray:
        """The values, which may be changed where they are."""
        if isinstance(self._values, LazyValues):
            self._values = self._values.load()
        return self._values

    @values.setter
    def values(self, values: Values) -> None:
        self._values = _checked(self.name, values)

    @property
    def shape(self) -> Any:
        """The extents, a tuple; a list while the values have not been asked for."""
        return self._values.shape

    @property
    def dtype(self) -> Any:
        """NumPy's type; ONNX's number, while the values have not been asked for, where NumPy itself has none."""
        return self._values.dtype

    @property
    def export_dtype(self) -> DataType:
        """The type that an exported model has the values in."""
        return self.dtype if self._export_dtype is None else self._export_dtype

    @export_dtype.setter
    def export_dtype(self, export_dtype: Optional[DataType]) -> None:
        self._export_dtype = export_dtype

    def copy(self) -> "Constant":
        """A tensor with the same values, which are not copied, that no node reads."""
        return Constant(self.name, self._values, self.data_location, self._export_dtype)


def _checked(name: str, values: Any) -> Values:
    if isinstance(values, np.generic):
        return np.asarray(values)
    if isinstance(values, (np.ndarray, LazyValues)):
        return values
    raise OnnxGraphSurgeonException(f"the values of constant '{name}' are {type(values).__name__}: expected a NumPy "
                                    "array or LazyValues; np.array(values, dtype) makes one")
