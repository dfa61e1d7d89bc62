"""TensorRT's plugin interfaces, for plugins that are written in Python.

Derive from these classes as from TensorRT's. They are plain Python classes, so that one class may
have several of them as bases; the engine calls the methods by their names. A method that has no
default raises NotImplementedError, which names it, when the engine calls it. What a method raises
comes out of the Python call that led there (build_serialized_network, execute_v2, ...).

The engine owns the objects that clone(), attach_to_context() and creators give it, for as long as
it needs them; Python's reference counts do the rest, so destroy() has nothing to free.

Objects that were made in C++ are of other classes (tenon._native.Cpp...), with the same methods;
isinstance() knows them as these.

tenon.tensorrt shows every name that does not begin with an underscore.
"""
from abc import ABC as _ABC
from dataclasses import dataclass as _dataclass

from tenon import _native
from tenon.tensorrt.plugin_fields import PluginFieldCollection


class _Required:
    """An attribute that the user's class or object has to set."""

    def __init__(self, text):
        self.__doc__ = text

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        raise AttributeError(f"{type(instance).__name__}.{self.name} is not set; the class must "
                             "set it, for instance in __init__()")


def _missing(self, method):
    return NotImplementedError(f"{type(self).__name__} does not define {method}(), which the engine "
                               "calls")


def _unsupported(name, instead):
    """A class of that name that cannot be used yet."""

    def __init__(self, *arguments):
        raise NotImplementedError(f"{name} is not supported yet; {instead}")

    return type(name, (), {"__init__": __init__, "__module__": __name__,
                           "__doc__": f"Not supported yet; {instead}."})


@_dataclass
class InterfaceInfo:
    """What an interface calls itself, and in which version."""

    kind: str
    major: int
    minor: int


class IVersionedInterface(_ABC):
    """Base of the interfaces that applications implement."""

    _kind = ("", 1, 0)

    @property
    def api_language(self):
        """The language the object is written in: APILanguage.PYTHON."""
        return _native.APILanguage.PYTHON

    @property
    def interface_info(self):
        """The kind and version of the interface."""
        return InterfaceInfo(*self._kind)


class IPluginV2(_ABC):
    """A plugin of version 2. In Python, derive from IPluginV2DynamicExt."""

    plugin_type = _Required("The name it is registered under; equal to its creator's `name`.")
    plugin_version = _Required("The version it is registered under.")
    num_outputs = _Required("The number of outputs.")
    plugin_namespace = ""
    tensorrt_version = _native.PLUGIN_V2_DYNAMICEXT_VERSION

    def initialize(self):
        """Prepares to run, once per engine. A number other than 0 is a failure."""
        return 0

    def terminate(self):
        """Undoes initialize()."""

    def serialize(self):
        """The state as bytes, which the creator's deserialize_plugin() reads."""
        return b""

    def get_serialization_size(self):
        """The number of bytes of serialize(). The engine counts itself."""
        return len(self.serialize())

    @property
    def serialization_size(self):
        """The number of bytes of serialize()."""
        return self.get_serialization_size()

    def destroy(self):
        """Called before the engine lets go of the object."""

    def clone(self):
        """A copy with all its state."""
        raise _missing(self, "clone")

    # Those of the older families, which only C++ makes.
    def get_output_shape(self, index, input_shapes):
        """The shape of an output, without the batch."""
        raise _missing(self, "get_output_shape")

    def supports_format(self, dtype, format):  # noqa: A002
        """Whether all tensors may have this type and format."""
        raise _missing(self, "supports_format")

    def configure_with_format(self, input_shapes, output_shapes, dtype, format,  # noqa: A002
                              max_batch_size):
        """Takes the shapes, the type and the format chosen."""
        raise _missing(self, "configure_with_format")

    def get_workspace_size(self, max_batch_size):
        """The scratch memory in bytes for batches of up to that size."""
        raise _missing(self, "get_workspace_size")

    def execute_async(self, batch_size, inputs, outputs, workspace, stream_handle):
        """Runs the plugin on addresses; 0 on success."""
        raise _missing(self, "execute_async")


class IPluginV2Ext(IPluginV2):
    """A plugin of version 2 that knows the types of its outputs; only C++ makes them."""

    def get_output_data_type(self, index, input_types):
        """The type of an output."""
        raise _missing(self, "get_output_data_type")

    def configure_plugin(self, input_shapes, output_shapes, input_types, output_types,
                         input_is_broadcasted, output_is_broacasted, format,  # noqa: A002
                         max_batch_size):
        """Takes the shapes, types and format chosen."""
        raise _missing(self, "configure_plugin")

    def attach_to_context(self, cudnn, cublas, allocator):
        """Called when a context starts to use the plugin."""

    def detach_from_context(self):
        """Called when the context goes."""


