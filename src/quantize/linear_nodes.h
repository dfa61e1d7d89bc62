// QuantizeLinear and DequantizeLinear nodes put into an ONNX model.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "onnx_model/tensors.h"
#include "quantize/channel_values.h"

namespace tenon {

/// Where an ONNX model is quantized, by its names.
struct LinearPlacement {
  DataType type = DataType::kINT8;  ///< or kFP8, of products alone
  /// Real numbers per step of a symmetric int8, of activations.
  std::map<std::string, float> scales;
  /// Which nodes read an activation quantized: pairs of it and the node's first output, or of it
  /// and the node's weights.
  std::set<std::pair<std::string, std::string>> reads;
  /// Nodes that are left as they are, by name.
  std::set<std::string> kept_float;
  /// Of activations: biases of nodes that read them are corrected by mean_errors().
  ChannelValues channel_means;
};

/// How many nodes with weights there are, and how many of them are quantized.
struct LinearCounts {
  int quantized = 0, products = 0;
};

/// Puts one QuantizeLinear and one DequantizeLinear behind each activation, in front of the nodes
/// that read it quantized. Weights of these, of float32, become int8 and a DequantizeLinear:
/// symmetric, with scale max|w| / 127 for each output channel, or below opset 13, which has no
/// scales of an axis, for all; or fp8 (e4m3) with max|w| / 448. Biases stay float32, and are
/// corrected where means are known. Throws Error below opset 10, and for fp8 below 19.
LinearCounts add_linear_nodes(onnx::ModelProto& model, const LinearPlacement& placement,
                              TensorSource& source);

}  // namespace tenon
