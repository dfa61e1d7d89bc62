// Layers of a quantized model that go back to float until its outputs hold a bound.
#pragma once

#include <NvInfer.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "loss.h"
#include "model.h"

namespace tenon::tool {

/// How much a quantized model may lose.
struct LossBound {
  LossMetric metric = LossMetric::kRelative;
  double largest = 0;
  std::string data;  // samples that it is measured on, as --calibData has them
};

/// Makes the quantized model in which these nodes stay in float; null when they are all that could
/// be in int8. Throws Failure.
using QuantizeWith =
    std::function<std::unique_ptr<nvinfer1::IHostMemory>(const std::vector<std::string>& kept)>;

/// The nodes that must stay in float for the bound to hold, with progress on standard error. Each
/// quantized node is first built and run alone in int8, on a few samples, and ranked by what it
/// then costs the outputs; find_fallback() goes on from there. The float model's outputs are held
/// in memory, and one file of samples. Throws Failure for data that does not fit, and where no node
/// can be in int8.
std::vector<std::string> nodes_to_keep_float(std::span<const std::byte> float_model,
                                             const QuantizeWith& quantize, const LossBound& bound,
                                             const BuildOptions& options, Logger& logger);

}  // namespace tenon::tool
