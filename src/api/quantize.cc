// <tenon/quantize.h>.
#include <tenon/quantize.h>

#include <cmath>

#include "api/guard.h"
#include "api/host_memory.h"
#include "backend/targets.h"
#include "calibration/calibration_cache.h"
#include "quantize/prepare_model.h"
#include "quantize/quantize_model.h"

namespace tenon {
namespace {

Scales scales_of(std::string_view text) {
  Scales scales;
  for (auto& [name, scale] : read_calibration_cache(text).scales)
    scales.emplace(std::move(name), scale);
  return scales;
}

std::span<const std::byte> bytes_of(const void* data, size_t size) {
  require(data != nullptr || size == 0, "the model or cache is null");
  return {static_cast<const std::byte*>(data), size};
}

ChannelValues values_of(const ChannelNumbers* numbers, int32_t count) {
  require(numbers != nullptr || count == 0, "the numbers of channels are null");
  ChannelValues values;
  for (int32_t i = 0; i < count; ++i) {
    const ChannelNumbers& n = numbers[i];
    require(n.tensor != nullptr && n.count >= 0 && (n.values != nullptr || n.count == 0),
            "numbers {} of channels have no tensor or no values", i);
    for (int64_t k = 0; k < n.count; ++k)
      require(std::isfinite(n.values[k]), "channel {} of tensor '{}' is NaN or infinity", k,
              n.tensor);
    values[n.tensor].assign(n.values, n.values + n.count);
  }
  return values;
}

HostMemory* memory_of(const std::string& model) {
  const auto bytes = bytes_of(model.data(), model.size());
  return new HostMemory({bytes.begin(), bytes.end()});
}

}  // namespace
}  // namespace tenon

nvinfer1::IHostMemory* tenonPrepareModel(nvinfer1::ILogger* logger, const char* path,
                                         bool equalizes, nvinfer1::DataType type) noexcept {
  using namespace tenon;  // NOLINT: in this function alone
  const Reporter reporter(logger);
  return reporter.guard<nvinfer1::IHostMemory*>(nullptr, [&] {
    require(path != nullptr, "the path is null");
    return memory_of(prepare_model(path, {reporter.log(), equalizes, type}));
  });
}

nvinfer1::IHostMemory* tenonSmoothModel(nvinfer1::ILogger* logger, const void* model,
                                        size_t modelSize, const tenon::ChannelNumbers* largest,
                                        int32_t nbLargest, float alpha) noexcept {
  using namespace tenon;  // NOLINT: in this function alone
  const Reporter reporter(logger);
  return reporter.guard<nvinfer1::IHostMemory*>(nullptr, [&] {
    return memory_of(smooth_model(bytes_of(model, modelSize), values_of(largest, nbLargest), alpha,
                                  reporter.log()));
  });
}

nvinfer1::IHostMemory* tenonQuantizeModel(nvinfer1::ILogger* logger, const void* model,
                                          size_t modelSize, const void* cache, size_t cacheSize,
                                          const char* const* keptFloat, int32_t nbKeptFloat,
                                          const tenon::ChannelNumbers* means, int32_t nbMeans,
                                          nvinfer1::DataType type) noexcept {
  using namespace tenon;  // NOLINT: in this function alone
  const Reporter reporter(logger);
  return reporter.guard<nvinfer1::IHostMemory*>(nullptr, [&] {
    require(keptFloat != nullptr || nbKeptFloat == 0, "the names of nodes are null");
    QuantizeModelOptions options{"", reporter.log(), {}, values_of(means, nbMeans), type};
    for (int32_t i = 0; i < nbKeptFloat; ++i) options.kept_float.insert(keptFloat[i]);
    const auto text = bytes_of(cache, cacheSize);
    // The CPU computes all in integers that other engines do.
    return memory_of(
        quantize_model(bytes_of(model, modelSize),
                       scales_of({reinterpret_cast<const char*>(text.data()), text.size()}),
                       target_named("cpu"), options));
  });
}
