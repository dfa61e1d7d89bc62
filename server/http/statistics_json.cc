#include "statistics_json.h"

#include <cmath>

#include "model/inference_statistics.h"

namespace tenon::server {
namespace {

nlohmann::ordered_json duration(const InferenceStatistics::Duration& all) {
  return {{"count", all.count}, {"ns", static_cast<uint64_t>(std::llround(all.seconds * 1e9))}};
}

}  // namespace

nlohmann::ordered_json statistics_json(const Model& model) {
  const InferenceStatistics all = inference_statistics(model);
  return {{"name", model.metadata().name},
          {"version", model.metadata().version},
          {"inference_count", all.inferences},
          {"execution_count", all.executions},
          {"inference_stats",
           {{"success", duration(all.success)},
            {"fail", duration(all.failure)},
            {"queue", duration(all.queue)},
            {"compute_input", duration(all.compute_input)},
            {"compute_infer", duration(all.compute_infer)},
            {"compute_output", duration(all.compute_output)},
            {"cache_hit", duration(all.cache_hit)},
            {"cache_miss", duration(all.cache_miss)}}}};
}

}  // namespace tenon::server
