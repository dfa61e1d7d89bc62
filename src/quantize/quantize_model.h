// From an ONNX model and ranges of its tensors to a model that is quantized explicitly.
#pragma once

#include <set>
#include <span>
#include <string>

#include "base/log.h"
#include "calibration/placement.h"
#include "quantize/channel_values.h"

namespace tenon {

struct QuantizeModelOptions {
  /// Where the model came from, for messages and as the folder of external data; "" when unknown.
  std::string model_path;
  Log log;
  /// Nodes that stay as they are, by name. The metadata "tenon.kept_float" of the result lists
  /// them.
  std::set<std::string> kept_float;
  /// Mean values of what convolutions and Gemm nodes read: biases are corrected by mean_errors().
  ChannelValues channel_means;
  /// Or kFP8 (e4m3), of what convolutions and products read alone, and without such means.
  DataType type = DataType::kINT8;
};

/// The model with QuantizeLinear and DequantizeLinear nodes where place_quantization() has int8 on
/// the target, all symmetric int8, or fp8, with a zero point of 0, as TensorRT wants it. Weights in
/// files of their own come into the model. Throws Error for a model that cannot be imported or is
/// of an opset below 10, in which nothing can be int8, or below 19 for fp8, for names of nodes that
/// it does not have, for weights of NaN or infinity, and for a result above 2 GiB.
std::string quantize_model(std::span<const std::byte> model, const Scales& scales,
                           const Target& target, const QuantizeModelOptions& options);

}  // namespace tenon
