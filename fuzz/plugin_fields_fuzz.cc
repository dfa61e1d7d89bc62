// Throws fields and serialised bytes at every creator of the plugins that come along, and runs what
// they make on small tensors. A plugin may refuse, with an error; nothing else may happen.
#include <fuzzer/FuzzedDataProvider.h>
#include <tenon/plugin.h>
#include <tenon/plugin/case_tensor.h>
#include <tenon/plugin/number_builder.h>

#include <cstdlib>
#include <vector>

namespace {

using namespace tenon::kit;  // NOLINT: what plugin authors write
using namespace tenon::kit::testing;
using nvinfer1::PluginFieldType;

constexpr int64_t kMostElements = 1 << 12;
constexpr size_t kMostWorkspace = 1 << 22;

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

PluginTensorDesc make_desc(FuzzedDataProvider& in, const Port& port, const Entry& entry) {
  PluginTensorDesc desc{};
  desc.dims.nbDims = in.ConsumeIntegralInRange(0, 6);
  for (int d = 0; d < desc.dims.nbDims; ++d) desc.dims.d[d] = in.ConsumeIntegralInRange(0, 7);
  const TypeMask types = port.types == kT ? entry.t : port.types == kU ? entry.u : port.types;
  desc.type = types == kAny ? DataType::kINT32 : type_of(types);
  if (in.ConsumeIntegralInRange(0, 31) == 0)
    desc.type = static_cast<DataType>(in.ConsumeIntegralInRange(0, 11));
  return desc;
}
int64_t volume_of(const nvinfer1::Dims& dims) {
  int64_t volume = 1;
  for (int d = 0; d < dims.nbDims; ++d) {
    if (dims.d[d] < 0 || volume > kMostElements) return kMostElements + 1;
    volume *= dims.d[d];
  }
  return volume;
}

// Takes a plugin through a build and a run, as an engine would.
void use(FuzzedDataProvider& in, const Entry& entry, nvinfer1::IPluginV3& plugin) {
  auto& build = *static_cast<nvinfer1::IPluginV3OneBuild*>(
      plugin.getCapabilityInterface(nvinfer1::PluginCapabilityType::kBUILD));
  auto& runtime = *static_cast<nvinfer1::IPluginV3OneRuntime*>(
      plugin.getCapabilityInterface(nvinfer1::PluginCapabilityType::kRUNTIME));
  const Ports& ports = entry.spec.inputs;
  const int n = in.ConsumeIntegralInRange(ports.least(), std::min(ports.most(), ports.least() + 3));
  const int m = build.getNbOutputs();
  std::vector<PluginTensorDesc> descs;
  for (int i = 0; i < n; ++i) descs.push_back(make_desc(in, ports.port_at(i, n), entry));
  std::vector<DataType> in_types, out_types(static_cast<size_t>(m));
  for (const PluginTensorDesc& d : descs) in_types.push_back(d.type);
  if (build.getOutputDataTypes(out_types.data(), m, in_types.data(), n) != 0) return;

  NumberBuilder builder;
  std::vector<DimsExprs> shapes, values, out(static_cast<size_t>(m));
  for (const PluginTensorDesc& d : descs)
    shapes.push_back(builder.expressions(d.dims.d, d.dims.nbDims));
  for (int i = 0; i < entry.spec.shape_inputs.count; ++i) {
    const auto list = std::vector<int64_t>(in.ConsumeIntegralInRange<size_t>(0, 4),
                                           in.ConsumeIntegralInRange<int64_t>(-2, 9));
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
    if (volume_of(d.dims) > kMostElements) return;
    dynamic.push_back({d, d.dims, d.dims, d.dims});
  }
  for (int i = 0; i < n + m; ++i)
    if (!build.supportsFormatCombination(i, dynamic.data(), n, m)) return;
  if (build.configurePlugin(dynamic.data(), n, dynamic.data() + n, m) != 0) return;
  const size_t workspace = build.getWorkspaceSize(dynamic.data(), n, dynamic.data() + n, m);
  if (workspace > kMostWorkspace) return;
  if (runtime.onShapeChange(descs.data(), n, descs.data() + n, m) != 0) return;

  std::vector<std::vector<char>> memory;
  std::vector<void*> data;
  for (const PluginTensorDesc& d : descs) {
    auto& bytes = memory.emplace_back(static_cast<size_t>(volume_of(d.dims)) * size_of(d.type));
    const bool is_real = is_floating(d.type);
    for (size_t i = 0; i < bytes.size() / size_of(d.type); ++i)
      with_type(d.type, [&](auto e) {
        const int number = in.ConsumeIntegralInRange(is_real ? -4 : 0, 20);
        if (is_real)
          e = static_cast<decltype(e)>(static_cast<float>(number) / 4);
        else
          e = static_cast<decltype(e)>(number);
        if (in.ConsumeIntegralInRange(0, 63) == 1) {  // anything, a NaN too
          const std::string any = in.ConsumeBytesAsString(sizeof(e));
          if (d.type != DataType::kBOOL) std::memcpy(&e, any.data(), any.size());
        }
        std::memcpy(bytes.data() + i * sizeof(e), &e, sizeof(e));
      });
    data.push_back(bytes.data());
  }
  constexpr std::align_val_t kAlignment{256};
  void* scratch = ::operator new(workspace, kAlignment);
  entry.run_v3(&plugin, descs.data(), descs.data() + n, data.data(), data.data() + n, scratch);
  ::operator delete(scratch, kAlignment);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  FuzzedDataProvider in(bytes, size);
  auto at = entries().begin();
  std::advance(at, in.ConsumeIntegralInRange<size_t>(0, entries().size() - 1));
  const Entry& entry = at->second;
  auto& v2 = *static_cast<nvinfer1::IPluginCreator*>(entry.v2);
  auto& v3 = *static_cast<nvinfer1::IPluginCreatorV3One*>(entry.v3);
  if (in.ConsumeIntegralInRange(0, 3) == 0) {
    const std::string blob = in.ConsumeRemainingBytesAsString();
    if (auto* plugin = v2.deserializePlugin("", blob.data(), blob.size())) {
      if (plugin->getSerializationSize() == 0 && !entry.fields.empty())
        fail(entry, "a plugin cannot be saved again");
      plugin->destroy();
    }
    return 0;
  }
  std::vector<CaseField> fields(in.ConsumeIntegralInRange<size_t>(0, 8));
  for (CaseField& f : fields) f = make_field(in, entry);
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
  if (plugin) use(in, entry, *plugin);
  return 0;
}
