// Layers of a quantized model that go back to float until its outputs hold a bound.
#pragma once

#include <NvInfer.h>

#include <functional>
#include <memory>
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

/// The nodes that must stay in float for the bound to hold, with progress on standard error. One
/// run of the float model and one of what each quantized layer makes of that model's tensors rank
/// the layers by what they add to the error; find_fallback() then builds few models. The samples
/// and the float model's outputs are held in memory. Throws Failure for data that does not fit.
std::vector<std::string> nodes_to_keep_float(const std::string& float_model,
                                             const QuantizeWith& quantize, const LossBound& bound,
                                             const BuildOptions& options, Logger& logger);

}  // namespace tenon::tool
