#include "plan/compile.h"

#include "plan/bindings.h"
#include "plan/emit.h"
#include "plan/measure_memory.h"

namespace tenon {
namespace {

constexpr const char* kKernelPhase = "Choosing kernels";

void emit_all(PlanBuilder& builder) {
  const auto& layers = builder.schedule.layers();
  BuildProgress* progress = builder.options.progress;
  if (progress != nullptr)
    progress->begin(kKernelPhase, kBuildPhase, static_cast<int>(layers.size()));
  for (size_t i = 0; i < layers.size(); ++i) {
    builder.position = static_cast<int32_t>(i);
    emit(builder, *layers[i]);
    if (builder.network.debugs_unfused) emit_unfused(builder, *layers[i]);
    if (progress != nullptr && !progress->step(kKernelPhase, builder.position))
      fail(ErrorCode::kUNSPECIFIED_ERROR, "the build was cancelled");
  }
  if (progress != nullptr) progress->end(kKernelPhase);
}

}  // namespace

Plan compile(Network& network, const Target& target, const BuildOptions& options) {
  require(!network.outputs().empty(), "the network has no outputs: mark at least one");
  const Schedule schedule(network);
  PlanBuilder builder(network, schedule, target, options);
  bind_inputs(builder);
  bind_profiles(builder);
  emit_all(builder);
  bind_outputs(builder);
  if (!options.is_body) measure_memory(builder);
  return std::move(builder.plan);
}

}  // namespace tenon
