#include "statistics_json.h"

#include <cmath>

#include "json_infer.h"

namespace tenon::server {
namespace {

std::string duration(const char* name, uint64_t count, double seconds) {
  return "\"" + std::string(name) + R"(":{"count":)" + std::to_string(count) + R"(,"ns":)"
         + std::to_string(static_cast<uint64_t>(std::llround(seconds * 1e9))) + "}";
}

std::string duration(const char* name, const serve::Histogram& times) {
  return duration(name, times.count(), times.sum());
}

}  // namespace

std::string statistics_json(const Model& model) {
  using serve::Stage;
  const serve::Statistics all = model.statistics();
  const auto& run = all.stage(Stage::kInfer);
  const auto inferences = static_cast<uint64_t>(std::llround(all.batch.sum()));
  return R"({"name":)" + json_string(model.metadata().name) + R"(,"version":)"
         + json_string(model.metadata().version) + R"(,"inference_count":)"
         + std::to_string(inferences) + R"(,"execution_count":)" + std::to_string(all.batch.count())
         + R"(,"inference_stats":{)" + duration("success", all.succeeded, all.total.sum()) + ","
         + duration("fail", all.failures(), 0) + "," + duration("queue", run.wait) + ","
         + duration("compute_input", all.stage(Stage::kPreprocess).work) + ","
         + duration("compute_infer", run.work) + ","
         + duration("compute_output", all.stage(Stage::kPostprocess).work) + "}}";
}

}  // namespace tenon::server
