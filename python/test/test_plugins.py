"""Plugins that are written in C++: the registry, creators, fields, plugin objects."""
import numpy as np
import pytest

import tenon.tensorrt as trt

Type = trt.PluginFieldType
REGISTRY = trt.get_plugin_registry()


def instance_norm_fields(epsilon=1e-5):
    return trt.PluginFieldCollection([
        trt.PluginField("epsilon", np.array([epsilon], np.float32), Type.FLOAT32),
        trt.PluginField("scales", np.array([1, 2, 3], np.float32), Type.FLOAT32),
        trt.PluginField("bias", np.array([0, -1, 1], np.float32), Type.FLOAT32)])


def test_registry_lists_and_finds_creators():
    assert trt.init_libnvinfer_plugins(trt.Logger(), "") and trt.init_libnvinfer_plugins(None, "")
    names = {c.name for c in REGISTRY.plugin_creator_list}
    assert "InstanceNormalization_TRT" in names
    assert names < {c.name for c in REGISTRY.all_creators}
    assert len(REGISTRY.all_creators_recursive) >= len(REGISTRY.all_creators)
    creator = REGISTRY.get_plugin_creator("InstanceNormalization_TRT", "1", "")
    assert (creator.name, creator.plugin_version, creator.plugin_namespace) == (
        "InstanceNormalization_TRT", "1", "")
    assert isinstance(creator, trt.IPluginCreator) and not isinstance(
        creator, trt.IPluginCreatorV3One)
    assert {f.name: f.type for f in creator.field_names}["scales"] == Type.FLOAT32
    assert isinstance(REGISTRY.get_creator("InstanceNorm", "1"), trt.IPluginCreatorV3One)
    assert REGISTRY.get_plugin_creator("InstanceNorm", "1") is None  # is of version 3
    assert REGISTRY.get_creator("NoSuchPlugin", "1") is None
    assert trt.get_builder_plugin_registry(trt.EngineCapability.STANDARD) is REGISTRY
    assert trt.get_builder_plugin_registry(trt.EngineCapability.SAFETY) is None


@pytest.mark.parametrize("dtype, kind", [
    (np.float16, Type.FLOAT16), (np.float32, Type.FLOAT32), (np.float64, Type.FLOAT64),
    (np.int8, Type.INT8), (np.int16, Type.INT16), (np.int32, Type.INT32), (np.int64, Type.INT64)])
def test_fields_hold_arrays_of_every_type(dtype, kind):
    values = np.arange(6, dtype=dtype).reshape(2, 3)
    field = trt.PluginField("values", values[:, ::2], kind)
    assert (field.name, field.type, field.size) == ("values", kind, 4)
    assert field.data.dtype == dtype and field.data.tolist() == [0, 2, 3, 5]
    whole = trt.PluginField("values", values, kind)
    assert np.shares_memory(whole.data, values)  # contiguous: no copy


def test_fields_hold_text_and_bytes():
    field = trt.PluginField("mode", "linear")
    assert field.type == Type.CHAR and field.data.tobytes().decode() == "linear" and field.size == 6
    assert trt.PluginField(b"mode", b"ab", Type.CHAR).data.tolist() == [97, 98]
    assert trt.PluginField("n", b"\1\0\0\0", Type.INT32).data.tolist() == [1]
    assert trt.PluginField("n", np.array(3, np.int32), Type.INT32).data.tolist() == [3]
    empty = trt.PluginField()
    assert (empty.name, empty.type, empty.size, empty.data.size) == ("", Type.UNKNOWN, 0, 0)
    empty.data = np.array([1, 2], np.int32)
    assert empty.data.size == 8  # of a type that is not known there are bytes
    assert trt.PluginField("bits", np.array([0x3f80], np.uint16), Type.BF16).size == 1


def test_fields_refuse_what_does_not_fit():
    with pytest.raises(ValueError, match=r"'pads' of type INT32.*float64; expected int32.*astype"):
        trt.PluginField("pads", np.zeros(2), Type.INT32)
    with pytest.raises(ValueError, match="3 bytes; expected a multiple of 4"):
        trt.PluginField("pads", b"abc", Type.INT32)
    with pytest.raises(TypeError, match=r"data is a list.*numpy.array"):
        trt.PluginField("pads", [1, 2], Type.INT32)
    field = trt.PluginField("scales", np.ones(3, np.float32), Type.FLOAT32)
    field.size = 100  # more than there is
    creator = REGISTRY.get_plugin_creator("InstanceNormalization_TRT", "1")
    with pytest.raises(ValueError, match="'scales' has the size 100, which is 400 bytes.*has 12"):
        creator.create_plugin("x", trt.PluginFieldCollection([field]))
    with pytest.raises(TypeError, match="expected PluginField objects"):
        creator.create_plugin("x", [1])


