#include "inference_statistics.h"

#include <cmath>

namespace tenon::server {

InferenceStatistics inference_statistics(const Model& model) {
  using serve::Stage;
  const serve::Statistics statistics = model.statistics();
  const CacheStatistics cache = model.cache_statistics().value_or(CacheStatistics());
  const auto duration = [](const serve::Histogram& times) {
    return InferenceStatistics::Duration{times.count(), times.sum()};
  };
  const serve::StageStatistics& input = statistics.stage(Stage::kPreprocess);
  const serve::StageStatistics& infer = statistics.stage(Stage::kInfer);
  return {.inferences = static_cast<uint64_t>(std::llround(statistics.batch.sum())),
          .executions = statistics.batch.count(),
          .pending = input.waiting + infer.waiting,
          .success = {statistics.succeeded, statistics.total.sum() + cache.hit_seconds},
          .failure = {statistics.failures(), 0},
          .queue = duration(infer.wait),
          .compute_input = duration(input.work),
          .compute_infer = duration(infer.work),
          .compute_output = duration(statistics.stage(Stage::kPostprocess).work),
          .cache_hit = {cache.hits, cache.hit_seconds},
          .cache_miss = {cache.misses, cache.miss_seconds}};
}

serve::Failure pipeline_failure(Failure failure) {
  switch (failure) {
    case Failure::kFull:
      return serve::Failure::kRefused;
    case Failure::kExpired:
      return serve::Failure::kExpired;
    case Failure::kCancelled:
      return serve::Failure::kCancelled;
    case Failure::kUnavailable:
    case Failure::kNotFound:
      return serve::Failure::kStopped;
    case Failure::kInvalid:
    case Failure::kInternal:
      break;
  }
  return serve::Failure::kStage;
}

}  // namespace tenon::server
