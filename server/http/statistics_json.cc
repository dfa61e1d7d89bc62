#include "statistics_json.h"

#include <cmath>

#include "json_infer.h"
#include "model/inference_statistics.h"

namespace tenon::server {
namespace {

std::string duration(const char* name, const InferenceStatistics::Duration& all) {
  return "\"" + std::string(name) + R"(":{"count":)" + std::to_string(all.count) + R"(,"ns":)"
         + std::to_string(static_cast<uint64_t>(std::llround(all.seconds * 1e9))) + "}";
}

}  // namespace

std::string statistics_json(const Model& model) {
  const InferenceStatistics all = inference_statistics(model);
  return R"({"name":)" + json_string(model.metadata().name) + R"(,"version":)"
         + json_string(model.metadata().version) + R"(,"inference_count":)"
         + std::to_string(all.inferences) + R"(,"execution_count":)"
         + std::to_string(all.executions) + R"(,"inference_stats":{)"
         + duration("success", all.success) + "," + duration("fail", all.failure) + ","
         + duration("queue", all.queue) + "," + duration("compute_input", all.compute_input) + ","
         + duration("compute_infer", all.compute_infer) + ","
         + duration("compute_output", all.compute_output) + ","
         + duration("cache_hit", all.cache_hit) + "," + duration("cache_miss", all.cache_miss)
         + "}}";
}

}  // namespace tenon::server
