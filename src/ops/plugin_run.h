// Runs the plugin of a plugin layer on the host, in TensorRT's order of calls.
#pragma once

#include <memory>
#include <span>

#include "ops/plugin.h"

namespace tenon {

using nvinfer1::PluginTensorDesc;

/// What was settled while building and is kept in a plan.
struct PluginChoice {
  int32_t tactic = 0;          // version 3
  size_t workspace_bytes = 0;  // version 3: as the build capability said
};

/// Asks the plugin whether it takes these types and formats and tells it that they were chosen.
/// Descriptions are those of the data inputs and shape inputs, in order.
/// @throws Error naming the first tensor that was refused.
PluginChoice negotiate_plugin(const PluginLayer& layer, std::span<const PluginTensorDesc> inputs,
                              std::span<const PluginTensorDesc> outputs);

/// A plugin made ready for certain shapes, for one execution context.
class PluginRun {
 public:
  virtual ~PluginRun() = default;
  /// Bytes wanted at `workspace`.
  virtual size_t workspace_bytes() const = 0;
  /// Runs it with host pointers. Allocates nothing; throws Error when the plugin fails.
  virtual void run(std::span<const void* const> inputs, std::span<void* const> outputs,
                   void* workspace, cudaStream_t stream) = 0;
};

std::unique_ptr<PluginRun> prepare_plugin(const PluginLayer& layer,
                                          std::span<const PluginTensorDesc> inputs,
                                          std::span<const PluginTensorDesc> outputs,
                                          const PluginChoice& choice);

}  // namespace tenon
