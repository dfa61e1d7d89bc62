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

#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "tenon/plugin.h"
#include "tenon/plugin/number_builder.h"
#include "tenon/plugin/plugin_case.h"

namespace tenon {
namespace kit {
namespace testing {

/// The tensors of one run of a case, in host memory.
struct CaseRun {
  nvinfer1::TensorFormat format;
  std::vector<PluginTensorDesc> descs;    // of inputs and outputs
  std::vector<std::vector<char>> memory;  // of inputs and outputs
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  std::vector<nvinfer1::Dims> max;  // of outputs, where the shape depends on data
  size_t workspace_bytes = 0;
};

/// A plugin's kernel with a run's descriptions; false when it fails.
using CaseKernel = std::function<bool(const void* const* inputs, void* const* outputs,
                                      void* workspace, cudaStream_t stream)>;

/// Where kernels of cases run.
class Machine {
 public:
  virtual ~Machine() = default;
  /// Leaves the results in run.outputs. `cpu` takes host memory and no stream, `enqueue` is the
  /// plugin's enqueue(). Returns "", or what is wrong.
  virtual std::string run(const PluginCase& c, CaseRun& run, const CaseKernel& cpu,
                          const CaseKernel& enqueue) = 0;
};

/// The calling thread.
class HostMachine final : public Machine {
 public:
  std::string run(const PluginCase&, CaseRun& run, const CaseKernel& cpu,
                  const CaseKernel&) override {
    constexpr std::align_val_t kAlignment{256};  // as an engine's
    const auto release = [](void* memory) { ::operator delete(memory, kAlignment); };
    if (run.workspace_bytes > PTRDIFF_MAX) return "workspace: " + last_error();
    const std::unique_ptr<void, decltype(release)> workspace(
        ::operator new(run.workspace_bytes, kAlignment), release);
    std::memset(workspace.get(), kNoise, run.workspace_bytes);
    return cpu(run.inputs.data(), run.outputs.data(), workspace.get(), nullptr)
               ? ""
               : "run: " + last_error();
  }

  /// What is in memory that nothing was written to.
  static constexpr char kNoise = 0x5a;
};

/// Takes one case through both protocols.
class CaseRunner {
 public:
  CaseRunner(const PluginCase& c, Machine& machine)
      : case_(c),
        machine_(machine),
        inputs_(static_cast<int>(c.inputs().size())),
        outputs_(static_cast<int>(c.outputs().size())) {}

  std::string check() {
    const auto found = entries().find(case_.key());
    if (found == entries().end()) return case_.key() + " is not registered";
    const Entry& entry = found->second;
    for (const auto* list : {&case_.inputs(), &case_.outputs()})
      for (const CaseTensor& v : *list)
        if (!v.values.empty() && v.volume() != static_cast<int64_t>(v.values.size()))
          return v.name + " has " + std::to_string(v.values.size())
                 + " values, its dimensions want " + std::to_string(v.volume());
    std::vector<nvinfer1::PluginField> fields;
    for (const CaseField& f : case_.fields()) fields.push_back(f.view());
    const PluginFieldCollection collection{static_cast<int32_t>(fields.size()), fields.data()};
    last_error().clear();
    std::string why = check_v3(entry, collection);
    if (!why.empty()) return why;
    why = check_v2(entry, collection);
    return why.empty() ? why : "version 2: " + why;
  }

