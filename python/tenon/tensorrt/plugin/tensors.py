"""Tensors of plugins that are made by decorators: descriptions, and tensors with data."""
import math

from tenon import _native, _tensor_memory
from tenon.tensorrt.plugin.shapes import (Shape, ShapeExpr, ShapeExprs, SizeTensorShapeExpr,
                                          SymInt32)


def _shape_exprs(shape):
    return shape if isinstance(shape, ShapeExprs) else ShapeExprs.from_tuple(tuple(shape))


class TensorDesc:
    """What is known of a tensor: never its data.

    shape_expr: the shape as formulas (or a tuple of formulas and ints); dtype: a DataType;
    format: a TensorFormat; scale: the step of an INT8 tensor.
    """

    dtype: _native.DataType | None
    format: _native.TensorFormat | None
    scale: float | None

    def __init__(self, shape_expr=None, dtype=None, format=None, scale=None):  # noqa: A002
        self._shape_expr = None if shape_expr is None else _shape_exprs(shape_expr)
        self._shape = None
        self._aliased_to = None
        self.dtype = dtype
        self.format = format
        self.scale = scale

    @classmethod
    def of(cls, desc):
        """That of a tensor whose description (DynamicPluginTensorDesc) the engine gave."""
        made = cls(dtype=desc.desc.type, format=desc.desc.format, scale=desc.desc.scale)
        made._shape = Shape(desc)
        return made

    @property
    def has_shape(self):
        """Whether `shape` is there: where types, formats and tactics are chosen."""
        return self._shape is not None

    @property
    def has_shape_expr(self):
        """Whether `shape_expr` is there: in the function that register() decorates."""
        return self._shape_expr is not None

    @property
    def shape(self):
        """The shape in numbers (Shape)."""
        if self._shape is None:
            raise AttributeError("this TensorDesc has formulas of its shape, not numbers: "
                                 "see shape_expr")
        return self._shape

    @shape.setter
    def shape(self, shape):
        self._shape = shape if isinstance(shape, Shape) else Shape(shape)

    @property
    def shape_expr(self):
        """The shape as formulas (ShapeExprs); single dimensions may be set."""
        if self._shape_expr is None:
            raise AttributeError("this TensorDesc has numbers for its shape, not formulas: "
                                 "see shape")
        return self._shape_expr

    @shape_expr.setter
    def shape_expr(self, shape):
        if self.is_aliased:
            raise ValueError("the shape of an aliased TensorDesc cannot be changed: see like()")
        self._shape_expr = _shape_exprs(shape)

    @property
    def ndim(self):
        """The number of dimensions."""
        return len(self._shape_expr if self._shape is None else self._shape)

    @property
    def is_dynamic(self):
        """Whether a dimension varies."""
        if self._shape is not None:
            return self._shape.is_dynamic
        return not all(expr.is_constant for expr in self._shape_expr)

    @property
    def is_size_tensor(self):
        """Whether this is the scalar that tells a dimension of other outputs."""
        return False

    def numel(self):
        """The number of elements: a number, or a formula (ShapeExpr)."""
        return (self._shape_expr if self._shape is None else self._shape).numel()

    def like(self):
        """A new description that is equal to this one."""
        made = TensorDesc(None if self._shape_expr is None else tuple(self._shape_expr),
                          self.dtype, self.format, self.scale)
        made._shape = self._shape
        return made

    def aliased(self):
        """The same for an output that shares the memory of this input."""
        made = self.like()
        made._aliased_to = self
        return made

    @property
    def is_aliased(self):
        """Whether aliased() made it."""
        return self._aliased_to is not None

    def get_aliased(self):
        """The description it shares memory with; None if there is none."""
        return self._aliased_to


class SizeTensorDesc(TensorDesc):
    """The description of a scalar output that tells a dimension of other outputs."""

    def __init__(self, opt, upper_bound):
        super().__init__((), _native.DataType.INT32)
        self._opt, self._upper_bound = (
            x if isinstance(x, SymInt32) else ShapeExpr(x) for x in (opt, upper_bound))
        self._index = None

    @property
    def is_size_tensor(self):
        return True

    @property
    def opt(self):
        """The usual value, a ShapeExpr."""
        return self._opt

    @property
    def upper_bound(self):
        """The largest value, a ShapeExpr."""
        return self._upper_bound

    @property
    def index(self):
        """The number of the output; None before the plugin has returned it."""
        return self._index

    def expr(self):
        """The dimension that this tensor tells."""
        return SizeTensorShapeExpr(self)


def size_tensor(opt, upper_bound):
    """A scalar output in which the plugin tells a dimension that only running it finds; return it
    as an output, too. opt, upper_bound: its usual and its largest value."""
    return SizeTensorDesc(opt, upper_bound)


def from_shape_expr(shape_expr, dtype):
    """A description with this shape (a tuple of ShapeExpr and int, or ShapeExprs)."""
    return TensorDesc(tuple(shape_expr), dtype)


class Tensor:
    """A tensor with data, of the function that impl() decorates; valid until it returns.

    NumPy (numpy.asarray), PyTorch (torch.from_dlpack, torch.as_tensor) and others take it as it is,
    without a copy, and may write to it if it is an output. Where the engine runs on CUDA it is in
    the GPU's memory: PyTorch and CuPy take it, and work in the stream that is given.
    """

    data_ptr: int
    dtype: _native.DataType
    format: _native.TensorFormat
    scale: float
    shape: Shape
    strides: tuple  # elements from one index to the next, for each dimension

    def __init__(self, pointer, desc, shape=None):
        self._desc = desc
        self.data_ptr = int(pointer)
        self.dtype = desc.type
        self.format = desc.format
        self.scale = desc.scale
        self.shape = Shape(tuple(desc.dims if shape is None else shape))
        self.strides = tuple(math.prod(list(self.shape)[i + 1:]) for i in range(self.ndim))
        self._aliased_to = None

    @property
    def ndim(self):
        """The number of dimensions."""
        return len(self.shape)

    @property
    def is_data_dependent(self):
        """Whether only running the plugin tells the shape."""
        return self.shape.is_dynamic

    def numel(self):
        """The number of elements. Raises ValueError if is_data_dependent."""
        return self.shape.numel()

    @property
    def is_aliased(self):
        """Whether aliased() made it."""
        return self._aliased_to is not None

    def get_aliased(self):
        """The tensor it shares memory with; None if there is none."""
        return self._aliased_to

    def aliased(self, shape=None):
        """The same memory with another shape of as many elements; of an output whose shape running
        tells, with the shape that was found."""
        shape = self.shape if shape is None else shape
        made = Tensor(self.data_ptr, self._desc,
                      tuple(Shape(shape) if not isinstance(shape, Shape) else shape))
        if not self.is_data_dependent and made.numel() != self.numel():
            raise ValueError(f"{made.shape} has {made.numel()} elements; expected those of "
                             f"{self.shape}, {self.numel()}")
        made._aliased_to = self
        return made

    def _array(self):
        return _tensor_memory.as_array(self.data_ptr, self._desc, self.shape)

    # An array has one of them, by which others see where its memory is.
    @property
    def __array_interface__(self):
        return self._array().__array_interface__

    @property
    def __cuda_array_interface__(self):
        return self._array().__cuda_array_interface__

    def __array__(self, *arguments, **named):
        return self._array().__array__(*arguments, **named)

    def __dlpack__(self, **arguments):
        return self._array().__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self._array().__dlpack_device__()
