#include "api/builder.h"

#include "api/build.h"
#include "api/calibration.h"
#include "api/engine.h"
#include "api/host_memory.h"
#include "api/io_types.h"
#include "backend/targets.h"
#include "base/parallel.h"
#include "plan/io_format.h"
#include "plan/plan_file.h"
#include "registry/registry.h"

namespace tenon {
namespace {

const NetworkDefinition& our_network(const nvinfer1::INetworkDefinition& network) {
  const NetworkDefinition* ours = NetworkDefinition::find(&network);
  require(ours != nullptr, "the network is not one of this library, or was deleted");
  return *ours;
}

const BuilderSettings& our_settings(const nvinfer1::IBuilderConfig& config) {
  const BuilderConfig* ours = BuilderConfig::find(&config);
  require(ours != nullptr, "the configuration is not one of this library, or was deleted");
  return ours->settings();
}

void write_all(nvinfer1::IStreamWriter& writer, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const int64_t written = writer.write(bytes.data(), static_cast<int64_t>(bytes.size()));
    require(written > 0 && written <= static_cast<int64_t>(bytes.size()),
            "the stream took {} of {} bytes", written, bytes.size());
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

}  // namespace

Builder::Builder(nvinfer1::ILogger& logger) : Live(this, this), reporter_(&logger) {
  mImpl = this;
}

nvinfer1::IBuilderConfig* Builder::createBuilderConfig() noexcept {
  return reporter_.guard<nvinfer1::IBuilderConfig*>(nullptr,
                                                    [&] { return new BuilderConfig(reporter_); });
}

nvinfer1::INetworkDefinition* Builder::createNetworkV2(
    nvinfer1::NetworkDefinitionCreationFlags flags) noexcept {
  return reporter_.guard<nvinfer1::INetworkDefinition*>(nullptr, [&] {
    constexpr int kFlags = nvinfer1::EnumMax<nvinfer1::NetworkDefinitionCreationFlag>();
    require((flags & ~kImplicitBatchFlag) >> kFlags == 0, "the flags {:#x} hold unknown bits",
            flags);
    return new NetworkDefinition(*this, reporter_, flags);
  });
}

nvinfer1::IOptimizationProfile* Builder::createOptimizationProfile() noexcept {
  return reporter_.guard<nvinfer1::IOptimizationProfile*>(
      nullptr, [&] { return &profiles_.emplace_back(reporter_); });
}

void Builder::reset() noexcept {
  allocator_ = nullptr;
  max_batch_size = 1;
}

Plan Builder::plan_of(const nvinfer1::INetworkDefinition& network,
                      const nvinfer1::IBuilderConfig& config) const {
  return build(our_network(network), our_settings(config), max_batch_size, reporter_);
}

nvinfer1::IHostMemory* Builder::buildSerializedNetwork(nvinfer1::INetworkDefinition& network,
                                                       nvinfer1::IBuilderConfig& config) noexcept {
  return reporter_.guard<nvinfer1::IHostMemory*>(
      nullptr, [&] { return new HostMemory(write_plan(plan_of(network, config))); });
}

// The first GPUs with TF32 are the first with bfloat16, too.
bool Builder::platformHasTf32() const noexcept {
  return reporter_.guard(false, [&] {
    const Target& target = default_target();
    return !target.device().is_host() && target.is_fast_in(nvinfer1::DataType::kBF16);
  });
}

bool Builder::isNetworkSupported(const nvinfer1::INetworkDefinition& network,
                                 const nvinfer1::IBuilderConfig& config) const noexcept {
  return reporter_.run([&] {
    const NetworkDefinition& ours = our_network(network);
    check_supported(ours, our_settings(config), reporter_.log());
    const auto copy = copy_to_build(ours, max_batch_size);
    Scales scales = dynamic_ranges(ours);
    // A calibrator would find more.
    if (!is_to_be_quantized(ours, our_settings(config), reporter_.log()))
      quantize_borders(*copy, scales);
    copy->infer();
    const int32_t batch = ours.hasImplicitBatchDimension() ? max_batch_size : 0;
    for (const auto* list : {&copy->inputs(), &copy->outputs()})
      for (const Value* v : *list) io_layout(*v, batch);  // throws where there is none
  });
}

bool Builder::setMaxThreads(int32_t maxThreads) noexcept {
  return reporter_.run([&] {
    require(maxThreads > 0, "{} threads are not possible", maxThreads);
    set_thread_count(maxThreads);
  });
}

int32_t Builder::getMaxThreads() const noexcept {
  return thread_count();
}

nvinfer1::IPluginRegistry& Builder::getPluginRegistry() noexcept {
  return plugin_registry();
}

nvinfer1::ICudaEngine* Builder::buildEngineWithConfig(nvinfer1::INetworkDefinition& network,
                                                      nvinfer1::IBuilderConfig& config) noexcept {
  return reporter_.guard<nvinfer1::ICudaEngine*>(
      nullptr, [&] { return new EngineView(plan_of(network, config), reporter_, allocator_); });
}

bool Builder::buildSerializedNetworkToStream(nvinfer1::INetworkDefinition& network,
                                             nvinfer1::IBuilderConfig& config,
                                             nvinfer1::IStreamWriter& writer) noexcept {
  return reporter_.run([&] {
    const auto bytes = write_plan(plan_of(network, config));
    write_all(writer, bytes);
  });
}

nvinfer1::IHostMemory* Builder::buildSerializedNetworkWithKernelText(
    nvinfer1::INetworkDefinition& network, nvinfer1::IBuilderConfig& config,
    nvinfer1::IHostMemory*& kernelText) noexcept {
  kernelText = nullptr;  // plans hold no generated kernels
  return buildSerializedNetwork(network, config);
}

}  // namespace tenon
