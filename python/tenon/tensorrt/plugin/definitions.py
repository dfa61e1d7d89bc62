"""The decorators that make plugins of functions: register(), impl(), autotune(), aot_impl()."""
import inspect
import typing

import numpy as np
import numpy.typing

from tenon import _native
from tenon.tensorrt.plugin.tensors import TensorDesc
from tenon.tensorrt.plugin_classes import IPluginV3
from tenon.tensorrt.plugin_fields import PluginField, PluginFieldCollection

_Field = _native.PluginFieldType
_ARRAYS = {np.int8: _Field.INT8, np.int16: _Field.INT16, np.int32: _Field.INT32,
           np.int64: _Field.INT64, np.float16: _Field.FLOAT16, np.float32: _Field.FLOAT32,
           np.float64: _Field.FLOAT64, np.bool_: _Field.INT8}


class Attribute:
    """An attribute of a plugin, of the type of its annotation."""

    _SCALARS = {int: (_Field.INT64, np.int64), float: (_Field.FLOAT64, np.float64),
                bool: (_Field.INT8, np.int8)}

    def __init__(self, name, annotation):
        self.name = name
        self.type = annotation
        if annotation in self._SCALARS:
            self.field_type, self._dtype = self._SCALARS[annotation]
        elif annotation in (str, bytes):
            self.field_type = _Field.CHAR
        else:
            self._dtype = self._element_type(annotation)
            self.field_type = _ARRAYS[self._dtype]

    def _element_type(self, annotation):
        alias = getattr(np.typing.NDArray, "__value__", None)
        if alias is not None and typing.get_origin(annotation) is np.typing.NDArray:
            annotation = alias[typing.get_args(annotation)]  # a name of the type since NumPy 2.5
        arguments = typing.get_args(annotation)
        if typing.get_origin(annotation) is np.ndarray and len(arguments) == 2:
            element = typing.get_args(arguments[1])
            if element and element[0] in _ARRAYS:
                return element[0]
        raise ValueError(f"attribute '{self.name}' is of type {annotation}; expected int, float, "
                         "bool, str, bytes, or numpy.typing.NDArray of one of "
                         + ", ".join(t.__name__ for t in _ARRAYS))

    def field(self, value):
        """The PluginField of a value. Raises TypeError when it is of another type."""
        if self.field_type == _Field.CHAR:
            if not isinstance(value, self.type):
                raise TypeError(f"attribute '{self.name}' is {value!r}; expected {self.type}")
            return PluginField(self.name, value, _Field.CHAR)
        array = np.asarray(value)
        # bool counts as int, and int as float, as in Python.
        if array.ndim > 1 or not np.can_cast(array.dtype, self._dtype, "same_kind"):
            raise TypeError(f"attribute '{self.name}' is {value!r}; expected {self.type}")
        array = array.astype(self._dtype)
        return PluginField(self.name, array.view(np.int8) if array.dtype == bool else array,
                           self.field_type)

    def value(self, field):
        """The value of a PluginField of the engine, whose numbers may be of another width."""
        if self.field_type == _Field.CHAR:
            data = field.data.tobytes()
            return data.decode() if self.type is str else data
        values = field.data.astype(self._dtype)
        if self.type not in self._SCALARS:
            return values
        if values.size != 1:
            raise ValueError(f"attribute '{self.name}' has {values.size} values; expected 1")
        return self.type(values[0])


def check_id(plugin_id):
    """Raises TypeError or ValueError for what is no plugin id."""
    if not isinstance(plugin_id, str):
        raise TypeError(f"expected a plugin id, 'namespace::name', found {plugin_id!r}")
    parts = plugin_id.split("::")
    if len(parts) != 2 or not all(part.isidentifier() for part in parts):
        raise ValueError(f"the plugin id '{plugin_id}' is not of the form 'namespace::name'")


class Definition:
    """A plugin: what register() and the other decorators were given."""

    def __init__(self, plugin_id, function):
        self.id = plugin_id
        self.name_space, self.name = plugin_id.split("::")
        self.register = function
        self.impl = self.autotune = None
        self.inputs, self.attributes = [], {}
        self._arguments = {}  # those of `impl` and `autotune` behind the inputs
        self._read(function)

    def _read(self, function):
        hints = typing.get_type_hints(function)
        signature = inspect.signature(function)
        for name in signature.parameters:
            if name not in hints:
                raise ValueError(f"{self.id}: argument '{name}' has no annotation; expected "
                                 "TensorDesc for an input, or the type of an attribute")
            if hints[name] is not TensorDesc:
                self.attributes[name] = Attribute(name, hints[name])
            elif self.attributes:
                raise ValueError(f"{self.id}: input '{name}' stands behind attributes; inputs are "
                                 "the first arguments")
            else:
                self.inputs.append(name)
        if "return" not in hints:
            raise ValueError(f"{self.id}: {signature} has no return annotation; expected "
                             "TensorDesc or Tuple[TensorDesc, ...]")

    def add(self, kind, function, last):
        """Takes the function of another decorator, whose arguments are the inputs, some of the
        attributes, and some of `last`."""
        names = list(inspect.signature(function).parameters)
        count = len(self.inputs)
        others = names[count:]
        unknown = [n for n in others if n not in self.attributes and n not in last]
        if names[:count] != self.inputs or unknown or last[0] not in others:
            raise ValueError(
                f"{self.id}: the {kind} function has the arguments ({', '.join(names)}); expected "
                f"({', '.join(self.inputs)}), then of the attributes "
                f"({', '.join(self.attributes)}) those it needs, then ({', '.join(last)})")
        if getattr(self, kind) is not None:
            raise ValueError(f"{self.id} has a function for {kind} already")
        setattr(self, kind, function)
        self._arguments[kind] = others

    def call(self, kind, inputs, attributes, **others):
        """Calls the function for `kind` with those of the arguments that it has."""
        function = getattr(self, kind)
        if function is None:
            raise NotImplementedError(f"{self.id} has no {kind} function: decorate one with "
                                      f"tensorrt.plugin.{kind}('{self.id}')")
        given = {**attributes, **others}
        return function(*inputs, **{name: given[name] for name in self._arguments[kind]})

    def describe(self, inputs, attributes):
        """The outputs (tuple of TensorDesc) for these inputs (list of TensorDesc)."""
        outputs = self.register(*inputs, **attributes)
        outputs = tuple(outputs) if isinstance(outputs, (tuple, list)) else (outputs,)
        for output in outputs:
            if not isinstance(output, TensorDesc):
                raise TypeError(f"{self.id}: the function of register() gave {output!r} for an "
                                "output; expected a TensorDesc")
        for i, output in enumerate(outputs):
            if output.is_size_tensor:
                output._index = i
        return outputs

    def fields(self, attributes):
        """The attributes as a PluginFieldCollection."""
        return PluginFieldCollection([self.attributes[name].field(value)
                                      for name, value in attributes.items()])

    def values(self, fields):
        """The attributes of a collection of fields; those left out have their defaults."""
        defaults = inspect.signature(self.register).parameters
        values = {name: p.default for name, p in defaults.items()
                  if name in self.attributes and p.default is not p.empty}
        for field in fields:
            if field.name in self.attributes:
                values[field.name] = self.attributes[field.name].value(field)
        missing = [name for name in self.attributes if name not in values]
        if missing:
            raise ValueError(f"{self.id}: attribute '{missing[0]}' is not given")
        return values
