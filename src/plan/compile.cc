#include "plan/compile.h"

#include "plan/bindings.h"
#include "plan/emit.h"
#include "plan/measure_memory.h"

namespace tenon {
namespace {

constexpr const char* kKernelPhase = "Choosing kernels";

void emit_all(Draft& draft) {
  const auto& layers = draft.schedule.layers();
  BuildProgress* progress = draft.options.progress;
  if (progress != nullptr)
    progress->begin(kKernelPhase, kBuildPhase, static_cast<int>(layers.size()));
  for (size_t i = 0; i < layers.size(); ++i) {
    draft.position = static_cast<int32_t>(i);
    emit(draft, *layers[i]);
    if (draft.network.debugs_unfused) emit_unfused(draft, *layers[i]);
    if (progress != nullptr && !progress->step(kKernelPhase, draft.position))
      fail(ErrorCode::kUNSPECIFIED_ERROR, "the build was cancelled");
  }
  if (progress != nullptr) progress->end(kKernelPhase);
}

}  // namespace

Plan compile(Network& network, const Target& target, const BuildOptions& options) {
  require(!network.outputs().empty(), "the network has no outputs: mark at least one");
  const Schedule schedule(network);
  Draft draft(network, schedule, target, options);
  bind_inputs(draft);
  bind_profiles(draft);
  emit_all(draft);
  bind_outputs(draft);
  if (!options.is_body) measure_memory(draft);
  return std::move(draft.plan);
}

}  // namespace tenon
