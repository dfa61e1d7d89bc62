"""Shapes of plugins that are made by decorators: formulas and numbers."""
import builtins
import operator

from tenon import _native

_Operation = _native.DimensionOperation
_COMPUTE = {
    _Operation.SUM: operator.add, _Operation.PROD: operator.mul, _Operation.SUB: operator.sub,
    _Operation.MAX: builtins.max, _Operation.MIN: builtins.min,
    _Operation.EQUAL: lambda a, b: int(a == b), _Operation.LESS: lambda a, b: int(a < b),
    _Operation.FLOOR_DIV: operator.floordiv, _Operation.CEIL_DIV: lambda a, b: -(-a // b),
}


class SymInt32:
    """A formula over dimensions. Without a value it is fake: it stands for a dimension where the
    engine asks for no shapes, and so do formulas over it."""

    def __init__(self, value=None):
        # One of: None (fake), int, IDimensionExpr, (operation, first, second), or the dimension
        # of a size tensor.
        if isinstance(value, SymInt32):
            value = value if value.is_size_tensor else value._value
        elif isinstance(value, _native.IDimensionExpr):
            value = value.get_constant_value() if value.is_constant() else value
        elif value is not None and not isinstance(value, tuple):
            value = operator.index(value)
        self._value = value

    @property
    def is_fake(self):
        """Whether it has no value here."""
        return self._value is None

    @property
    def is_size_tensor(self):
        """Whether it is a dimension that running the plugin tells."""
        return isinstance(self._value, SymInt32)

    @property
    def is_constant(self):
        """Whether it is known when the engine is built. Raises RuntimeError for fake ones."""
        if self.is_fake:
            raise RuntimeError("a fake ShapeExpr is neither constant nor not: the engine asks for "
                               "no shapes here")
        return isinstance(self._value, int)

    def constant_value(self):
        """Its value. Raises RuntimeError if it is not constant."""
        if not self.is_constant:
            raise RuntimeError("this ShapeExpr is not known when the engine is built; "
                               "see is_constant")
        return self._value

    def build(self, builder, sizes):
        """The engine's formula. `sizes` has that of each size tensor, by its descriptor."""
        if isinstance(self._value, int):
            return builder.constant(self._value)
        if isinstance(self._value, tuple):
            kind, first, second = self._value
            return builder.operation(kind, first.build(builder, sizes),
                                     second.build(builder, sizes))
        if isinstance(self._value, SymInt32):
            return self._value.build(builder, sizes)
        if self.is_fake:
            raise RuntimeError("a fake ShapeExpr has no formula")
        return self._value

    def _combined(self, kind, first, second):
        first, second = (x if isinstance(x, SymInt32) else ShapeExpr(x) for x in (first, second))
        if first.is_fake or second.is_fake:
            return ShapeExpr()
        divides = kind in (_Operation.FLOOR_DIV, _Operation.CEIL_DIV)
        if divides and second.is_constant and second.constant_value() == 0:
            raise ValueError("a dimension is divided by 0")
        if first.is_constant and second.is_constant:
            return ShapeExpr(_COMPUTE[kind](first.constant_value(), second.constant_value()))
        return ShapeExpr((kind, first, second))

    def __add__(self, other):
        return self._combined(_Operation.SUM, self, other)

    def __sub__(self, other):
        return self._combined(_Operation.SUB, self, other)

    def __mul__(self, other):
        return self._combined(_Operation.PROD, self, other)

    def __floordiv__(self, other):
        return self._combined(_Operation.FLOOR_DIV, self, other)

    def __radd__(self, other):
        return self._combined(_Operation.SUM, other, self)

    def __rsub__(self, other):
        return self._combined(_Operation.SUB, other, self)

    def __rmul__(self, other):
        return self._combined(_Operation.PROD, other, self)

    def __rfloordiv__(self, other):
        return self._combined(_Operation.FLOOR_DIV, other, self)

    def __eq__(self, other):
        return self._combined(_Operation.EQUAL, self, other)

    def __lt__(self, other):
        return self._combined(_Operation.LESS, self, other)

    def __gt__(self, other):
        return self._combined(_Operation.LESS, other, self)

    __hash__ = None

    def __bool__(self):
        if self.is_fake:
            return True
        return bool(self.constant_value())

    def __repr__(self):
        return f"ShapeExpr({'fake' if self.is_fake else self._value!r})"


class ShapeExpr(SymInt32):
    """A dimension of a tensor as a formula over those of the inputs: +, -, *, //, ==, <, > and
    cdiv(), max() and min() make formulas of formulas and ints."""


class SizeTensorShapeExpr(ShapeExpr):
    """The dimension that a size tensor tells."""

    def __init__(self, size_tensor_desc):
        super().__init__(())  # neither fake nor constant
        self._desc = size_tensor_desc

    @property
    def is_size_tensor(self):
        return True

    @property
    def is_constant(self):
        return False

    def build(self, builder, sizes):
        return sizes[self._desc]

    def __repr__(self):
        return f"ShapeExpr(size of {self._desc!r})"


def _binary(kind, name, first, second):
    if not isinstance(first, SymInt32) and not isinstance(second, SymInt32):
        raise ValueError(f"{name}() needs a ShapeExpr; both arguments are numbers")
    return ShapeExpr()._combined(kind, first, second)


def cdiv(first, second):
    """first / second, rounded up; one of them is a ShapeExpr."""
    return _binary(_Operation.CEIL_DIV, "cdiv", first, second)


def max(first, second):  # noqa: A001
    """The larger of two; one of them is a ShapeExpr."""
    return _binary(_Operation.MAX, "max", first, second)


def min(first, second):  # noqa: A001
    """The smaller of two; one of them is a ShapeExpr."""
    return _binary(_Operation.MIN, "min", first, second)


class SymExprs:
    """A sequence of formulas, of fixed length."""

    def __init__(self, length, _is_dummy=False):
        self._exprs = [ShapeExpr() for _ in range(length)]

    @classmethod
    def from_tuple(cls, shape_exprs):
        """From formulas and ints."""
        made = cls(len(shape_exprs))
        for i, expr in enumerate(shape_exprs):
            made[i] = expr
        return made

    def __iter__(self):
        return iter(self._exprs)

    def __len__(self):
        return len(self._exprs)

    def __getitem__(self, index):
        return self._exprs[index]

    def __setitem__(self, index, value):
        if isinstance(index, slice):
            raise TypeError("dimensions are set one by one")
        self._exprs[index] = value if isinstance(value, SymInt32) else ShapeExpr(value)

    def __repr__(self):
        return f"{type(self).__name__}({self._exprs})"


class ShapeExprs(SymExprs):
    """The shape of a tensor as formulas."""

    def __init__(self, length, _is_dummy=False):
        if length > _native.Dims.MAX_DIMS:
            raise ValueError(f"a shape of {length} dimensions; there may be "
                             f"{_native.Dims.MAX_DIMS}")
        super().__init__(length)

    def numel(self):
        """The number of elements."""
        count = ShapeExpr(1)
        for expr in self:
            count = count * expr
        return count


class Shape:
    """The shape of a tensor in numbers, of a tuple or a descriptor of the engine."""

    def __init__(self, tensor_desc=None):
        self._range = None
        if isinstance(tensor_desc, _native.DynamicPluginTensorDesc):
            self._range = tuple(
                tuple(d) for d in (tensor_desc.min, tensor_desc.opt, tensor_desc.max))
            tensor_desc = tensor_desc.desc
        if isinstance(tensor_desc, _native.PluginTensorDesc):
            tensor_desc = tensor_desc.dims
        self._extents = [int(extent) for extent in tensor_desc or ()]

    def numel(self):
        """The number of elements. Raises ValueError if a dimension varies."""
        if self.is_dynamic:
            raise ValueError(f"the shape {self} has no fixed number of elements")
        count = 1
        for extent in self:
            count *= extent
        return count

    @property
    def is_dynamic(self):
        """Whether a dimension varies; it is -1 then."""
        return -1 in self._extents

    def _of_range(self, which):
        return self._range[which] if self._range else tuple(self._extents)

    @property
    def min(self):
        """The smallest shape."""
        return self._of_range(0)

    @property
    def opt(self):
        """The usual shape."""
        return self._of_range(1)

    @property
    def max(self):
        """The largest shape."""
        return self._of_range(2)

    def __iter__(self):
        return iter(self._extents)

    def __len__(self):
        return len(self._extents)

    def __getitem__(self, index):
        return self._extents[index]

    def __setitem__(self, index, val):
        if self._range:
            raise ValueError("the shape of a tensor of the engine cannot be changed; "
                             "change Shape(tuple(shape))")
        self._extents[index] = int(val)

    def __eq__(self, other):
        return tuple(self) == tuple(other)

    __hash__ = None

    def __str__(self):
        return f"Shape({self._extents})"

    __repr__ = __str__
