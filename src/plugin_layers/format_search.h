// The formats in which a plugin takes tensors of given types.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "plugin_layers/plugin.h"

namespace tenon {

/// The plugin is asked as TensorRT does: for each tensor in turn, with those before it settled,
/// linear tensors before others. The layer outlives the search.
class FormatSearch {
 public:
  /// Tensors as the plugin sees them, without shape inputs; their formats say nothing.
  FormatSearch(const PluginLayer& layer, std::span<const PluginTensor> inputs,
               std::span<const PluginTensor> outputs);

  /// Whether there is a combination that the plugin takes.
  /// @throws Error when it is asked too often.
  bool find() { return settle(0); }
  /// What find() has found, of inputs and outputs in order.
  std::vector<nvinfer1::TensorFormat> formats() const;
  /// Says why find() has found nothing, by the first tensor for which no format is left.
  /// @throws Error always
  [[noreturn]] void refuse();

 private:
  int32_t count() const { return static_cast<int32_t>(all_.size()); }
  bool settle(int32_t position);
  // Why a tensor cannot be in a format; nothing where it can.
  std::string refusal(int32_t position, nvinfer1::TensorFormat format) const;
  bool takes(int32_t position, nvinfer1::TensorFormat format);
  std::string types(int32_t first, int32_t end) const;

  const PluginLayer& layer_;
  int32_t inputs_;
  std::vector<PluginTensor> all_;
  const PluginV2Layer* v2_;
  nvinfer1::IPluginV3OneBuild* v3_;
  bool has_batch_;
  int questions_ = 0;
  int32_t furthest_ = -1;                      // the last tensor that had no format
  std::vector<PluginTensor> before_furthest_;  // all tensors, as they were settled then
};

}  // namespace tenon
