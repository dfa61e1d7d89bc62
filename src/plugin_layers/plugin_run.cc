#include "plugin_layers/plugin_run.h"

#include <cuda_runtime_api.h>
#include <tenon/plugin_runner.h>

#include <cstdlib>
#include <set>
#include <vector>

#include "base/cuda_stream.h"
#include "base/error.h"
#include "plugin_layers/format_search.h"
#include "registry/plugin_host.h"

// Weak: programs without a CUDA runtime, such as tests, have no launches to look after.
extern "C" __attribute__((weak)) cudaError_t cudaGetLastError();
extern "C" __attribute__((weak)) cudaError_t cudaPeekAtLastError();
extern "C" __attribute__((weak)) const char* cudaGetErrorString(cudaError_t error);
// Only called on a device, where there is one.
extern "C" __attribute__((weak)) cudaError_t cudaMalloc(void** memory, size_t bytes);
extern "C" __attribute__((weak)) cudaError_t cudaFree(void* memory);

namespace tenon {
namespace {

using nvinfer1::IPluginV3;
using nvinfer1::IPluginV3OneBuild;
using nvinfer1::IPluginV3OneRuntime;
using nvinfer1::TensorFormat;

// What plugins that allocate "device" memory through TensorRT get.
class HostAllocator final : public nvinfer1::IGpuAllocator {
 public:
  void* allocate(uint64_t size, uint64_t alignment, nvinfer1::AllocatorFlags) noexcept override {
    constexpr uint64_t kMinAlignment = 64;
    const uint64_t unit = std::max(alignment, kMinAlignment);
    void* memory = nullptr;
    return size > 0 && posix_memalign(&memory, unit, size) == 0 ? memory : nullptr;
  }
  bool deallocate(void* memory) noexcept override {
    std::free(memory);
    return true;
  }
};

class DeviceAllocator final : public nvinfer1::IGpuAllocator {
 public:
  void* allocate(uint64_t size, uint64_t, nvinfer1::AllocatorFlags) noexcept override {
    void* memory = nullptr;
    return size > 0 && cudaMalloc(&memory, size) == cudaSuccess ? memory : nullptr;
  }
  bool deallocate(void* memory) noexcept override { return cudaFree(memory) == cudaSuccess; }
};

nvinfer1::IGpuAllocator& allocator_of(PluginMemory place) {
  static HostAllocator host;
  static DeviceAllocator device;
  if (place == PluginMemory::kHost) return host;
  return device;
}

class ResourceContext final : public nvinfer1::IPluginResourceContext {
 public:
  explicit ResourceContext(PluginMemory place) : place_(place) {}
  nvinfer1::IGpuAllocator* getGpuAllocator() const noexcept override {
    return &allocator_of(place_);
  }
  nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override { return nullptr; }

 private:
  PluginMemory place_;
};

template <class Call>
void check_call(const PluginLayer& layer, const char* name, const Call& call) {
  const PluginReports reports;
  if (const int32_t status = call(); status != 0)
    fail(ErrorClass::kPluginFailed, "{}: {} failed with {}{}", layer.label(), name, status,
         reports.text());
}

// A plugin that cannot tell says a number of bytes that nobody has.
template <class Ask> size_t ask_workspace(const PluginLayer& layer, const Ask& ask) {
  const PluginReports reports;
  const size_t bytes = ask();
  require(bytes <= PTRDIFF_MAX, "{}: getWorkspaceSize() asks for {} bytes{}", layer.label(), bytes,
          reports.text());
  return bytes;
}

// Plugins do not see their shape inputs among the tensors.
std::span<const PluginTensor> data_inputs(const PluginLayer& layer,
                                          std::span<const PluginTensor> inputs) {
  const auto shapes = static_cast<size_t>(layer.shape_inputs());
  require(inputs.size() >= shapes, "{}: {} inputs, of which {} are said to be shapes",
          layer.label(), inputs.size(), shapes);
  return inputs.first(inputs.size() - shapes);
}

class Runner : public PluginRun {
 public:
  Runner(const PluginLayer& layer, std::span<const PluginTensor> inputs,
         std::span<const PluginTensor> outputs, PluginMemory place)
      : label_(layer.label()),
        inputs_(descs_of(inputs)),
        outputs_(descs_of(outputs)),
        place_(place) {}

  size_t workspace_bytes() const override { return workspace_; }

