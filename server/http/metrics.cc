#include "metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <cmath>
#include <set>
#include <utility>

#include "rest_routes.h"

namespace tenon::server {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using serve::Stage;
using serve::Statistics;

struct Row {
  const char* name;
  const char* help;
  MetricType type;
  double (*value)(const Statistics&);
};

double microseconds(const serve::Histogram& times) {
  return std::round(times.sum() * 1e6);
}

// By Triton's names, which dashboards and routers ask for.
constexpr Row kRows[] = {
    {"nv_inference_request_success", "Requests that were answered with outputs",
     MetricType::Counter, [](const Statistics& all) { return static_cast<double>(all.succeeded); }},
    {"nv_inference_request_failure", "Requests that were answered with an error",
     MetricType::Counter,
     [](const Statistics& all) { return static_cast<double>(all.failures()); }},
    {"nv_inference_count", "Inferences: the items of all batches", MetricType::Counter,
     [](const Statistics& all) { return all.batch.sum(); }},
    {"nv_inference_exec_count", "Batches", MetricType::Counter,
     [](const Statistics& all) { return static_cast<double>(all.batch.count()); }},
    {"nv_inference_pending_request_count", "Requests that wait for a batch", MetricType::Gauge,
     [](const Statistics& all) {
       return static_cast<double>(all.stage(Stage::kPreprocess).waiting
                                  + all.stage(Stage::kInfer).waiting);
     }},
    {"nv_inference_request_duration_us", "From the arrival of requests to their answers",
     MetricType::Counter, [](const Statistics& all) { return microseconds(all.total); }},
    {"nv_inference_queue_duration_us", "What requests waited for a batch", MetricType::Counter,
     [](const Statistics& all) { return microseconds(all.stage(Stage::kInfer).wait); }},
    {"nv_inference_compute_input_duration_us", "What inputs took before batches",
     MetricType::Counter,
     [](const Statistics& all) { return microseconds(all.stage(Stage::kPreprocess).work); }},
    {"nv_inference_compute_infer_duration_us", "What batches took", MetricType::Counter,
     [](const Statistics& all) { return microseconds(all.stage(Stage::kInfer).work); }},
    {"nv_inference_compute_output_duration_us", "What outputs took after batches",
     MetricType::Counter,
     [](const Statistics& all) { return microseconds(all.stage(Stage::kPostprocess).work); }},
};

std::string triton_text(const std::vector<std::pair<ModelMetadata, Statistics>>& models) {
  std::vector<MetricFamily> families;
  for (const Row& row : kRows) {
    MetricFamily& family = families.emplace_back();
    family.name = row.name;
    family.help = row.help;
    family.type = row.type;
    for (const auto& [metadata, statistics] : models) {
      ClientMetric& metric = family.metric.emplace_back();
      metric.label = {{"model", metadata.name}, {"version", metadata.version}};
      (row.type == MetricType::Gauge ? metric.gauge.value : metric.counter.value) =
          row.value(statistics);
    }
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace

RestResponse metrics_response(const Models& models, const RestRequest& request) {
  if (request.method != "GET" || request.target != "/metrics")
    return error_response(404, "there is GET /metrics here");
  std::set<std::string> names;
  for (const ModelStatus& model : models.index()) names.insert(model.name);
  std::vector<std::pair<ModelMetadata, Statistics>> all;
  std::vector<Statistics> statistics;
  for (const std::string& name : names)
    for (const std::string& version : models.versions(name)) {
      const auto found = models.find(name, version);
      if (const auto* const model = std::get_if<std::shared_ptr<Model>>(&found)) {
        all.emplace_back((*model)->metadata(), (*model)->statistics());
        statistics.push_back(all.back().second);
      }
    }
  RestResponse response;
  response.content_type = "text/plain; version=0.0.4";
  response.text = serve::prometheus_text(statistics) + triton_text(all);
  return response;
}

}  // namespace tenon::server
