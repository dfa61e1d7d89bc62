"""Values of constants that are read from the model when they are needed."""
from typing import Any, Union

import numpy as np
import onnx
import onnx.numpy_helper

from tenon.graphsurgeon.data_types import bits_of, data_type_of, shape_of, to_onnx, volume
from tenon.graphsurgeon.errors import OnnxGraphSurgeonException


class LazyValues:
    """The values of a tensor of a model, which stay there until load().

    tensor: the onnx.TensorProto, which is kept and not copied. shape is a list of ints, dtype NumPy's type or
    ONNX's number, and nbytes what the elements take.
    """

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.shape = shape_of(tensor)
        self.dtype = data_type_of(tensor)
        extents = self.shape or []
        bits = bits_of(to_onnx(self.dtype)) if self.dtype is not None else 0
        static = all(isinstance(extent, int) for extent in extents)
        self.nbytes = -(-volume(extents) * bits // 8) if static else 0

    def load(self) -> np.ndarray:
        """The values, in memory of their own.

        OnnxGraphSurgeonException where they lie in a file, which onnx.load(path) reads unless it was told not to.
        """
        if self.tensor.data_location == onnx.TensorProto.EXTERNAL:
            raise OnnxGraphSurgeonException(
                f"the values of '{self.tensor.name}' lie in a file beside the model, and were not read: load the model "
                "by onnx.load(path), or call onnx.load_external_data_for_model(model, folder)")
        return np.array(onnx.numpy_helper.to_array(self.tensor))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape}, dtype={self.dtype})"


class SparseValues(LazyValues):
    """The values of an onnx.SparseTensorProto, whose nonzero elements alone are in the model."""

    def load(self) -> np.ndarray:
        """All values, zeros too."""
        elements = onnx.numpy_helper.to_array(self.tensor.values)
        indices = onnx.numpy_helper.to_array(self.tensor.indices)
        dense = np.zeros(tuple(self.tensor.dims), elements.dtype)
        if indices.ndim == 1:  # of the flattened tensor; otherwise a row for each element
            dense.reshape(-1)[indices] = elements
        else:
            dense[tuple(indices.T)] = elements
        return dense


Values = Union[np.ndarray, LazyValues]


def array_of(values: Values) -> np.ndarray:
    """The array; one that is loaded for this is not kept."""
    return values.load() if isinstance(values, LazyValues) else values
