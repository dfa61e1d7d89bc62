// Tenon's additions to the API: what 8.x names need beyond TensorRT 10.16's virtual tables, and
// opening a plan by its path, what a build may be asked, and limits.
#include <tenon/build.h>
#include <tenon/extensions.h>
#include <tenon/gpu.h>
#include <tenon/limits.h>
#include <tenon/open_plan.h>

#include <algorithm>

#include "api/builder.h"
#include "api/builder_config.h"
#include "api/execution_context.h"
#include "api/layer.h"
#include "api/layers/reduce.h"
#include "api/network_definition.h"
#include "api/runtime.h"
#include "backend/targets.h"
#include "import/import.h"

namespace tenon {
namespace {

// The facade behind a layer of 8.x's kind, null for other layers; `layer` is alive, as ever.
FullyConnectedView* fully_connected(const nvinfer1::ILayer* layer) {
  if (layer == nullptr || layer->getType() != layer_type(PrivateLayer::kFullyConnected))
    return nullptr;
  return static_cast<FullyConnectedView*>(
      static_cast<nvinfer1::IFullyConnectedLayer*>(const_cast<nvinfer1::ILayer*>(layer)));
}

// Parsers say what is wrong with an environment variable.
size_t limit_or_zero(size_t (*limit)()) {
  try {
    return limit();
  } catch (const Error&) {
    return 0;
  }
}

}  // namespace
}  // namespace tenon

