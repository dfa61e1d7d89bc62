// <tenon/quantize.h>.
#include <tenon/quantize.h>

#include "api/guard.h"
#include "api/host_memory.h"
#include "backend/targets.h"
#include "base/file.h"
#include "calibration/calibration_cache.h"
#include "quantize/quantize_model.h"

namespace tenon {
namespace {

Scales scales_of(std::string_view text) {
  Scales scales;
  for (auto& [name, scale] : read_calibration_cache(text).scales)
    scales.emplace(std::move(name), scale);
  return scales;
}

}  // namespace
}  // namespace tenon

nvinfer1::IHostMemory* tenonQuantizeModel(nvinfer1::ILogger* logger, const char* path,
                                          const void* cache, size_t cacheSize,
                                          const char* const* keptFloat,
                                          int32_t nbKeptFloat) noexcept {
  using namespace tenon;  // NOLINT: in this function alone
  const Reporter reporter(logger);
  return reporter.guard<nvinfer1::IHostMemory*>(nullptr, [&] {
    require(path != nullptr && (cache != nullptr || cacheSize == 0)
                && (keptFloat != nullptr || nbKeptFloat == 0),
            "the path, the cache or the names of nodes are null");
    QuantizeModelOptions options{path, reporter.log(), {}};
    for (int32_t i = 0; i < nbKeptFloat; ++i) options.kept_float.insert(keptFloat[i]);
    const auto file = MappedFile::open(path);
    // The CPU computes all in integers that other engines do.
    const std::string model =
        quantize_model(file->bytes(), scales_of({static_cast<const char*>(cache), cacheSize}),
                       target_named("cpu"), options);
    const auto* bytes = reinterpret_cast<const std::byte*>(model.data());
    return new HostMemory({bytes, bytes + model.size()});
  });
}
