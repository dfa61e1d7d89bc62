"""Plugins that are written in C++: the registry, creators, fields, plugin objects."""
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import sanitizers
from models import run

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
    assert names <= {c.name for c in REGISTRY.all_creators}
    assert len(REGISTRY.all_creators_recursive) >= len(REGISTRY.all_creators)
    creator = REGISTRY.get_plugin_creator("InstanceNormalization_TRT", "1", "")
    assert (creator.name, creator.plugin_version, creator.plugin_namespace) == (
        "InstanceNormalization_TRT", "1", "")
    assert isinstance(creator, trt.IPluginCreator) and not isinstance(
        creator, trt.IPluginCreatorV3One)
    assert {f.name: f.type for f in creator.field_names}["scales"] == Type.FLOAT32
    assert isinstance(REGISTRY.get_creator("InstanceNormalization_TRT", "3"), trt.IPluginCreatorV3One)
    assert REGISTRY.get_plugin_creator("InstanceNormalization_TRT", "3") is None  # is of protocol V3
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
    creator = REGISTRY.get_creator("InstanceNormalization_TRT", "3")
    one = np.ones(1, np.float32)
    fields = trt.PluginFieldCollection([trt.PluginField(name, values, Type.FLOAT32) for name, values in
                                        (("epsilon", one / 4), ("scales", one), ("bias", one))])
    plugin = creator.create_plugin("norm", fields, trt.TensorRTPhase.BUILD)
    assert isinstance(plugin, trt.IPluginV3)
    kinds = trt.PluginCapabilityType
    core, build, runtime = (plugin.get_capability_interface(k)
                            for k in (kinds.CORE, kinds.BUILD, kinds.RUNTIME))
    del plugin  # its sides keep it
    assert (core.plugin_name, core.plugin_version) == ("InstanceNormalization_TRT", "3")
    assert core.plugin_namespace == ""
    assert isinstance(core, trt.IPluginV3OneCore) and isinstance(build, trt.IPluginV3OneBuild)
    assert build.num_outputs == 1 and build.get_output_data_types([trt.float16]) == [trt.float16]
    saved = {f.name: f.data.tolist() for f in runtime.get_fields_to_serialize()}
    assert saved["epsilon"] == [0.25]
    assert creator.create_plugin("norm", fields).clone() is not None  # the phase is BUILD


REFUSED = """
import tenon.tensorrt as trt
registry = trt.get_plugin_registry()
creator = registry.get_plugin_creator("InstanceNormalization_TRT", "1")
assert creator.create_plugin("norm", trt.PluginFieldCollection()) is None
assert registry.load_library("/no/such/library.so") is None
"""