 private:
  std::string check_v3(const Entry& entry, const PluginFieldCollection& fields) {
    auto& creator = *static_cast<nvinfer1::IPluginCreatorV3One*>(entry.v3);
    using Plugin = std::unique_ptr<nvinfer1::IPluginV3>;
    const char* name = entry.spec.name;
    const Plugin fresh(creator.createPlugin(name, &fields, nvinfer1::TensorRTPhase::kBUILD));
    if (!fresh) return "create: " + last_error();
    if (std::string why =
            each_type(entry, [&](auto... of) { return run_v3(entry, *fresh, of...); });
        !why.empty())
      return why;
    auto* runtime = static_cast<nvinfer1::IPluginV3OneRuntime*>(
        fresh->getCapabilityInterface(nvinfer1::PluginCapabilityType::kRUNTIME));
    const Plugin again(creator.createPlugin(name, runtime->getFieldsToSerialize(),
                                            nvinfer1::TensorRTPhase::kRUNTIME));
    if (!again) return "create from serialised fields: " + last_error();
    const Plugin copy(fresh->clone()), attached(runtime->attachToContext(nullptr));
    for (nvinfer1::IPluginV3* plugin : {again.get(), copy.get(), attached.get()})
      if (std::string why =
              each_type(entry, [&](auto... of) { return run_v3(entry, *plugin, of...); });
          !why.empty())
        return "a copy: " + why;
    return "";
  }

  // Calls run(type of T, format) for what the plugin takes.
  template <class F> std::string each_type(const Entry& entry, const F& run) {
    bool channels_last = false;
    for (const Port& port : entry.spec.inputs.port) channels_last |= port.channels_last;
    std::string why;
    for (const DataType t : case_.types()) {
      if (why.empty()) why = run(t, nvinfer1::TensorFormat::kLINEAR);
      if (!why.empty() || !channels_last) continue;
      why = run(t, nvinfer1::TensorFormat::kHWC);
      if (!why.empty()) why = "channels last: " + why;
    }
    return why;
  }

  std::string run_v3(const Entry& entry, nvinfer1::IPluginV3& plugin, DataType t,
                     nvinfer1::TensorFormat format) {
    auto& build = *static_cast<nvinfer1::IPluginV3OneBuild*>(
        plugin.getCapabilityInterface(nvinfer1::PluginCapabilityType::kBUILD));
    auto& runtime = *static_cast<nvinfer1::IPluginV3OneRuntime*>(
        plugin.getCapabilityInterface(nvinfer1::PluginCapabilityType::kRUNTIME));
    CaseRun run = make_run(entry, t, format);
    const int n = inputs_, m = outputs_;
    if (build.getNbOutputs() != m)
      return "it has " + std::to_string(build.getNbOutputs()) + " outputs";
    NumberBuilder builder;
    const std::vector<DimsExprs> in = expressions(builder), values = shape_values(builder);
    std::vector<DimsExprs> out(static_cast<size_t>(m));
    if (build.getOutputShapes(in.data(), n, values.data(), static_cast<int>(values.size()),
                              out.data(), m, builder)
        != 0)
      return "shapes: " + last_error();
    if (std::string why = take_shapes(out, run); !why.empty()) return why;
    std::vector<nvinfer1::DynamicPluginTensorDesc> dynamic;
    for (size_t i = 0; i < run.descs.size(); ++i) {
      const PluginTensorDesc& d = run.descs[i];
      const nvinfer1::Dims& max =
          static_cast<int>(i) < n ? d.dims : run.max[i - case_.inputs().size()];
      dynamic.push_back({d, max, max, max});
    }
    for (int i = 0; i < n + m; ++i)
      if (!build.supportsFormatCombination(i, dynamic.data(), n, m)) return refused(i, run);
    std::vector<DataType> in_types, out_types(static_cast<size_t>(m));
    for (int i = 0; i < n; ++i) in_types.push_back(dynamic[static_cast<size_t>(i)].desc.type);
    if (build.getOutputDataTypes(out_types.data(), m, in_types.data(), n) != 0)
      return "getOutputDataTypes failed";
    for (size_t i = 0; i < out_types.size(); ++i)
      if (out_types[i] != run.descs[case_.inputs().size() + i].type)
        return case_.outputs()[i].name + " has another type";
    if (build.configurePlugin(dynamic.data(), n, dynamic.data() + n, m) != 0)
      return "configure: " + last_error();
    if (runtime.onShapeChange(run.descs.data(), n, run.descs.data() + n, m) != 0)
      return "shape change: " + last_error();
    run.workspace_bytes = build.getWorkspaceSize(dynamic.data(), n, dynamic.data() + n, m);
    return execute(run, entry.run_v3, plugin, runtime);
  }