class IPluginV2DynamicExtBase(IPluginV2):
    """Base of IPluginV2DynamicExt."""


class IPluginV2DynamicExt(IPluginV2DynamicExtBase):
    """A plugin of version 2 whose shapes are known at run time."""

    FORMAT_COMBINATION_LIMIT = 100

    def get_output_datatype(self, index, input_types):
        """The DataType of output `index` for inputs of these types."""
        raise _missing(self, "get_output_datatype")

    def get_output_dimensions(self, output_index, inputs, expr_builder):
        """The shape (DimsExprs) of an output, for inputs of these shapes (list of DimsExprs)."""
        raise _missing(self, "get_output_dimensions")

    def supports_format_combination(self, pos, in_out, num_inputs):
        """Whether tensor `pos` of in_out (list of PluginTensorDesc: inputs, then outputs) may have
        its type and format, given those of the tensors before it."""
        raise _missing(self, "supports_format_combination")

    def configure_plugin(self, pos, in_out):
        """Takes the descriptions (lists of DynamicPluginTensorDesc) of the inputs and outputs."""

    def get_workspace_size(self, input_desc, output_desc):
        """The scratch memory in bytes that enqueue() needs (lists of PluginTensorDesc)."""
        return 0

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        """Runs the plugin. Descriptions are lists of PluginTensorDesc, tensors lists of addresses;
        `workspace` and `stream` are addresses, too. tenon.as_array() makes arrays of them."""
        raise _missing(self, "enqueue")


class IPluginCapability(IVersionedInterface):
    """Base of the sides of a plugin of version 3."""


class IPluginV3(IVersionedInterface):
    """A plugin of version 3."""

    _kind = ("PLUGIN", 1, 0)

    def get_capability_interface(self, type):  # noqa: A002
        """The object that is the side asked for (a PluginCapabilityType); often the plugin itself,
        which is the default."""
        sides = {_native.PluginCapabilityType.CORE: IPluginV3OneCore,
                 _native.PluginCapabilityType.BUILD: IPluginV3OneBuild,
                 _native.PluginCapabilityType.RUNTIME: IPluginV3OneRuntime}
        return self if isinstance(self, sides[type]) else None

    def clone(self):
        """A copy with all its state."""
        raise _missing(self, "clone")

    def destroy(self):
        """Called before the engine lets go of the object."""


class IPluginV3OneCore(IPluginCapability):
    """The side of a plugin that names it."""

    _kind = ("PLUGIN_V3ONE_CORE", 1, 0)
    plugin_name = _Required("The name, equal to its creator's.")
    plugin_version = _Required("The version, equal to its creator's.")
    plugin_namespace = ""


class IPluginV3OneBuild(IPluginCapability):
    """The side of a plugin that an engine is built with."""

    _kind = ("PLUGIN_V3ONE_BUILD", 1, 0)
    DEFAULT_FORMAT_COMBINATION_LIMIT = 100
    num_outputs = _Required("The number of outputs.")
    format_combination_limit = DEFAULT_FORMAT_COMBINATION_LIMIT
    metadata_string: str | None = None  # what the engine inspector shows
    timing_cache_id: str | None = None  # what names timings in the timing cache

    def get_output_data_types(self, input_types):
        """The DataType of each output, for inputs of these types."""
        raise _missing(self, "get_output_data_types")

    def get_output_shapes(self, inputs, shape_inputs, expr_builder):
        """The shape (DimsExprs) of each output, from the shapes of the inputs and the values of the
        shape inputs (lists of DimsExprs)."""
        raise _missing(self, "get_output_shapes")

    def supports_format_combination(self, pos, in_out, num_inputs):
        """Whether tensor `pos` of in_out (list of DynamicPluginTensorDesc: inputs, then outputs)
        may have its type and format, given those of the tensors before it."""
        raise _missing(self, "supports_format_combination")

    def configure_plugin(self, input_desc, output_desc):
        """Takes the descriptions (lists of DynamicPluginTensorDesc) of the inputs and outputs."""

    def get_workspace_size(self, input_desc, output_desc):
        """The scratch memory in bytes that enqueue() needs (lists of DynamicPluginTensorDesc)."""
        return 0

    def get_valid_tactics(self):
        """The tactics to choose from, positive numbers."""
        return []


