#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "tenon/serve/statistics.h"

namespace tenon::serve {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

class Families {
 public:
  /// What is added from now on is this pipeline's.
  void set_pipeline(const Statistics& statistics) {
    model_ = {{"model", statistics.model}};
    if (!statistics.version.empty()) model_.push_back({"version", statistics.version});
  }

  ClientMetric& add(const char* name, const char* help, MetricType type, Labels labels = {}) {
    auto family = std::ranges::find(families_, name, &MetricFamily::name);
    if (family == families_.end())
      family = families_.insert(families_.end(), {name, help, type, {}});
    ClientMetric& metric = family->metric.emplace_back();
    metric.label = std::move(labels);
    metric.label.insert(metric.label.begin(), model_.begin(), model_.end());
    return metric;
  }
  void counter(const char* name, const char* help, uint64_t value, Labels labels = {}) {
    add(name, help, MetricType::Counter, std::move(labels)).counter.value =
        static_cast<double>(value);
  }
  void gauge(const char* name, const char* help, size_t value, Labels labels = {}) {
    add(name, help, MetricType::Gauge, std::move(labels)).gauge.value = static_cast<double>(value);
  }
  void histogram(const char* name, const char* help, const Histogram& values, Labels labels = {}) {
    auto& to = add(name, help, MetricType::Histogram, std::move(labels)).histogram;
    to.sample_count = values.count();
    to.sample_sum = values.sum();
    uint64_t seen = 0;
    for (int bucket = 0; bucket < Histogram::kBuckets; ++bucket) {
      seen += values.in_bucket(bucket);
      const bool is_last = bucket + 1 == Histogram::kBuckets;
      to.bucket.push_back(
          {seen, is_last ? std::numeric_limits<double>::infinity() : values.bound(bucket)});
    }
  }

  std::string text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  Labels model_;
  std::vector<MetricFamily> families_;
};

// A family has a metric for each stage.
void add_stages(Families& families, const Statistics& statistics) {
  const auto each_stage = [&](const char* name, const char* help, auto add, auto member) {
    for (int i = 1; i < kStages; ++i)
      (families.*add)(name, help, statistics.stages[static_cast<size_t>(i)].*member,
                      Labels{{"stage", name_of(static_cast<Stage>(i))}});
  };
  using S = StageStatistics;
  each_stage("tenon_stage_waiting", "Jobs in front of the stage", &Families::gauge, &S::waiting);
  each_stage("tenon_stage_working", "Jobs that the stage works on", &Families::gauge, &S::working);
  each_stage("tenon_stage_failed_total", "Jobs that the stage failed", &Families::counter,
             &S::failed);
  each_stage("tenon_stage_wait_seconds", "Time of jobs before the stage", &Families::histogram,
             &S::wait);
  each_stage("tenon_stage_work_seconds", "Time of jobs or batches in the stage",
             &Families::histogram, &S::work);
}

void add_pipeline(Families& families, const Statistics& statistics) {
  families.set_pipeline(statistics);
  families.counter("tenon_jobs_committed_total", "Jobs that were committed", statistics.committed);
  families.counter("tenon_jobs_answered_total", "Jobs that were answered", statistics.succeeded,
                   {{"result", "succeeded"}});
  for (int i = 0; i < kFailures; ++i)
    families.counter("tenon_jobs_answered_total", "Jobs that were answered",
                     statistics.failed[static_cast<size_t>(i)],
                     {{"result", name_of(static_cast<Failure>(i))}});
  families.gauge("tenon_jobs", "Jobs in the pipeline", statistics.jobs);
  families.gauge("tenon_job_bytes", "Bytes of the jobs in the pipeline", statistics.bytes);
  families.gauge("tenon_instances", "Instances that run", statistics.instances);
  families.counter("tenon_batches_split_total", "Batches that failed and were run job by job",
                   statistics.split_batches);
  families.histogram("tenon_batch_cost", "Cost of each batch", statistics.batch);
  families.histogram("tenon_job_seconds", "From the commit to the answer", statistics.total);
  add_stages(families, statistics);
}

}  // namespace

std::string prometheus_text(std::span<const Statistics> pipelines) {
  Families families;
  for (const Statistics& statistics : pipelines) add_pipeline(families, statistics);
  return families.text();
}

}  // namespace tenon::serve
