#include "metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <cmath>
#include <span>
#include <utility>

#include "model/inference_statistics.h"
#include "rest_routes.h"

namespace tenon::server {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using serve::Statistics;

using Counts = InferenceStatistics;

struct Row {
  const char* name;
  const char* help;
  MetricType type;
  double (*value)(const Counts&);
};

double microseconds(const Counts::Duration& all) {
  return std::round(all.seconds * 1e6);
}

double number(uint64_t count) {
  return static_cast<double>(count);
}

// By Triton's names, which dashboards and routers ask for.
constexpr Row kRows[] = {
    {"nv_inference_request_success", "Requests that were answered with outputs",
     MetricType::Counter, [](const Counts& all) { return number(all.success.count); }},
    {"nv_inference_request_failure", "Requests that were answered with an error",
     MetricType::Counter, [](const Counts& all) { return number(all.failure.count); }},
    {"nv_inference_count", "Inferences: the items of all batches", MetricType::Counter,
     [](const Counts& all) { return number(all.inferences); }},
    {"nv_inference_exec_count", "Batches", MetricType::Counter,
     [](const Counts& all) { return number(all.executions); }},
    {"nv_inference_pending_request_count", "Requests that wait for a batch", MetricType::Gauge,
     [](const Counts& all) { return number(all.pending); }},
    {"nv_inference_request_duration_us", "From the arrival of requests to their answers",
     MetricType::Counter, [](const Counts& all) { return microseconds(all.success); }},
    {"nv_inference_queue_duration_us", "What requests waited for a batch", MetricType::Counter,
     [](const Counts& all) { return microseconds(all.queue); }},
    {"nv_inference_compute_input_duration_us", "What inputs took before batches",
     MetricType::Counter, [](const Counts& all) { return microseconds(all.compute_input); }},
    {"nv_inference_compute_infer_duration_us", "What batches took", MetricType::Counter,
     [](const Counts& all) { return microseconds(all.compute_infer); }},
    {"nv_inference_compute_output_duration_us", "What outputs took after batches",
     MetricType::Counter, [](const Counts& all) { return microseconds(all.compute_output); }},
};

// Of models whose responses are cached.
constexpr Row kCacheRows[] = {
    {"nv_cache_num_hits_per_model", "Requests whose response was in the cache", MetricType::Counter,
     [](const Counts& all) { return number(all.cache_hit.count); }},
    {"nv_cache_num_misses_per_model", "Requests whose response was not in the cache",
     MetricType::Counter, [](const Counts& all) { return number(all.cache_miss.count); }},
    {"nv_cache_hit_duration_per_model", "What finding responses took, in microseconds",
     MetricType::Counter, [](const Counts& all) { return microseconds(all.cache_hit); }},
    {"nv_cache_miss_duration_per_model",
     "What not finding responses and keeping them took, in microseconds", MetricType::Counter,
     [](const Counts& all) { return microseconds(all.cache_miss); }},
};

std::string triton_text(const std::vector<std::shared_ptr<Model>>& models,
                        std::span<const Row> rows) {
  std::vector<MetricFamily> families;
  for (const Row& row : rows) {
    MetricFamily& family = families.emplace_back();
    family.name = row.name;
    family.help = row.help;
    family.type = row.type;
    for (const auto& model : models) {
      const ModelMetadata& metadata = model->metadata();
      ClientMetric& metric = family.metric.emplace_back();
      metric.label = {{"model", metadata.name}, {"version", metadata.version}};
      (row.type == MetricType::Gauge ? metric.gauge.value : metric.counter.value) =
          row.value(inference_statistics(*model));
    }
  }
  return prometheus::TextSerializer().Serialize(families);
}

// What is in the repository, also what could not be loaded.
std::string state_text(const Models& models) {
  MetricFamily family;
  family.name = "tenon_model_state";
  family.help = "1, with the state of the version of a model as a label";
  family.type = MetricType::Gauge;
  for (const ModelStatus& status : models.index()) {
    ClientMetric& metric = family.metric.emplace_back();
    metric.label = {
        {"model", status.name}, {"version", status.version}, {"state", name_of(status.state)}};
    metric.gauge.value = 1;
  }
  return prometheus::TextSerializer().Serialize({family});
}

}  // namespace

RestResponse metrics_response(const Models& models, const RestRequest& request) {
  if (request.method != "GET" || request.target != "/metrics")
    return error_response(404, "there is GET /metrics here");
  const auto loaded = loaded_models(models);
  std::vector<Statistics> statistics;
  for (const auto& model : loaded) statistics.push_back(model->statistics());
  RestResponse response;
  response.content_type = "text/plain; version=0.0.4";
  response.text =
      state_text(models) + serve::prometheus_text(statistics) + triton_text(loaded, kRows);
  auto cached = loaded;
  std::erase_if(cached, [](const auto& model) { return !model->cache_statistics(); });
  if (!cached.empty()) response.text += triton_text(cached, kCacheRows);
  return response;
}

}  // namespace tenon::server
