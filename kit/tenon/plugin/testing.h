/// Tests a kit plugin through the whole of both protocols: create from fields, serialise, make
/// again, clone, negotiate types, infer shapes, run, compare. A test writes tensors; this does the
/// rest.
///
///     EXPECT_EQ(PluginCase("Twice").attribute("factor", 3.f)
///                   .in("x", {2}, {1, 2}).out("y", {2}, {3, 6}).check(), "");
///
/// Needs no engine and no GPU: kernels run on the CPU, on the calling thread.
#pragma once

#include <NvInfer.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "tenon/plugin.h"
#include "tenon/plugin/case_tensor.h"
#include "tenon/plugin/number_builder.h"

namespace tenon {
namespace kit {
namespace testing {

class PluginCase {
 public:
  explicit PluginCase(std::string name, std::string version = "1", std::string name_space = "")
      : name_(std::move(name)), version_(std::move(version)), name_space_(std::move(name_space)) {}

  PluginCase& attribute(const char* name, int32_t value) {
    return field(name, PluginFieldType::kINT32, &value, 1);
  }
  PluginCase& attribute(const char* name, int64_t value) {
    return field(name, PluginFieldType::kINT64, &value, 1);
  }
  PluginCase& attribute(const char* name, float value) {
    return field(name, PluginFieldType::kFLOAT32, &value, 1);
  }
  PluginCase& attribute(const char* name, std::string_view text) {
    return field(name, PluginFieldType::kCHAR, text.data(), text.size());
  }
  PluginCase& attribute(const char* name, const std::vector<int32_t>& v) {
    return field(name, PluginFieldType::kINT32, v.data(), v.size());
  }
  PluginCase& attribute(const char* name, const std::vector<float>& v) {
    return field(name, PluginFieldType::kFLOAT32, v.data(), v.size());
  }
  /// A field of any type.
  template <class E>
  PluginCase& field(const char* name, PluginFieldType type, const E* data, size_t length) {
    const auto* bytes = reinterpret_cast<const char*>(data);
    fields_.push_back({name, type, static_cast<int32_t>(length),
                       bytes == nullptr ? "" : std::string(bytes, length * sizeof(E))});
    return *this;
  }

  /// Tensors of the type variable T: the case is repeated for each of its types. Integers are left
  /// out when a value is not whole.
  PluginCase& in(const char* name, const std::vector<int64_t>& dims, std::vector<double> values) {
    return add(inputs_, {name, DataType::kFLOAT, true, {}, std::move(values)}, dims);
  }
  PluginCase& out(const char* name, const std::vector<int64_t>& dims, std::vector<double> values) {
    return add(outputs_, {name, DataType::kFLOAT, true, {}, std::move(values)}, dims);
  }
  /// Tensors of a type of their own.
  PluginCase& in(const char* name, DataType type, const std::vector<int64_t>& dims,
                 std::vector<double> values) {
    return add(inputs_, {name, type, false, {}, std::move(values)}, dims);
  }
  PluginCase& out(const char* name, DataType type, const std::vector<int64_t>& dims,
                  std::vector<double> values) {
    return add(outputs_, {name, type, false, {}, std::move(values)}, dims);
  }
  /// |got - expected| <= tolerance * (1 + |expected|), for fp32; fp16 has its own.
  PluginCase& tolerance(double fp32, double fp16) {
    fp32_tolerance_ = fp32;
    fp16_tolerance_ = fp16;
    return *this;
  }

  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }
  const std::string& name_space() const { return name_space_; }
  /// By which the plugin's entry is found in entries().
  std::string key() const { return name_ + "/" + version_ + "/" + name_space_; }
  const std::vector<CaseField>& fields() const { return fields_; }
  const std::vector<CaseTensor>& inputs() const { return inputs_; }
  const std::vector<CaseTensor>& outputs() const { return outputs_; }