class IPluginV3OneBuildV2(IPluginV3OneBuild):
    """The same, for plugins that write results into their inputs."""

    _kind = ("PLUGIN_V3ONE_BUILD", 2, 0)

    def get_aliased_input(self, output_index):
        """The input whose memory output `output_index` shares; -1 for none."""
        return -1


class IPluginV3OneRuntime(IPluginCapability):
    """The side of a plugin that runs."""

    _kind = ("PLUGIN_V3ONE_RUNTIME", 1, 0)

    def on_shape_change(self, input_desc, output_desc):
        """Takes the descriptions (lists of PluginTensorDesc) of the coming runs."""

    def set_tactic(self, tactic):
        """Takes the one chosen of get_valid_tactics(); 0 if there are none."""

    def get_fields_to_serialize(self):
        """The state (PluginFieldCollection), which create_plugin() gets back in the phase RUNTIME."""
        raise _missing(self, "get_fields_to_serialize")

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        """Runs the plugin. Descriptions are lists of PluginTensorDesc, tensors lists of addresses;
        `workspace` and `stream` are addresses, too. tenon.as_array() makes arrays of them."""
        raise _missing(self, "enqueue")

    def attach_to_context(self, resource_context):
        """A copy of the plugin for one context (IPluginResourceContext)."""
        return self.clone()


class IPluginCreatorInterface(IVersionedInterface):
    """Base of plugin creators."""


class IPluginCreator(IPluginCreatorInterface):
    """Creates plugins of version 2."""

    _kind = ("PLUGIN CREATOR_V1", 1, 0)
    name = _Required("The name of the plugins it makes.")
    plugin_version = _Required("The version of the plugins it makes.")
    plugin_namespace = ""
    field_names: PluginFieldCollection | None = None  # the attributes it takes

    def create_plugin(self, name, field_collection):
        """A plugin (IPluginV2DynamicExt) from attributes (PluginFieldCollection_)."""
        raise _missing(self, "create_plugin")

    def deserialize_plugin(self, name, serialized_plugin):
        """A plugin from the bytes that its serialize() gave."""
        raise _missing(self, "deserialize_plugin")


class IPluginCreatorV3One(IPluginCreatorInterface):
    """Creates plugins of version 3."""

    _kind = ("PLUGIN CREATOR_V3ONE", 1, 0)
    name = _Required("The name of the plugins it makes.")
    plugin_version = _Required("The version of the plugins it makes.")
    plugin_namespace = ""
    field_names: PluginFieldCollection | None = None  # the attributes it takes

    def create_plugin(self, name, field_collection, phase):
        """A plugin (IPluginV3) from attributes (PluginFieldCollection_): those of a model in the
        TensorRTPhase BUILD, those of get_fields_to_serialize() in RUNTIME."""
        raise _missing(self, "create_plugin")


class IPluginResource(IVersionedInterface):
    """Something that plugins share, kept in the registry under a key."""

    _kind = ("IPluginResource", 1, 0)

    def release(self):
        """Frees what the resource holds, once nobody uses it any more."""
        raise _missing(self, "release")

    def clone(self):
        """The copy that the registry keeps."""
        raise _missing(self, "clone")


_QUICK = "the decorators of tensorrt.plugin make plugins of IPluginV3OneBuild's family"
IPluginV3QuickCore = _unsupported("IPluginV3QuickCore", _QUICK)
IPluginV3QuickBuild = _unsupported("IPluginV3QuickBuild", _QUICK)
IPluginV3QuickAOTBuild = _unsupported("IPluginV3QuickAOTBuild", _QUICK)
IPluginV3QuickRuntime = _unsupported("IPluginV3QuickRuntime", _QUICK)
IPluginCreatorV3Quick = _unsupported("IPluginCreatorV3Quick", _QUICK)

for _made_in_cpp, _interface in (
        (_native.CppPluginV2, IPluginV2), (_native.CppPluginV2Ext, IPluginV2Ext),
        (_native.CppPluginV2DynamicExt, IPluginV2DynamicExt), (_native.CppPluginV3, IPluginV3),
        (_native.CppPluginV3OneCore, IPluginV3OneCore),
        (_native.CppPluginV3OneBuild, IPluginV3OneBuild),
        (_native.CppPluginV3OneRuntime, IPluginV3OneRuntime),
        (_native.CppPluginCreator, IPluginCreator),
        (_native.CppPluginCreatorV3One, IPluginCreatorV3One),
        (_native.CppPluginResource, IPluginResource)):
    _interface.register(_made_in_cpp)
