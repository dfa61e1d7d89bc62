// A convolution with its epilogue as one of cuDNN's graphs, or as a graph and steps around it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cuda/convolution/sliding.h"
#include "cuda/cudnn/fusion.h"

namespace tenon::cuda::cudnn {

/// What the graph does of the layer.
enum class Form : int32_t {
  kFused,      // all of it
  kFloatSums,  // the convolution, to scratch memory in float32; bias and epilogue follow
  kSums,       // the convolution, to the result's memory; bias and epilogue follow
};

/// How a layer is computed.
struct GraphConfig {
  Form form = Form::kFused;
  bool pads = false;  // the data are copied with their padding first
  EngineChoice engine;

  void visit(FieldVisitor& v);
  /// "fused 34 1:2 5:0"
  std::string str() const;
};

/// A layer at certain shapes.
struct Problem {
  const SlidingOp& op;
  const std::optional<Fusion>& fusion;  // of the epilogue
  std::span<const TensorSpec> inputs;   // all but the bias in the layout of the result
  const TensorSpec& result;
  bool tf32 = false;

  bool has_bias() const { return inputs.size() > kBiasInput && inputs[kBiasInput].present; }
  /// The data's shape, with the padding if they are copied.
  Shape data_shape(bool pads) const;
  std::vector<Window> windows(bool pads) const;
};

/// Configurations that cuDNN proposes, fastest first as far as it knows, at most `max_count` for
/// each form.
std::vector<GraphConfig> configs_for(const Problem& problem, size_t max_count);

/// Throws when cuDNN does not do it so. The kernel's packed tensors are the weights, unless they
/// are an input, and the fusion's constants, four floats for each.
std::unique_ptr<Execution> execution_of(const Problem& problem, const GraphConfig& config,
                                        bool weights_are_packed);

}  // namespace tenon::cuda::cudnn
