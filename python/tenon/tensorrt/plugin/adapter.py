"""Plugins made by decorators as the engine sees them: IPluginV3 and its creator."""
import copy
import functools

from tenon import _native
from tenon.tensorrt import plugin_classes
from tenon.tensorrt.plugin.shapes import ShapeExprs
from tenon.tensorrt.plugin.tensors import Tensor, TensorDesc
from tenon.tensorrt.plugin_fields import PluginField, PluginFieldCollection

# Ranks to describe fake inputs with, likely ones first.
_RANKS = (4, 3, 2, 5, 1, 0, 6, 7, 8)
_LINEAR = _native.TensorFormat.LINEAR


class Plugin(plugin_classes.IPluginV3, plugin_classes.IPluginV3OneCore,
             plugin_classes.IPluginV3OneBuildV2, plugin_classes.IPluginV3OneRuntime):
    """A plugin of a Definition, with attributes."""

    plugin_version = "1"

    def __init__(self, definition, attributes):
        self._definition = definition
        self._attributes = attributes
        self.plugin_name = definition.name
        self.plugin_namespace = definition.name_space
        self._tactic = None
        self._tactics = []

    def _described(self, input_types):
        """Inputs and outputs for inputs of these types. The engine does not tell their ranks here:
        they have the first one that the user's function takes."""
        if len(input_types) != len(self._definition.inputs):
            raise ValueError(f"{self._definition.id} has {len(self._definition.inputs)} inputs, "
                             f"not {len(input_types)}")
        first_error = None
        for rank in _RANKS:
            inputs = [TensorDesc(ShapeExprs(rank), dtype, _LINEAR, 1.0) for dtype in input_types]
            try:
                return inputs, self._definition.describe(inputs, self._attributes)
            except Exception as error:  # noqa: BLE001 - it may be of that rank alone
                first_error = first_error or error
        raise first_error

    @functools.cached_property
    def _fakes(self):
        return self._described([_native.DataType.FLOAT] * len(self._definition.inputs))

    @property
    def num_outputs(self):
        return len(self._fakes[1])

    def get_aliased_input(self, output_index):
        inputs, outputs = self._fakes
        aliased = outputs[output_index].get_aliased()
        return next((i for i, desc in enumerate(inputs) if desc is aliased), -1)

    def clone(self):
        return copy.copy(self)

    def get_output_data_types(self, input_types):
        return [output.dtype for output in self._described(input_types)[1]]

    def get_output_shapes(self, inputs, shape_inputs, expr_builder):
        descs = [TensorDesc(tuple(shape), None, _LINEAR, 1.0) for shape in inputs]
        outputs = self._definition.describe(descs, self._attributes)
        sizes = {}
        for output in outputs:
            if output.is_size_tensor:
                sizes[output] = expr_builder.declare_size_tensor(
                    output.index, output.opt.build(expr_builder, sizes),
                    output.upper_bound.build(expr_builder, sizes))
        return [_native.DimsExprs([expr.build(expr_builder, sizes) for expr in o.shape_expr])
                for o in outputs]

    def _combinations(self, in_out, num_inputs):
        descs = [TensorDesc.of(desc) for desc in in_out]
        found = self._definition.call("autotune", descs[:num_inputs], self._attributes,
                                      outputs=tuple(descs[num_inputs:]))
        return list(found)

    def supports_format_combination(self, pos, in_out, num_inputs):
        if self._definition.autotune is not None:
            upto = [desc.desc for desc in in_out[:pos + 1]]
            return any(c.tactics_for(upto) is not None
                       for c in self._combinations(in_out, num_inputs))
        desc = in_out[pos].desc
        if desc.format != _LINEAR:
            return False
        if pos < num_inputs:
            return True
        types = self.get_output_data_types([d.desc.type for d in in_out[:num_inputs]])
        return desc.type == types[pos - num_inputs]

    def configure_plugin(self, input_desc, output_desc):
        self._tactics = []
        if self._definition.autotune is None:
            return
        in_out = list(input_desc) + list(output_desc)
        for combination in self._combinations(in_out, len(input_desc)):
            tactics = combination.tactics_for([desc.desc for desc in in_out])
            if tactics is not None:
                self._tactics = tactics
                return

    def get_valid_tactics(self):
        return self._tactics

    def set_tactic(self, tactic):
        self._tactic = tactic

    def get_fields_to_serialize(self):
        return self._definition.fields(self._attributes)

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        self._definition.call(
            "impl", [Tensor(*tensor) for tensor in zip(inputs, input_desc)], self._attributes,
            outputs=tuple(Tensor(*tensor) for tensor in zip(outputs, output_desc)),
            stream=stream, tactic=self._tactic)


class Creator(plugin_classes.IPluginCreatorV3One):
    """Makes plugins of a Definition."""

    plugin_version = "1"

    def __init__(self, definition):
        self._definition = definition
        self.name = definition.name
        self.plugin_namespace = definition.name_space
        self.field_names = PluginFieldCollection(
            [PluginField(a.name, None, a.field_type) for a in definition.attributes.values()])

    def create_plugin(self, name, field_collection, phase):
        return Plugin(self._definition, self._definition.values(field_collection))