  /// The types of T in which the case makes sense.
  std::vector<DataType> types() const {
    std::vector<DataType> list;
    const auto found = entries().find(key());
    const TypeMask mask = found == entries().end() ? 0 : found->second.types;
    for (int i = 0; i < 30; ++i) {
      const auto type = static_cast<DataType>(i);
      if ((mask >> i & 1) != 0 && (is_floating(type) || is_whole())) list.push_back(type);
    }
    return list;
  }
  /// "" when output `o`, given by `type` and its elements, is what was expected.
  std::string compare(size_t o, DataType type, const void* data) const {
    const CaseTensor& output = outputs_[o];
    const double tolerance = type == DataType::kHALF ? fp16_tolerance_ : fp32_tolerance_;
    for (size_t i = 0; i < output.values.size(); ++i) {
      const double want = output.values[i], got = CaseTensor::element(type, data, i);
      const bool same = want == got || (std::isnan(want) && std::isnan(got));
      if (same || std::fabs(got - want) <= tolerance * (1 + std::fabs(want))) continue;
      std::ostringstream text;
      text << output.name << "[" << i << "] = " << got << ", expected " << want << " (data type "
           << static_cast<int>(type) << ")";
      return text.str();
    }
    return "";
  }

  /// "" when all is well, else the first difference or error.
  std::string check() {
    const auto found = entries().find(key());
    if (found == entries().end()) return key() + " is not registered";
    const Entry& entry = found->second;
    for (const auto* list : {&inputs_, &outputs_})
      for (const CaseTensor& v : *list)
        if (!v.values.empty() && v.volume() != static_cast<int64_t>(v.values.size()))
          return v.name + " has " + std::to_string(v.values.size())
                 + " values, its dimensions want " + std::to_string(v.volume());
    std::vector<PluginField> fields;
    for (const CaseField& f : fields_) fields.push_back(f.view());
    const PluginFieldCollection collection{static_cast<int32_t>(fields.size()), fields.data()};
    last_error().clear();
    std::string why = check_v3(entry, collection);
    if (!why.empty()) return why;
    why = check_v2(entry, collection);
    return why.empty() ? why : "version 2: " + why;
  }

 private:
  // The tensors of one run.
  struct Run {
    std::vector<PluginTensorDesc> descs;
    std::vector<std::vector<char>> memory;
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
  };

  PluginCase& add(std::vector<CaseTensor>& list, CaseTensor tensor,
                  const std::vector<int64_t>& dims) {
    tensor.dims.nbDims = static_cast<int32_t>(dims.size());
    std::copy(dims.begin(), dims.end(), tensor.dims.d);
    list.push_back(std::move(tensor));
    return *this;
  }
  bool is_whole() const {
    const auto whole = [](const CaseTensor& v) {
      return !v.follows_t || std::ranges::all_of(v.values, [](double x) {
        return x == std::nearbyint(x) && std::fabs(x) < 128;
      });
    };
    return std::ranges::all_of(inputs_, whole) && std::ranges::all_of(outputs_, whole);
  }

  std::string check_v3(const Entry& entry, const PluginFieldCollection& fields) {
    auto& creator = *static_cast<nvinfer1::IPluginCreatorV3One*>(entry.v3);
    using Plugin = std::unique_ptr<nvinfer1::IPluginV3>;
    const Plugin fresh(
        creator.createPlugin(name_.c_str(), &fields, nvinfer1::TensorRTPhase::kBUILD));
    if (!fresh) return "create: " + last_error();
    auto* runtime = static_cast<nvinfer1::IPluginV3OneRuntime*>(
        fresh->getCapabilityInterface(nvinfer1::PluginCapabilityType::kRUNTIME));
    const Plugin again(creator.createPlugin(name_.c_str(), runtime->getFieldsToSerialize(),
                                            nvinfer1::TensorRTPhase::kRUNTIME));
    if (!again) return "create from serialised fields: " + last_error();
    const Plugin copy(fresh->clone()), attached(runtime->attachToContext(nullptr));
    std::string why;
    for (nvinfer1::IPluginV3* plugin : {fresh.get(), again.get(), copy.get(), attached.get()})
      for (const DataType t : types())
        if (why.empty()) why = run_v3(entry, *plugin, t);
    return why;
  }