  void run(std::span<const void* const> inputs, std::span<void* const> outputs, void* workspace,
           Stream* stream) override {
    const bool watch = kernel_ == nullptr && cudaPeekAtLastError != nullptr
                       && cudaPeekAtLastError() == cudaSuccess;
    const PluginReports reports;
    const int32_t status = kernel_ != nullptr
                               ? kernel_(object_, inputs_.data(), outputs_.data(), inputs.data(),
                                         outputs.data(), workspace)
                               : enqueue(inputs.data(), outputs.data(), workspace, to_cuda(stream));
    if (status != 0)
      fail(ErrorClass::kPluginFailed, "{}: {} failed with {}{}", label_,
           kernel_ != nullptr ? "its CPU kernel" : "enqueue()", status, reports.text());
    if (watch) check_launches();
  }

 protected:
  virtual int32_t enqueue(const void* const* inputs, void* const* outputs, void* workspace,
                          cudaStream_t stream) = 0;
  // `object` is what a plugin of the kit registered its CPU kernel for.
  void use_kernel_of(void* object) {
    object_ = object;
    if (place_ == PluginMemory::kHost) kernel_ = tenonCpuKernel(object);
    require(place_ == PluginMemory::kHost || !tenonIsCpuOnly(object),
            "{}: it was built without a kernel for CUDA, and the plan expects one: build the plan "
            "again, or the plugin with nvcc",
            label_);
  }

  std::string label_;
  std::vector<PluginTensorDesc> inputs_, outputs_;
  PluginMemory place_;
  size_t workspace_ = 0;

 private:
  // A plugin that launches CUDA kernels cannot run here, and many do not look whether it worked.
  void check_launches() const {
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess)
      fail(ErrorClass::kPluginFailed, "{}: a CUDA call in enqueue() failed: {}{}", label_,
           cudaGetErrorString(error),
           place_ == PluginMemory::kDevice
               ? ""
               : ". The CPU target cannot run CUDA kernels; build the plugin with a CPU kernel "
                 "(tenon/plugin.h)");
  }

  void* object_ = nullptr;
  TenonCpuKernel kernel_ = nullptr;
};

class RunnerV2 final : public Runner {
 public:
  RunnerV2(const PluginV2Layer& layer, std::span<const PluginTensor> inputs,
           std::span<const PluginTensor> outputs, PluginMemory place)
      : Runner(layer, inputs, outputs, place) {
    PluginV2Instance& engine_copy = layer.instance();
    engine_copy.initialize();
    plugin_ = engine_copy.clone();
    plugin_->attach(allocator_of(place), inputs, outputs);
    workspace_ = ask_workspace(layer, [&] { return plugin_->workspace_bytes(inputs_, outputs_); });
    use_kernel_of(&plugin_->plugin());
  }
  ~RunnerV2() override { plugin_->detach(); }

 private:
  int32_t enqueue(const void* const* inputs, void* const* outputs, void* workspace,
                  cudaStream_t stream) override {
    return plugin_->enqueue(inputs_.data(), outputs_.data(), inputs, outputs, workspace, stream);
  }
  std::unique_ptr<PluginV2Instance> plugin_;
};

class RunnerV3 final : public Runner {
 public:
  RunnerV3(const PluginV3Layer& layer, std::span<const PluginTensor> inputs,
           std::span<const PluginTensor> outputs, const PluginChoice& choice, PluginMemory place)
      : Runner(layer, inputs, outputs, place), context_(place) {
    const PluginReports reports;
    plugin_.reset(layer.runtime().attachToContext(&context_));
    require(plugin_ != nullptr, "{}: attachToContext() gave null{}", label_, reports.text());
    runtime_ = static_cast<IPluginV3OneRuntime*>(capability_of(
        *plugin_, nvinfer1::PluginCapabilityType::kRUNTIME, "PLUGIN_V3ONE_RUNTIME", label_));
    require(runtime_ != nullptr, "{}: what attachToContext() gave has no runtime capability",
            label_);
    const auto nin = static_cast<int32_t>(inputs_.size());
    const auto nout = static_cast<int32_t>(outputs_.size());
    check_call(layer, "setTactic()", [&] { return runtime_->setTactic(choice.tactic); });
    check_call(layer, "onShapeChange()",
               [&] { return runtime_->onShapeChange(inputs_.data(), nin, outputs_.data(), nout); });
    workspace_ = choice.workspace_bytes;
    if (const IPluginV3OneBuild* build = layer.build())
      workspace_ =
          std::max(workspace_, ask_workspace(layer, [&] {
                     return build->getWorkspaceSize(inputs.data(), nin, outputs.data(), nout);
                   }));
    use_kernel_of(plugin_.get());
  }

