// --weightStreamingBudget: how much of an engine's weights lies on the GPU.
#pragma once

#include <NvInferRuntime.h>

#include <cstdint>
#include <optional>
#include <string>

#include "logger.h"

namespace tenon::tool {

/// Bytes of "64M": a number with B, K, M or G, or of `unit` bytes without. None for other text, and
/// beyond 2^63.
std::optional<int64_t> bytes_of(const std::string& amount, int64_t unit);

/// @param budget bytes as above, "50%" of those that can be streamed, "-1" for what is free, or
/// "-2" for all. Throws Failure for another text, or where the engine refuses.
void set_weight_budget(nvinfer1::ICudaEngine& engine, const std::string& budget, Logger& logger);

}  // namespace tenon::tool