extern "C" {

void tenonSetMaxBatchSize(nvinfer1::IBuilder* builder, int32_t batchSize) noexcept {
  if (tenon::Builder* ours = tenon::Builder::find(builder)) ours->max_batch_size = batchSize;
}

int32_t tenonGetMaxBatchSize(const nvinfer1::IBuilder* builder) noexcept {
  const tenon::Builder* ours = tenon::Builder::find(builder);
  return ours != nullptr ? ours->max_batch_size : 1;
}

int32_t tenonGetEngineMaxBatchSize(const nvinfer1::ICudaEngine* engine) noexcept {
  const tenon::EngineView* ours = tenon::EngineView::find(engine);
  return ours != nullptr ? std::max(ours->plan().max_batch, 1) : 1;
}

int32_t tenonGpuOfEngine(const nvinfer1::ICudaEngine* engine) noexcept {
  const tenon::EngineView* ours = tenon::EngineView::find(engine);
  return ours == nullptr || ours->engine().device().is_host() ? -1 : ours->engine().device_index();
}

bool tenonSetBatchSize(nvinfer1::IExecutionContext* context, int32_t batchSize) noexcept {
  tenon::ContextView* ours = tenon::ContextView::find(context);
  return ours != nullptr && ours->set_batch_size(batchSize);
}

bool tenonSetShapeValues(nvinfer1::IExecutionContext* context, const char* name,
                         const int32_t* values) noexcept {
  tenon::ContextView* ours = tenon::ContextView::find(context);
  return ours != nullptr && ours->set_shape_values(name, values);
}

nvinfer1::IFullyConnectedLayer* tenonAddFullyConnected(nvinfer1::INetworkDefinition* network,
                                                       nvinfer1::ITensor* input, int32_t nbOutputs,
                                                       const nvinfer1::Weights* kernel,
                                                       const nvinfer1::Weights* bias) noexcept {
  tenon::NetworkDefinition* ours = tenon::NetworkDefinition::find(network);
  if (ours == nullptr) return nullptr;
  return ours->reporter().guard<nvinfer1::IFullyConnectedLayer*>(
      nullptr, [&] { return ours->add_fully_connected(input, nbOutputs, kernel, bias); },
      "addFullyConnected");
}

bool tenonGetFullyConnected(const nvinfer1::ILayer* layer, int32_t* nbOutputs,
                            nvinfer1::Weights* kernel, nvinfer1::Weights* bias) noexcept {
  const tenon::FullyConnectedView* ours = tenon::fully_connected(layer);
  if (ours != nullptr) ours->read(nbOutputs, kernel, bias);
  return ours != nullptr;
}

bool tenonSetFullyConnected(nvinfer1::ILayer* layer, int32_t nbOutputs,
                            const nvinfer1::Weights* kernel,
                            const nvinfer1::Weights* bias) noexcept {
  tenon::FullyConnectedView* ours = tenon::fully_connected(layer);
  if (ours != nullptr) ours->write(nbOutputs, kernel, bias);
  return ours != nullptr;
}

bool tenonSetTarget(nvinfer1::IBuilderConfig* config, const char* name) noexcept {
  tenon::BuilderConfig* ours = tenon::BuilderConfig::find(config);
  return ours != nullptr && ours->set_target(name);
}

const char* tenonTarget(const nvinfer1::IBuilderConfig* config) noexcept {
  const tenon::BuilderConfig* ours = tenon::BuilderConfig::find(config);
  return ours != nullptr ? ours->settings().target.c_str() : "";
}

const char* tenonTargetName(int32_t index) noexcept {
  const auto names = tenon::target_names();
  return index >= 0 && static_cast<size_t>(index) < names.size()
             ? names[static_cast<size_t>(index)].data()
             : nullptr;
}

bool tenonSetDeterministic(nvinfer1::IBuilderConfig* config, bool deterministic) noexcept {
  tenon::BuilderConfig* ours = tenon::BuilderConfig::find(config);
  if (ours != nullptr) ours->set_deterministic(deterministic);
  return ours != nullptr;
}

bool tenonIsDeterministic(const nvinfer1::IBuilderConfig* config) noexcept {
  const tenon::BuilderConfig* ours = tenon::BuilderConfig::find(config);
  return ours != nullptr && ours->settings().deterministic;
}

bool tenonSetPortable(nvinfer1::IBuilderConfig* config, bool portable) noexcept {
  tenon::BuilderConfig* ours = tenon::BuilderConfig::find(config);
  if (ours != nullptr) ours->set_portable(portable);
  return ours != nullptr;
}

bool tenonIsPortable(const nvinfer1::IBuilderConfig* config) noexcept {
  const tenon::BuilderConfig* ours = tenon::BuilderConfig::find(config);
  return ours != nullptr && ours->settings().portable;
}

bool tenonSetWeightGrowthLimits(nvinfer1::IBuilderConfig* config, size_t layer,
                                size_t plan) noexcept {
  tenon::BuilderConfig* ours = tenon::BuilderConfig::find(config);
  if (ours != nullptr) ours->set_weight_growth({layer, plan});
  return ours != nullptr;
}

size_t tenonWeightGrowthLimit(const nvinfer1::IBuilderConfig* config, bool ofLayer) noexcept {
  const tenon::BuilderConfig* ours = tenon::BuilderConfig::find(config);
  const tenon::WeightGrowth limit =
      ours != nullptr ? ours->settings().weight_growth : tenon::WeightGrowth();
  return ofLayer ? limit.layer : limit.plan;
}

bool tenonSetCalibrationSearch(nvinfer1::IBuilderConfig* config, int32_t search,
                               double share) noexcept {
  tenon::BuilderConfig* ours = tenon::BuilderConfig::find(config);
  return ours != nullptr && ours->set_calibration_search(search, share);
}

nvinfer1::ICudaEngine* tenonOpenPlan(nvinfer1::IRuntime* runtime, const char* path) noexcept {
  tenon::RuntimeView* ours = tenon::RuntimeView::find(runtime);
  return ours != nullptr ? ours->open_plan(path) : nullptr;
}

void tenonSetImportLimit(size_t bytes) noexcept {
  tenon::set_computed_bytes_limit(bytes);
}

size_t tenonImportLimit() noexcept {
  return tenon::limit_or_zero(tenon::computed_bytes_limit);
}

void tenonSetImportNodeLimit(size_t nodes) noexcept {
  tenon::set_node_limit(nodes);
}

size_t tenonImportNodeLimit() noexcept {
  return tenon::limit_or_zero(tenon::node_limit);
}

}  // extern "C"