  std::string check_v2(const Entry& entry, const PluginFieldCollection& fields) {
    auto& creator = *static_cast<nvinfer1::IPluginCreator*>(entry.v2);
    const auto destroy = [](nvinfer1::IPluginV2* p) { p->destroy(); };
    using Plugin = std::unique_ptr<nvinfer1::IPluginV2, decltype(destroy)>;
    const char* name = entry.spec.name;
    const Plugin fresh(creator.createPlugin(name, &fields), destroy);
    if (entry.needs_v3) return fresh ? "made, though its shapes depend on data" : "";
    if (!fresh) return "create: " + last_error();
    const auto run = [&](nvinfer1::IPluginV2& plugin) {
      return each_type(entry, [&](auto... of) {
        return run_v2(entry, static_cast<nvinfer1::IPluginV2DynamicExt&>(plugin), of...);
      });
    };
    if (std::string why = run(*fresh); !why.empty()) return why;
    std::vector<char> blob(fresh->getSerializationSize());
    fresh->serialize(blob.data());
    const Plugin again(creator.deserializePlugin(name, blob.data(), blob.size()), destroy);
    if (!again) return "deserialise: " + last_error();
    for (size_t size = 0; size < blob.size(); ++size) {
      const Plugin damaged(creator.deserializePlugin(name, blob.data(), size), destroy);
      if (damaged) return "deserialise: takes a truncated blob";
    }
    const Plugin copy(fresh->clone(), destroy);
    for (nvinfer1::IPluginV2* plugin : {again.get(), copy.get()})
      if (std::string why = run(*plugin); !why.empty()) return "a copy: " + why;
    return "";
  }

  std::string run_v2(const Entry& entry, nvinfer1::IPluginV2DynamicExt& plugin, DataType t,
                     nvinfer1::TensorFormat format) {
    CaseRun run = make_run(entry, t, format);
    const int n = inputs_, m = outputs_;
    if (plugin.getNbOutputs() != m)
      return "it has " + std::to_string(plugin.getNbOutputs()) + " outputs";
    NumberBuilder builder;
    const std::vector<DimsExprs> in = expressions(builder);
    std::vector<DimsExprs> out;
    for (int i = 0; i < m; ++i) out.push_back(plugin.getOutputDimensions(i, in.data(), n, builder));
    if (std::string why = take_shapes(out, run); !why.empty()) return why;
    for (int i = 0; i < n + m; ++i)
      if (!plugin.supportsFormatCombination(i, run.descs.data(), n, m)) return refused(i, run);
    run.workspace_bytes = plugin.getWorkspaceSize(run.descs.data(), n, run.descs.data() + n, m);
    return execute(run, entry.run_v2, static_cast<nvinfer1::IPluginV2&>(plugin), plugin);
  }

  CaseRun make_run(const Entry& entry, DataType t, nvinfer1::TensorFormat format) const {
    CaseRun run{};
    run.format = format;
    const auto add = [&](const CaseTensor& v, const Port& port) {
      const bool permuted = port.channels_last && v.dims.nbDims == 4;
      run.descs.push_back(
          {v.dims, v.type_for(t), permuted ? format : nvinfer1::TensorFormat::kLINEAR, v.scale});
    };
    for (int i = 0; i < inputs_; ++i) {
      const CaseTensor& v = case_.inputs()[static_cast<size_t>(i)];
      add(v, entry.spec.inputs.port_at(i, inputs_));
      run.memory.push_back(v.bytes(v.type_for(t), run.descs.back().format));
      run.inputs.push_back(run.memory.back().data());
    }
    for (int i = 0; i < outputs_; ++i)
      add(case_.outputs()[static_cast<size_t>(i)], entry.spec.outputs.port_at(i, outputs_));
    return run;
  }

