#include "inference_statistics.h"

#include <cmath>

namespace tenon::server {

InferenceStatistics inference_statistics(const serve::Statistics& statistics) {
  using serve::Stage;
  const auto duration = [](const serve::Histogram& times) {
    return InferenceStatistics::Duration{times.count(), times.sum()};
  };
  const serve::StageStatistics& input = statistics.stage(Stage::kPreprocess);
  const serve::StageStatistics& infer = statistics.stage(Stage::kInfer);
  return {.inferences = static_cast<uint64_t>(std::llround(statistics.batch.sum())),
          .executions = statistics.batch.count(),
          .pending = input.waiting + infer.waiting,
          .success = {statistics.succeeded, statistics.total.sum()},
          .failure = {statistics.failures(), 0},
          .queue = duration(infer.wait),
          .compute_input = duration(input.work),
          .compute_infer = duration(infer.work),
          .compute_output = duration(statistics.stage(Stage::kPostprocess).work)};
}

}  // namespace tenon::server
