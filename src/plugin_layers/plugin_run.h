// Runs the plugin of a plugin layer, in TensorRT's order of calls.
#pragma once

#include <memory>
#include <span>

#include "base/stream.h"
#include "plugin_layers/plugin.h"

namespace tenon {

using nvinfer1::PluginTensorDesc;

/// What was settled while building. A plan keeps the tactic and the workspace.
struct PluginChoice {
  std::vector<nvinfer1::TensorFormat> formats;  // of inputs and outputs, in order
  int32_t tactic = 0;                           // version 3; 0 for "no tactics of its own"
  size_t workspace_bytes = 0;                   // version 3: as the build capability said
  std::vector<int32_t> others;                  // version 3: tactics that may be faster
  std::optional<std::string> timing_id;  // version 3: what names timings, nothing for "keep none"
};

/// Whether the plugin takes tensors of these types in some formats; extents may be -1. Otherwise as
/// below.
bool plugin_takes(const PluginLayer& layer, std::span<const PluginTensor> inputs,
                  std::span<const PluginTensor> outputs);

/// Asks the plugin in which formats it takes these types, and tells it that they were chosen: the
/// first combination that it takes, with linear tensors before others and all formats that the rank
/// of a tensor can have. Descriptions are those of the data inputs and shape inputs, in order;
/// their formats say nothing.
/// @throws Error naming the tensor that was refused.
PluginChoice negotiate_plugin(const PluginLayer& layer, std::span<const PluginTensor> inputs,
                              std::span<const PluginTensor> outputs);

/// Where the pointers lie that a plugin is given. On the host it runs by its CPU kernel, if it has
/// one; on a device always by enqueue().
enum class PluginMemory : uint8_t { kHost, kDevice };

/// Whether the plugin has a kernel for the CPU alone, and says so (tenonSetCpuOnly). Others are
/// taken to work where the target does.
bool is_for_the_host_alone(const PluginLayer& layer);

/// A plugin made ready for certain shapes, for one execution context.
class PluginRun {
 public:
  virtual ~PluginRun() = default;
  /// Bytes wanted at `workspace`.
  virtual size_t workspace_bytes() const = 0;
  /// Runs it; outputs of unknown extents have room for what bounds them.
  /// Allocates nothing; throws Error when the plugin fails.
  virtual void run(std::span<const void* const> inputs, std::span<void* const> outputs,
                   void* workspace, Stream* stream) = 0;
};

/// @param inputs with the formats that were chosen, as `outputs`.
std::unique_ptr<PluginRun> prepare_plugin(const PluginLayer& layer,
                                          std::span<const PluginTensor> inputs,
                                          std::span<const PluginTensor> outputs,
                                          const PluginChoice& choice, PluginMemory place);

}  // namespace tenon