  std::string run_v3(const Entry& entry, nvinfer1::IPluginV3& plugin, DataType t) {
    auto& build = *static_cast<nvinfer1::IPluginV3OneBuild*>(
        plugin.getCapabilityInterface(nvinfer1::PluginCapabilityType::kBUILD));
    auto& runtime = *static_cast<nvinfer1::IPluginV3OneRuntime*>(
        plugin.getCapabilityInterface(nvinfer1::PluginCapabilityType::kRUNTIME));
    Run run = make_run(t);
    const int n = static_cast<int>(inputs_.size()), m = static_cast<int>(outputs_.size());
    if (build.getNbOutputs() != m)
      return "it has " + std::to_string(build.getNbOutputs()) + " outputs";
    std::vector<nvinfer1::DynamicPluginTensorDesc> dynamic;
    for (const PluginTensorDesc& d : run.descs) dynamic.push_back({d, d.dims, d.dims, d.dims});
    for (int i = 0; i < n + m; ++i)
      if (!build.supportsFormatCombination(i, dynamic.data(), n, m)) return refused(i, run);
    std::vector<DataType> in_types, out_types(m);
    for (int i = 0; i < n; ++i) in_types.push_back(run.descs[i].type);
    if (build.getOutputDataTypes(out_types.data(), m, in_types.data(), n) != 0)
      return "getOutputDataTypes failed";
    for (int i = 0; i < m; ++i)
      if (out_types[i] != run.descs[n + i].type) return outputs_[i].name + " has another type";
    NumberBuilder builder;
    const std::vector<DimsExprs> in = expressions(builder);
    std::vector<DimsExprs> out(m);
    if (build.getOutputShapes(in.data(), n, nullptr, 0, out.data(), m, builder) != 0)
      return "shapes: " + last_error();
    if (std::string why = compare_shapes(out); !why.empty()) return why;
    if (build.configurePlugin(dynamic.data(), n, dynamic.data() + n, m) != 0)
      return "configure: " + last_error();
    if (runtime.onShapeChange(run.descs.data(), n, run.descs.data() + n, m) != 0)
      return "shape change: " + last_error();
    return execute(run, build.getWorkspaceSize(dynamic.data(), n, dynamic.data() + n, m),
                   [&](void* workspace) {
                     return entry.run_v3(&plugin, run.descs.data(), run.descs.data() + n,
                                         run.inputs.data(), run.outputs.data(), workspace);
                   });
  }

  std::string check_v2(const Entry& entry, const PluginFieldCollection& fields) {
    auto& creator = *static_cast<nvinfer1::IPluginCreator*>(entry.v2);
    const auto destroy = [](nvinfer1::IPluginV2* p) { p->destroy(); };
    using Plugin = std::unique_ptr<nvinfer1::IPluginV2, decltype(destroy)>;
    const Plugin fresh(creator.createPlugin(name_.c_str(), &fields), destroy);
    if (!fresh) return "create: " + last_error();
    std::vector<char> blob(fresh->getSerializationSize());
    fresh->serialize(blob.data());
    const Plugin again(creator.deserializePlugin(name_.c_str(), blob.data(), blob.size()), destroy);
    if (!again) return "deserialise: " + last_error();
    for (size_t size = 0; size < blob.size(); ++size) {
      const Plugin damaged(creator.deserializePlugin(name_.c_str(), blob.data(), size), destroy);
      if (damaged) return "deserialise: takes a truncated blob";
    }
    const Plugin copy(fresh->clone(), destroy);
    std::string why;
    for (nvinfer1::IPluginV2* plugin : {fresh.get(), again.get(), copy.get()})
      for (const DataType t : types())
        if (why.empty())
          why = run_v2(entry, *static_cast<nvinfer1::IPluginV2DynamicExt*>(plugin), t);
    return why;
  }