def test_collections_are_lists_of_fields():
    first, second = trt.PluginField("first"), trt.PluginField("second")
    fields = trt.PluginFieldCollection([first])
    fields.append(second)
    assert len(fields) == 2 and fields[1] is second and fields[-1] is second
    fields.insert(0, second)
    assert [f.name for f in fields] == ["second", "first", "second"]
    assert fields.pop() is second and isinstance(fields[:1], trt.PluginFieldCollection)
    fields.extend([first, first])
    del fields[0]
    assert [f.name for f in trt.PluginFieldCollection_(fields)] == ["first"] * 3
    with pytest.raises(TypeError, match="not int"):
        fields.append(3)
    with pytest.raises(IndexError):
        fields[7]
    fields.clear()
    assert not fields


def test_create_plugin_and_its_state():
    creator = REGISTRY.get_plugin_creator("InstanceNormalization_TRT", "1")
    plugin = creator.create_plugin("norm", instance_norm_fields())
    assert isinstance(plugin, trt.IPluginV2DynamicExt) and isinstance(plugin, trt.IPluginV2)
    assert (plugin.plugin_type, plugin.plugin_version, plugin.num_outputs) == (
        "InstanceNormalization_TRT", "1", 1)
    assert plugin.get_output_datatype(0, [trt.float32]) == trt.float32
    state = plugin.serialize()
    assert len(state) == plugin.serialization_size > 0
    assert creator.deserialize_plugin("norm", state).serialize() == state
    copy = plugin.clone()
    plugin.destroy()
    del plugin
    assert copy.serialize() == state
    assert creator.deserialize_plugin("norm", b"nonsense") is None


def test_plugins_of_version_3():
    creator = REGISTRY.get_creator("InstanceNorm", "1")
    fields = trt.PluginFieldCollection(
        [trt.PluginField("epsilon", np.array([0.25], np.float32), Type.FLOAT32)])
    plugin = creator.create_plugin("norm", fields, trt.TensorRTPhase.BUILD)
    assert isinstance(plugin, trt.IPluginV3)
    kinds = trt.PluginCapabilityType
    core, build, runtime = (plugin.get_capability_interface(k)
                            for k in (kinds.CORE, kinds.BUILD, kinds.RUNTIME))
    del plugin  # its sides keep it
    assert (core.plugin_name, core.plugin_version, core.plugin_namespace) == ("InstanceNorm", "1", "")
    assert isinstance(core, trt.IPluginV3OneCore) and isinstance(build, trt.IPluginV3OneBuild)
    assert build.num_outputs == 1 and build.get_output_data_types([trt.float16]) == [trt.float16]
    saved = {f.name: f.data.tolist() for f in runtime.get_fields_to_serialize()}
    assert saved["epsilon"] == [0.25]
    assert creator.create_plugin("norm", fields).clone() is not None  # the phase is BUILD


def test_a_creator_that_refuses_gives_none_and_says_why(capfd):
    creator = REGISTRY.get_plugin_creator("InstanceNormalization_TRT", "1")
    assert creator.create_plugin("norm", trt.PluginFieldCollection()) is None
    assert "scales is required" in capfd.readouterr().err
    assert REGISTRY.load_library("/no/such/library.so") is None
    assert "/no/such/library.so: no such file" in capfd.readouterr().err


def test_resources_are_shared():
    class Table(trt.IPluginResource):
        released = 0

        def clone(self):
            return Table()

        def release(self):
            Table.released += 1

    first = REGISTRY.acquire_plugin_resource("test.table", Table())
    assert REGISTRY.acquire_plugin_resource("test.table", Table()) is first
    assert REGISTRY.release_plugin_resource("test.table") == 0 and Table.released == 0
    assert REGISTRY.release_plugin_resource("test.table") == 0 and Table.released == 1
    assert REGISTRY.release_plugin_resource("test.table") != 0
    with pytest.raises(TypeError, match="IPluginResource"):
        REGISTRY.acquire_plugin_resource("test.table", 3)


def test_what_is_not_supported_says_so():
    with pytest.raises(NotImplementedError, match="IPluginV3QuickBuild is not supported yet"):
        trt.IPluginV3QuickBuild()
