// Throws fields and serialised bytes at every creator of the plugins that come along, and runs what
// they make on small tensors: a test case of the plugin, of which some fields, extents and elements
// are others. A plugin may refuse, with an error; nothing else may happen.
#include <fuzzer/FuzzedDataProvider.h>
#include <tenon/plugin.h>
#include <tenon/plugin/number_builder.h>

#include <cstdlib>
#include <vector>

#include "plugins/folder_cases.h"

namespace {

using namespace tenon::kit;  // NOLINT: what plugin authors write
using namespace tenon::kit::testing;
using nvinfer1::PluginFieldType;

constexpr int64_t kMaxElements = 1 << 12;
constexpr size_t kMaxWorkspace = 1 << 22;

[[noreturn]] void fail(const Entry& entry, const char* what) {
  std::fprintf(stderr, "%s: %s\n", entry.label().c_str(), what);
  std::abort();
}

// A field: usually a declared one, sometimes of another name or type.
CaseField make_field(FuzzedDataProvider& in, const Entry& entry) {
  CaseField field{"", static_cast<PluginFieldType>(in.ConsumeIntegralInRange(0, 13)), 0, ""};
  const bool is_declared = !entry.fields.empty() && in.ConsumeIntegralInRange(0, 15) != 0;
  if (is_declared) {
    const auto& declared =
        entry.fields[in.ConsumeIntegralInRange<size_t>(0, entry.fields.size() - 1)];
    field.name = declared.name;
    if (in.ConsumeIntegralInRange(0, 7) != 0) field.type = declared.type;
  } else {
    field.name = in.ConsumeRandomLengthString(8);
  }
  if (field.type == PluginFieldType::kDIMS) {
    nvinfer1::Dims dims{in.ConsumeIntegral<int32_t>(), {}};
    for (int64_t& d : dims.d) d = in.ConsumeIntegralInRange<int64_t>(-2, 9);
    field.length = 1;
    field.data.assign(reinterpret_cast<const char*>(&dims), sizeof(dims));
    return field;
  }
  field.length = in.ConsumeIntegralInRange(0, 8);
  for (int i = 0; i < std::max(field.length, 1); ++i) {
    const auto number = in.ConsumeIntegralInRange<int64_t>(-3, 12);
    const auto add = [&](auto value) {
      field.data.append(reinterpret_cast<const char*>(&value), sizeof(value));
    };
    if (in.ConsumeIntegralInRange(0, 15) == 0)
      add(in.ConsumeIntegral<int64_t>());
    else if (field.type == PluginFieldType::kFLOAT32)
      add(static_cast<float>(number) / 2);
    else if (field.type == PluginFieldType::kFLOAT64)
      add(static_cast<double>(number) / 2);
    else if (field.type == PluginFieldType::kINT64)
      add(number);
    else if (field.type == PluginFieldType::kINT32)
      add(static_cast<int32_t>(number));
    else
      add(in.ConsumeIntegral<int64_t>());
  }
  field.data.resize(
      std::max<size_t>(field.data.size(), 8 * (static_cast<size_t>(field.length) + 1)));
  return field;
}

// A case's tensor, now and then of another shape or type.
PluginTensorDesc make_desc(FuzzedDataProvider& in, const CaseTensor& tensor, DataType t) {
  PluginTensorDesc desc{};
  desc.dims = tensor.dims;
  desc.type = tensor.type_for(t);
  for (int d = 0; d < desc.dims.nbDims; ++d)
    if (in.ConsumeIntegralInRange(0, 31) == 1) desc.dims.d[d] = in.ConsumeIntegralInRange(0, 9);
  if (in.ConsumeIntegralInRange(0, 63) == 1) desc.dims.nbDims = in.ConsumeIntegralInRange(0, 6);
  if (in.ConsumeIntegralInRange(0, 63) == 1)
    desc.type = static_cast<DataType>(in.ConsumeIntegralInRange(0, 11));
  return desc;
}

// The elements of a case, with some others among them.
std::vector<char> make_elements(FuzzedDataProvider& in, const PluginTensorDesc& desc, size_t count,
                                const std::vector<double>& values) {
  std::vector<char> bytes(count * size_of(desc.type));
  const size_t others = in.ConsumeIntegralInRange(0, 4);
  for (size_t i = 0; i < count; ++i)
    with_type(desc.type, [&](auto e) {
      if (!values.empty()) e = static_cast<decltype(e)>(values[i % values.size()]);
      std::memcpy(bytes.data() + i * sizeof(e), &e, sizeof(e));
    });
  for (size_t i = 0; i < others && count > 0 && desc.type != DataType::kBOOL; ++i) {
    const std::string any = in.ConsumeBytesAsString(size_of(desc.type));
    const size_t at = in.ConsumeIntegralInRange<size_t>(0, count - 1);
    std::memcpy(bytes.data() + at * size_of(desc.type), any.data(), any.size());
  }
  return bytes;
}

int64_t volume_of(const nvinfer1::Dims& dims) {
  int64_t volume = 1;
  for (int d = 0; d < dims.nbDims; ++d) {
    if (dims.d[d] < 0 || dims.d[d] > kMaxElements) return kMaxElements + 1;
    volume *= dims.d[d];
    if (volume > kMaxElements) return volume;
  }
  return volume;
}

// Takes a plugin through a build and a run, as an engine would.
void use(FuzzedDataProvider& in, const Entry& entry, const PluginCase& base,
         nvinfer1::IPluginV3& plugin) {
  auto& build = *static_cast<nvinfer1::IPluginV3OneBuild*>(
      plugin.getCapabilityInterface(nvinfer1::PluginCapabilityType::kBUILD));
  auto& runtime = *static_cast<nvinfer1::IPluginV3OneRuntime*>(
      plugin.getCapabilityInterface(nvinfer1::PluginCapabilityType::kRUNTIME));
  const std::vector<DataType> types = base.types();
  const DataType type = types[in.ConsumeIntegralInRange<size_t>(0, types.size() - 1)];
  const int m = build.getNbOutputs();
  std::vector<PluginTensorDesc> descs;
  for (const CaseTensor& v : base.inputs())
    if (in.ConsumeIntegralInRange(0, 63) != 1) descs.push_back(make_desc(in, v, type));
  const int n = static_cast<int>(descs.size());
  std::vector<DataType> in_types, out_types(static_cast<size_t>(m));
  for (const PluginTensorDesc& d : descs) in_types.push_back(d.type);
  if (build.getOutputDataTypes(out_types.data(), m, in_types.data(), n) != 0) return;

  NumberBuilder builder;
  std::vector<DimsExprs> shapes, values, out(static_cast<size_t>(m));
  for (const PluginTensorDesc& d : descs)
    shapes.push_back(builder.expressions(d.dims.d, d.dims.nbDims));
  for (std::vector<int64_t> list : base.shape_inputs()) {
    for (int64_t& v : list)
      if (in.ConsumeIntegralInRange(0, 15) == 1) v = in.ConsumeIntegralInRange<int64_t>(-2, 9);
    values.push_back(builder.expressions(list.data(), static_cast<int>(list.size())));
  }
  if (build.getOutputShapes(shapes.data(), n, values.data(), static_cast<int>(values.size()),
                            out.data(), m, builder)
      != 0)
    return;
  for (int i = 0; i < m; ++i) {
    const DimsExprs& e = out[static_cast<size_t>(i)];
    PluginTensorDesc& d = descs.emplace_back();
    d.type = out_types[static_cast<size_t>(i)];
    d.dims.nbDims = e.nbDims;
    for (int a = 0; a < e.nbDims; ++a) d.dims.d[a] = e.d[a]->getConstantValue();
  }
  std::vector<nvinfer1::DynamicPluginTensorDesc> dynamic;
  for (const PluginTensorDesc& d : descs) {
    if (volume_of(d.dims) > kMaxElements) return;
    dynamic.push_back({d, d.dims, d.dims, d.dims});
  }
  for (int i = 0; i < n + m; ++i)
    if (!build.supportsFormatCombination(i, dynamic.data(), n, m)) return;
  if (build.configurePlugin(dynamic.data(), n, dynamic.data() + n, m) != 0) return;
  const size_t workspace = build.getWorkspaceSize(dynamic.data(), n, dynamic.data() + n, m);
  if (workspace > kMaxWorkspace) return;
  if (runtime.onShapeChange(descs.data(), n, descs.data() + n, m) != 0) return;

  std::vector<std::vector<char>> memory;
  std::vector<void*> data;
  for (size_t i = 0; i < descs.size(); ++i) {
    const auto count = static_cast<size_t>(volume_of(descs[i].dims));
    const bool is_input = i < static_cast<size_t>(n);
    const bool is_same = is_input && descs[i].type == base.inputs()[i].type_for(type);
    memory.push_back(is_input
                         ? make_elements(in, descs[i], count,
                                         is_same ? base.inputs()[i].values : std::vector<double>())
                         : std::vector<char>(count * size_of(descs[i].type)));
    data.push_back(memory.back().data());
  }
  constexpr std::align_val_t kAlignment{256};
  void* scratch = ::operator new(workspace, kAlignment);
  entry.run_v3(&plugin, descs.data(), descs.data() + n, data.data(), data.data() + n, scratch);
  ::operator delete(scratch, kAlignment);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const std::vector<NamedCase> cases = tenon::plugins::testing::all_cases();
  FuzzedDataProvider in(bytes, size);
  const PluginCase& base = cases[in.ConsumeIntegralInRange<size_t>(0, cases.size() - 1)].test;
  const auto found = entries().find(base.key());
  if (found == entries().end() || base.types().empty()) return 0;
  const Entry& entry = found->second;
  auto& v2 = *static_cast<nvinfer1::IPluginCreator*>(entry.v2);
  auto& v3 = *static_cast<nvinfer1::IPluginCreatorV3One*>(entry.v3);
  if (in.ConsumeIntegralInRange(0, 7) == 1) {
    const std::string blob = in.ConsumeRemainingBytesAsString();
    if (auto* plugin = v2.deserializePlugin("", blob.data(), blob.size())) {
      if (plugin->getSerializationSize() == 0 && !entry.fields.empty())
        fail(entry, "a plugin cannot be saved again");
      plugin->destroy();
    }
    return 0;
  }
  std::vector<CaseField> fields = base.fields();
  for (CaseField& f : fields)
    if (in.ConsumeIntegralInRange(0, 15) == 1) f = make_field(in, entry);
  for (int more = in.ConsumeIntegralInRange(0, 3); more > 0; --more)
    fields.insert(fields.begin(), make_field(in, entry));
  std::vector<nvinfer1::PluginField> views;
  for (const CaseField& f : fields) views.push_back(f.view());
  const PluginFieldCollection all{static_cast<int32_t>(views.size()), views.data()};
  if (auto* plugin = v2.createPlugin("", &all)) {
    std::vector<char> blob(plugin->getSerializationSize());
    plugin->serialize(blob.data());
    auto* again = v2.deserializePlugin("", blob.data(), blob.size());
    if (again == nullptr) fail(entry, "what was saved cannot be read");
    again->destroy();
    plugin->destroy();
  }
  const std::unique_ptr<nvinfer1::IPluginV3> plugin(
      v3.createPlugin("", &all, nvinfer1::TensorRTPhase::kBUILD));
  if (plugin) use(in, entry, base, *plugin);
  return 0;
}
