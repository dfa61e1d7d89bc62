"""What register() makes known: definitions by their id, their creators, and `op`."""
from tenon import _native
from tenon.tensorrt.plugin.adapter import Creator, Plugin
from tenon.tensorrt.plugin.definitions import Definition, check_id

_definitions = {}
_creators = {}


def _registered(definition):
    """Adds the creator of a definition to the registry, once."""
    if definition.id in _creators:
        return
    creator = Creator(definition)
    if not _native.get_plugin_registry().register_creator(creator, definition.name_space):
        raise ValueError(f"a plugin '{definition.name}' of version {creator.plugin_version} is "
                         f"registered in the namespace '{definition.name_space}' already")
    _creators[definition.id] = creator


def register(plugin_id, lazy_register=False):
    """Decorates the function that describes a plugin: `plugin_id` is "namespace::name".

    Its arguments are the inputs (annotated TensorDesc), then the attributes (int, float, bool, str,
    bytes or numpy.typing.NDArray[...]); it returns the outputs, a TensorDesc or a tuple of them.
    The engine calls it for types and shapes: shapes are formulas (shape_expr). The plugin is in the
    registry at once, or with `lazy_register` when it is first used.
    Raises ValueError for another form, and for an id that is there already.
    """
    check_id(plugin_id)

    def decorate(function):
        _check_function(function)
        if plugin_id in _definitions:
            raise ValueError(f"{plugin_id} is registered already: a process has one plugin of an "
                             "id; take another one for another plugin")
        definition = Definition(plugin_id, function)
        if not lazy_register:
            _registered(definition)
        _definitions[plugin_id] = definition
        return function

    return decorate


def _check_function(function):
    if not callable(function):
        raise TypeError(f"the decorator is for a function, not for {function!r}")


def _adding(kind, last, plugin_id):
    check_id(plugin_id)

    def decorate(function):
        _check_function(function)
        if plugin_id not in _definitions:
            raise ValueError(f"{plugin_id} is not registered: decorate a function with "
                             f"tensorrt.plugin.register('{plugin_id}') first")
        _definitions[plugin_id].add(kind, function, last)
        return function

    return decorate


def impl(plugin_id):
    """Decorates the function that runs a plugin.

    Its arguments are the inputs (Tensor), those of the attributes that it needs, `outputs` (tuple
    of Tensor), and, if it needs them, `stream` (an address) and `tactic` (int; None if there are
    none). What it raises comes out of the call that ran the engine.
    """
    return _adding("impl", ("outputs", "stream", "tactic"), plugin_id)


def autotune(plugin_id):
    """Decorates the function that tells the types, formats and tactics a plugin can have.

    Its arguments are the inputs (TensorDesc), those of the attributes that it needs, and `outputs`
    (tuple of TensorDesc); it returns a list of AutoTuneCombination. Without one, a plugin has the
    types of the network, and linear tensors. The engine tries the network's types, and measures
    the tactics.
    """
    return _adding("autotune", ("outputs",), plugin_id)


def aot_impl(plugin_id):
    """Not supported yet: kernels compiled ahead of time."""
    raise NotImplementedError(f"{plugin_id}: tensorrt.plugin.aot_impl is not supported yet; use "
                              "tensorrt.plugin.impl")


class _Operator:
    """A plugin as a function of tensors of a network, for INetworkDefinition.add_plugin()."""

    def __init__(self, definition):
        self._definition = definition
        self.__doc__ = definition.register.__doc__

    def __call__(self, *inputs, **attributes):
        definition = self._definition
        inputs = list(inputs)
        for name in definition.inputs[len(inputs):]:
            if name in attributes:
                inputs.append(attributes.pop(name))
        if len(inputs) != len(definition.inputs):
            raise TypeError(f"{definition.id} has the inputs ({', '.join(definition.inputs)}); "
                            f"{len(inputs)} are given; attributes are given by their names")
        unknown = [name for name in attributes if name not in definition.attributes]
        if unknown:
            raise TypeError(f"{definition.id} has no attribute '{unknown[0]}'; it has "
                            f"({', '.join(definition.attributes)})")
        _registered(definition)
        # By way of fields, as from a model: types are checked, defaults filled in.
        values = definition.values(definition.fields(attributes))
        return inputs, [], Plugin(definition, values)


class _Namespace:
    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        definition = _definitions.get(f"{self._name}::{name}")
        if definition is None:
            raise AttributeError(f"no plugin {self._name}::{name} is registered")
        return _Operator(definition)

    def __dir__(self):
        return [d.name for d in _definitions.values() if d.name_space == self._name]


class _Namespaces:
    """Registered plugins: op.<namespace>.<name>(inputs..., attribute=...)."""

    def __getattr__(self, name):
        if any(d.name_space == name for d in _definitions.values()):
            return _Namespace(name)
        raise AttributeError(f"no plugin in a namespace '{name}' is registered")

    def __dir__(self):
        return sorted({d.name_space for d in _definitions.values()})


op = _Namespaces()


def add_plugin(network, plugin, aot):
    """INetworkDefinition.add_plugin(): `plugin` is what an op gave, which is the inputs, the shape
    inputs and the plugin; or a function of `aot` that gives these."""
    if aot:
        raise NotImplementedError("add_plugin(aot=True) is not supported yet: plugins run by their "
                                  "tensorrt.plugin.impl function")
    if callable(plugin):
        plugin = plugin(aot)
    if not isinstance(plugin, tuple) or len(plugin) != 3:
        raise TypeError(f"add_plugin() was given {plugin!r}; expected what a function of "
                        "tensorrt.plugin.op gives")
    return network.add_plugin_v3(*plugin)
