#include "api/calibration.h"

#include <vector>

namespace tenon {

void call_calibrator(nvinfer1::IInt8Calibrator& calibrator, const Network& network,
                     const Log& log) {
  size_t cached = 0;
  int64_t batches = 0;
  const bool has_cache = calibrator.readCalibrationCache(cached) != nullptr;
  if (!has_cache && calibrator.getBatchSize() > 0) {
    std::vector<const char*> names;
    for (const Value* input : network.inputs()) names.push_back(input->name.c_str());
    std::vector<void*> bindings(names.size());
    while (calibrator.getBatch(bindings.data(), names.data(), static_cast<int32_t>(names.size())))
      ++batches;
  }
  log.warning(
      "the INT8 calibrator gave {}, which are not used: calibration is not supported yet, and "
      "only layers between Quantize and Dequantize layers run in int8",
      has_cache ? fmt::format("a cache of {} bytes", cached) : fmt::format("{} batches", batches));
}

}  // namespace tenon
