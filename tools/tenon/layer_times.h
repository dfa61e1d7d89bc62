// What each layer of an engine takes, over several runs.
#pragma once

#include <NvInfer.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "logger.h"

namespace tenon::tool {

struct LayerTimes {
  std::string name;
  std::vector<float> ms;  // of each run

  double sum() const { return std::accumulate(ms.begin(), ms.end(), 0.0); }
  double median() const {
    std::vector<float> sorted = ms;
    std::sort(sorted.begin(), sorted.end());
    return static_cast<double>(sorted[sorted.size() / 2]);
  }
};

/// Collects them, in the engine's order of layers.
class LayerProfiler final : public nvinfer1::IProfiler {
 public:
  void reportLayerTime(const char* name, float ms) noexcept override {
    if (next_ == rows_.size()) rows_.push_back({name, {}});
    rows_[next_].ms.push_back(ms);
    ++next_;
  }
  void next_run() { next_ = 0; }
  const std::vector<LayerTimes>& rows() const { return rows_; }
  size_t runs() const { return rows_.empty() ? 0 : rows_[0].ms.size(); }
  /// The run whose sum is the median; 0 where there is none.
  size_t median_run() const;

 private:
  std::vector<LayerTimes> rows_;
  size_t next_ = 0;
};

/// --dumpProfile: a table of all runs.
void print_layer_times(const LayerProfiler& profiler, Logger& logger);
/// --layers: what the engine inspector tells of each layer. Throws Failure for an engine that was
/// built without details.
nlohmann::ordered_json layer_details(nvinfer1::IExecutionContext& context, Logger& logger);
/// --layers: their kernels and the errors that the build measured, too.
void print_kernels(const LayerProfiler& profiler, const nlohmann::ordered_json& layers,
                   Logger& logger);
/// --exportProfile: the times as JSON.
void export_layer_times(const LayerProfiler& profiler, const std::string& path);

}  // namespace tenon::tool