 private:
  int32_t enqueue(const void* const* inputs, void* const* outputs, void* workspace,
                  cudaStream_t stream) override {
    return runtime_->enqueue(inputs_.data(), outputs_.data(), inputs, outputs, workspace, stream);
  }
  ResourceContext context_;
  std::unique_ptr<IPluginV3> plugin_;
  IPluginV3OneRuntime* runtime_ = nullptr;
};

std::vector<int32_t> tactics_of(const PluginLayer& layer, IPluginV3OneBuild& build) {
  const int32_t count = build.getNbTactics();
  constexpr int32_t kMaxTactics = 1 << 16;
  require(count >= 0 && count <= kMaxTactics, "{}: getNbTactics() says {}", layer.label(), count);
  std::vector<int32_t> tactics(static_cast<size_t>(count), 0);
  if (count == 0) return tactics;
  check_call(layer, "getValidTactics()",
             [&] { return build.getValidTactics(tactics.data(), count); });
  std::set<int32_t> seen;
  for (int32_t tactic : tactics)
    require(tactic > 0 && seen.insert(tactic).second,
            "{}: getValidTactics() gives the tactic {}; expected positive numbers, each once",
            layer.label(), tactic);
  return tactics;
}

}  // namespace

bool plugin_takes(const PluginLayer& layer, std::span<const PluginTensor> inputs,
                  std::span<const PluginTensor> outputs) {
  return FormatSearch(layer, data_inputs(layer, inputs), outputs).find();
}

bool is_for_the_host_alone(const PluginLayer& layer) {
  const auto* v2 = dynamic_cast<const PluginV2Layer*>(&layer);
  return tenonIsCpuOnly(v2 != nullptr ? static_cast<const void*>(&v2->instance().plugin())
                                      : &dynamic_cast<const PluginV3Layer&>(layer).plugin());
}

PluginChoice negotiate_plugin(const PluginLayer& layer, std::span<const PluginTensor> all_inputs,
                              std::span<const PluginTensor> all_outputs) {
  const auto data = data_inputs(layer, all_inputs);
  const auto nin = static_cast<int32_t>(data.size());
  const auto nout = static_cast<int32_t>(all_outputs.size());
  require(nout == layer.output_count(), "{} has {} outputs, not {}", layer.label(),
          layer.output_count(), nout);
  FormatSearch search(layer, data, all_outputs);
  if (!search.find()) search.refuse();
  PluginChoice choice;
  choice.formats = search.formats();
  std::vector<PluginTensor> inputs(data.begin(), data.end());
  std::vector<PluginTensor> outputs(all_outputs.begin(), all_outputs.end());
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i].desc.format = choice.formats[i];
  for (size_t i = 0; i < outputs.size(); ++i)
    outputs[i].desc.format = choice.formats[inputs.size() + i];
  // Shape inputs are in no format of the plugin's.
  choice.formats.insert(choice.formats.begin() + nin, all_inputs.size() - data.size(),
                        TensorFormat::kLINEAR);
  if (const auto* v2 = dynamic_cast<const PluginV2Layer*>(&layer)) {
    v2->instance().configure(inputs, outputs);
    return choice;
  }
  const auto& v3 = dynamic_cast<const PluginV3Layer&>(layer);
  IPluginV3OneBuild* plugin = v3.build();
  if (plugin == nullptr) return choice;  // made for running: it was asked when the plan was built
  require(plugin->getFormatCombinationLimit() >= 1,
          "{}: getFormatCombinationLimit() says {}, so that no combination may be tried",
          layer.label(), plugin->getFormatCombinationLimit());
  check_call(layer, "configurePlugin()",
             [&] { return plugin->configurePlugin(inputs.data(), nin, outputs.data(), nout); });
  choice.workspace_bytes = ask_workspace(
      layer, [&] { return plugin->getWorkspaceSize(inputs.data(), nin, outputs.data(), nout); });
  choice.others = tactics_of(layer, *plugin);
  if (!choice.others.empty()) {
    choice.tactic = choice.others.front();
    choice.others.erase(choice.others.begin());
  }
  if (const char* id = plugin->getTimingCacheID()) choice.timing_id = id;
  return choice;
}

std::unique_ptr<PluginRun> prepare_plugin(const PluginLayer& layer,
                                          std::span<const PluginTensor> all_inputs,
                                          std::span<const PluginTensor> outputs,
                                          const PluginChoice& choice, PluginMemory place) {
  const auto inputs = data_inputs(layer, all_inputs);
  if (const auto* v2 = dynamic_cast<const PluginV2Layer*>(&layer))
    return std::make_unique<RunnerV2>(*v2, inputs, outputs, place);
  return std::make_unique<RunnerV3>(dynamic_cast<const PluginV3Layer&>(layer), inputs, outputs,
                                    choice, place);
}

}  // namespace tenon