  std::string run_v2(const Entry& entry, nvinfer1::IPluginV2DynamicExt& plugin, DataType t) {
    Run run = make_run(t);
    const int n = static_cast<int>(inputs_.size()), m = static_cast<int>(outputs_.size());
    for (int i = 0; i < n + m; ++i)
      if (!plugin.supportsFormatCombination(i, run.descs.data(), n, m)) return refused(i, run);
    NumberBuilder builder;
    const std::vector<DimsExprs> in = expressions(builder);
    std::vector<DimsExprs> out;
    for (int i = 0; i < m; ++i) out.push_back(plugin.getOutputDimensions(i, in.data(), n, builder));
    if (std::string why = compare_shapes(out); !why.empty()) return why;
    const size_t workspace = plugin.getWorkspaceSize(run.descs.data(), n, run.descs.data() + n, m);
    return execute(run, workspace, [&](void* memory) {
      return entry.run_v2(static_cast<nvinfer1::IPluginV2*>(&plugin), run.descs.data(),
                          run.descs.data() + n, run.inputs.data(), run.outputs.data(), memory);
    });
  }

  // Outputs hold noise, as memory does in an engine.
  Run make_run(DataType t) const {
    Run run;
    const auto add_desc = [&](const CaseTensor& v) {
      run.descs.push_back({v.dims, v.type_for(t), nvinfer1::PluginFormat::kLINEAR, 1});
    };
    for (const CaseTensor& v : inputs_) {
      add_desc(v);
      run.memory.push_back(v.bytes(v.type_for(t)));
      run.inputs.push_back(run.memory.back().data());
    }
    for (const CaseTensor& v : outputs_) {
      add_desc(v);
      run.memory.emplace_back(v.bytes(v.type_for(t)).size(), kNoise);
      run.outputs.push_back(run.memory.back().data());
    }
    return run;
  }

  std::vector<DimsExprs> expressions(NumberBuilder& builder) const {
    std::vector<DimsExprs> list;
    for (const CaseTensor& v : inputs_) {
      DimsExprs& e = list.emplace_back();
      e.nbDims = v.dims.nbDims;
      for (int d = 0; d < e.nbDims; ++d) e.d[d] = builder.constant(v.dims.d[d]);
    }
    return list;
  }

  std::string compare_shapes(const std::vector<DimsExprs>& out) const {
    for (size_t i = 0; i < out.size(); ++i) {
      const nvinfer1::Dims& wanted = outputs_[i].dims;
      bool equal = out[i].nbDims == wanted.nbDims;
      for (int d = 0; equal && d < wanted.nbDims; ++d)
        equal = out[i].d[d] != nullptr && out[i].d[d]->getConstantValue() == wanted.d[d];
      if (!equal) return outputs_[i].name + " has another shape; " + last_error();
    }
    return "";
  }

  std::string refused(int position, const Run& run) const {
    return "type " + std::to_string(static_cast<int>(run.descs[position].type))
           + " refused at position " + std::to_string(position);
  }

  template <class F> std::string execute(Run& run, size_t workspace_bytes, const F& call) {
    constexpr std::align_val_t kAlignment{256};  // as an engine's
    const auto release = [](void* memory) { ::operator delete(memory, kAlignment); };
    const std::unique_ptr<void, decltype(release)> workspace(
        ::operator new(workspace_bytes, kAlignment), release);
    std::memset(workspace.get(), kNoise, workspace_bytes);
    if (call(workspace.get()) != 0) return "run: " + last_error();
    for (size_t o = 0; o < outputs_.size(); ++o)
      if (std::string why = compare(o, run.descs[inputs_.size() + o].type, run.outputs[o]);
          !why.empty())
        return why;
    return "";
  }

  static constexpr char kNoise = 0x5a;

  std::string name_, version_, name_space_;
  std::vector<CaseField> fields_;
  std::vector<CaseTensor> inputs_, outputs_;
  double fp32_tolerance_ = 1e-5, fp16_tolerance_ = 2e-3;
};

}  // namespace testing
}  // namespace kit
}  // namespace tenon