  std::vector<DimsExprs> expressions(NumberBuilder& builder) const {
    std::vector<DimsExprs> list;
    for (const CaseTensor& v : case_.inputs())
      list.push_back(builder.expressions(v.dims.d, v.dims.nbDims));
    return list;
  }
  std::vector<DimsExprs> shape_values(NumberBuilder& builder) const {
    std::vector<DimsExprs> list;
    for (const auto& values : case_.shape_inputs())
      list.push_back(builder.expressions(values.data(), static_cast<int>(values.size())));
    return list;
  }

  // Compares the shapes of outputs, and makes their memory: noise, as in an engine. An extent that
  // depends on data is -1 while the plugin runs, and memory is there for the largest.
  std::string take_shapes(const std::vector<DimsExprs>& out, CaseRun& run) const {
    for (size_t i = 0; i < out.size(); ++i) {
      const CaseTensor& output = case_.outputs()[i];
      nvinfer1::Dims& dims = run.descs[case_.inputs().size() + i].dims;
      nvinfer1::Dims max = dims;
      bool equal = out[i].nbDims == dims.nbDims;
      size_t volume = 1;
      for (int d = 0; equal && d < dims.nbDims; ++d) {
        if (out[i].d[d] == nullptr) return output.name + " has no extent " + std::to_string(d);
        max.d[d] = out[i].d[d]->getConstantValue();
        const bool is_known = out[i].d[d]->isConstant();
        equal = is_known ? max.d[d] == dims.d[d] : dims.d[d] <= max.d[d];
        if (!is_known) dims.d[d] = -1;
        volume *= static_cast<size_t>(std::max<int64_t>(max.d[d], 0));
      }
      if (!equal) return output.name + " has another shape; " + last_error();
      run.max.push_back(max);
      const DataType type = run.descs[case_.inputs().size() + i].type;
      run.memory.emplace_back(std::max<size_t>(volume * size_of(type), 1), HostMachine::kNoise);
      run.outputs.push_back(run.memory.back().data());
    }
    return "";
  }

  std::string refused(int position, const CaseRun& run) const {
    const PluginTensorDesc& desc = run.descs[static_cast<size_t>(position)];
    return "type " + std::to_string(static_cast<int>(desc.type)) + " refused at position "
           + std::to_string(position);
  }

  // `plugin` is what the kernel of the CPU takes, `runtime` has enqueue().
  template <class Plugin, class Runtime>
  std::string execute(CaseRun& run, TenonCpuKernel kernel, Plugin& plugin, Runtime& runtime) {
    const PluginTensorDesc *in = run.descs.data(), *out = in + inputs_;
    const auto cpu = [&](auto inputs, auto outputs, void* workspace, cudaStream_t) {
      return kernel(&plugin, in, out, inputs, outputs, workspace) == 0;
    };
    const auto enqueue = [&](auto inputs, auto outputs, void* workspace, cudaStream_t stream) {
      return runtime.enqueue(in, out, inputs, outputs, workspace, stream) == 0;
    };
    if (std::string why = machine_.run(case_, run, cpu, enqueue); !why.empty()) return why;
    for (size_t o = 0; o < case_.outputs().size(); ++o) {
      const PluginTensorDesc& desc = run.descs[case_.inputs().size() + o];
      if (std::string why = case_.compare(o, desc.type, run.outputs[o], desc.format); !why.empty())
        return why;
    }
    return "";
  }

  const PluginCase& case_;
  Machine& machine_;
  int inputs_, outputs_;
};

inline std::string PluginCase::check() const {
  HostMachine host;
  return CaseRunner(*this, host).check();
}

}  // namespace testing
}  // namespace kit
}  // namespace tenon