def test_what_is_refused_gives_none_and_says_why():
    # In a process of its own, as a process has one logger for what belongs to no other one.
    done = subprocess.run([sys.executable, "-c", REFUSED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "scales is required" in done.stderr
    assert "/no/such/library.so: no such file" in done.stderr


def plugin_of(name, version, *fields):
    """What the creator of that name makes of fields."""
    creator = REGISTRY.get_creator(name, version, "")
    plugin = creator.create_plugin(name, trt.PluginFieldCollection(list(fields)))
    assert plugin is not None
    return plugin


def add(network, inputs, plugin):
    if isinstance(plugin, trt.IPluginV2):
        return network.add_plugin_v2(inputs=inputs, plugin=plugin).get_output(0)
    return network.add_plugin_v3(inputs=inputs, shape_inputs=[], plugin=plugin).get_output(0)


def results_of(make, **inputs):
    """Runs the network whose output make(network, tensors...) gives."""
    logger = trt.Logger()
    builder = trt.Builder(logger)
    network = builder.create_network()
    kinds = {np.dtype(np.float32): trt.float32, np.dtype(np.int32): trt.int32}
    tensors = [network.add_input(name, kinds[array.dtype], array.shape)
               for name, array in inputs.items()]
    output = make(network, *tensors)
    output.name = "y"
    network.mark_output(output)
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    engine = trt.Runtime(logger).deserialize_cuda_engine(bytes(plan))
    return run(engine.create_execution_context(), **inputs)["y"]


def test_a_network_of_reflect_pad_and_instance_norm():
    pad = plugin_of("ReflectPad", "1", trt.PluginField(
        "padding", np.array([1, 2, 3, 1], np.int32), Type.INT32))
    scales, bias = np.array([1, 2, 3], np.float32), np.array([0, -1, 1], np.float32)
    norm = plugin_of("InstanceNormalization_TRT", "1", *instance_norm_fields())
    x = np.random.default_rng(0).standard_normal((2, 3, 6, 5), dtype=np.float32)
    padded = np.pad(x, [(0, 0), (0, 0), (3, 1), (1, 2)], "reflect")
    mean, variance = (f(padded, axis=(2, 3), keepdims=True) for f in (np.mean, np.var))
    expected = ((padded - mean) / np.sqrt(variance + 1e-5) * scales[:, None, None]
                + bias[:, None, None])
    y = results_of(lambda n, t: add(n, [add(n, [t], pad)], norm), x=x)
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


def test_a_plugin_with_fields_of_integers():
    plugin = plugin_of("ScatterElements", "2",
                       trt.PluginField("axis", np.array([1], np.int32), Type.INT32),
                       trt.PluginField("reduction", "add"))
    data = np.zeros((2, 4), np.float32)
    indices = np.array([[1, 3], [0, 2]], np.int32)
    updates = np.array([[1, 2], [3, 4]], np.float32)
    expected = data.copy()
    np.put_along_axis(expected, indices, updates, 1)
    y = results_of(lambda n, d, i, u: add(n, [d, i, u], plugin), data=data, indices=indices,
                   updates=updates)
    np.testing.assert_array_equal(y, expected)


def test_the_plugin_of_a_layer_is_its_own_copy():
    builder = trt.Builder(trt.Logger())
    network = builder.create_network()
    x = network.add_input("x", trt.float32, (1, 3, 4, 4))
    plugin = plugin_of("InstanceNormalization_TRT", "1", *instance_norm_fields())
    layer = network.add_plugin_v2([x], plugin)
    own = layer.plugin
    assert type(own) is type(plugin) and own.serialize() == plugin.serialize()
    del builder, network, x, layer, plugin
    assert own.plugin_type == "InstanceNormalization_TRT"  # keeps the network


def test_registries_of_builders_and_runtimes():
    builder = trt.Builder(trt.Logger())
    runtime = trt.Runtime(trt.Logger())
    registries = [builder.get_plugin_registry(), runtime.get_plugin_registry()]
    for registry in registries:
        assert isinstance(registry, trt.IPluginRegistry)
        assert registry.get_creator("InstanceNorm", "1").name == "InstanceNorm"
        assert registry.parent_search_enabled
    del builder, runtime  # the registries keep them
    assert all(r.get_creator("InstanceNorm", "1") is not None for r in registries)


PLAIN = """
#include <NvInfer.h>
using namespace nvinfer1;
struct Plain : IPluginV2DynamicExt {
  const char* getPluginType() const noexcept override { return "Plain"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  int getNbOutputs() const noexcept override { return 1; }
  int initialize() noexcept override { return 0; }
  void terminate() noexcept override {}
  size_t getSerializationSize() const noexcept override { return 0; }
  void serialize(void*) const noexcept override {}
  void destroy() noexcept override { delete this; }
  void setPluginNamespace(const char*) noexcept override {}
  const char* getPluginNamespace() const noexcept override { return ""; }
  DataType getOutputDataType(int, const DataType* t, int) const noexcept override { return t[0]; }
  Plain* clone() const noexcept override { return new Plain; }
  DimsExprs getOutputDimensions(int, const DimsExprs* in, int, IExprBuilder&) noexcept override {
    return in[0];
  }
  bool supportsFormatCombination(int, const PluginTensorDesc*, int, int) noexcept override {
    return true;
  }
  void configurePlugin(const DynamicPluginTensorDesc*, int, const DynamicPluginTensorDesc*,
                       int) noexcept override {}
  size_t getWorkspaceSize(const PluginTensorDesc*, int, const PluginTensorDesc*,
                          int) const noexcept override { return 0; }
  int enqueue(const PluginTensorDesc*, const PluginTensorDesc*, const void* const*, void* const*,
              void*, cudaStream_t) noexcept override { return 0; }
};
struct Creator : IPluginCreator {
  const char* getPluginName() const noexcept override { return "Plain"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const PluginFieldCollection* getFieldNames() noexcept override { return nullptr; }
  IPluginV2* createPlugin(const char*, const PluginFieldCollection*) noexcept override {
    return new Plain;
  }
  IPluginV2* deserializePlugin(const char*, const void*, size_t) noexcept override {
    return new Plain;
  }
  void setPluginNamespace(const char*) noexcept override {}
  const char* getPluginNamespace() const noexcept override { return ""; }
};
REGISTER_TENSORRT_PLUGIN(Creator);
"""


def test_plugins_outlive_the_registration_of_their_library(tmp_path):
    source, target = tmp_path / "plain.cc", tmp_path / "libplain.so"
    source.write_text(PLAIN)
    include = pathlib.Path(trt.__file__).parents[1] / "include"
    # As plugin libraries are that can be unloaded, and have no type information, which UBSan reads.
    subprocess.run(["c++", "-std=c++17", *([] if sanitizers.loaded("ubsan") else ["-fno-rtti"]), "-fno-gnu-unique", "-shared", "-fPIC",
                    f"-I{include}", f"-I{include}/cudart", source, "-o", target], check=True)
    library = REGISTRY.load_library(str(target))
    creator = REGISTRY.get_plugin_creator("Plain", "1")
    plugin = creator.create_plugin("plain", trt.PluginFieldCollection())
    assert len(creator.field_names) == 0
    REGISTRY.deregister_library(library)
    assert plugin.clone().plugin_type == "Plain"
    with pytest.raises(RuntimeError, match="not registered any more"):
        creator.name


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
