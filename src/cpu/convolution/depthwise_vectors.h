// How the channels of a depthwise convolution make vectors, and its weights in that order.
#pragma once

#include <optional>
#include <string>

#include "cpu/convolution/block_convolution.h"

namespace tenon::cpu {

/// How channels lie, and make vectors: in blocks, of which channels last is one. The last vector of
/// a block ends with it, and may share channels with the one before.
struct DepthwiseVectors {
  int64_t channels;
  Layout layout;
  const DepthwiseKernels* loops;

  int64_t lanes() const { return loops->lanes; }
  int64_t width() const {
    return layout == Layout::kChannelsLast ? channels : channel_block(layout);
  }
  int64_t blocks() const { return units(channels, width()); }
  int64_t per_block() const { return units(width(), lanes()); }
  /// Of a vector of a block.
  int64_t first_lane(int64_t vector) const { return std::min(vector * lanes(), width() - lanes()); }
};

/// In the layout at hand, if it is one of channels beside each other; none if they do not fill a
/// vector. A plan's may be that of a machine with shorter vectors.
std::optional<DepthwiseVectors> vectors_of(Layout layout, int64_t channels);
/// For data that arrive in this layout while a plan is built.
DepthwiseVectors vectors_for(Layout arrives, int64_t channels);

/// As the network has them: channel, tap; or as the loops read them: vector, tap, lane.
struct DepthwiseWeights {
  Tensor weights, bias;
};
/// In the loops' order; zeros fill up the last block.
DepthwiseWeights arranged(const DepthwiseWeights& weights, const DepthwiseVectors& vectors);
/// As the network has them: inputs 1 and 2 of a convolution, none when they are not constants, and
/// a missing bias is zeros; or what a plan stored. Throw Error when they do not fit the attributes.
std::optional<DepthwiseWeights> constant_depthwise_weights(const Convolution& op,
                                                           const KernelRequest& request);
DepthwiseWeights stored_depthwise_weights(const Convolution& op, const StoredKernel& stored);

/// How windows lie over the data, where sums are results as they are. Throws Error when data,
/// result and attributes do not fit each other.
DepthwiseForm depthwise_form(const Convolution& op, const DepthwiseVectors& vectors,
                             std::span<const TensorSpec> inputs, const Shape& result);

/// Why it is no depthwise convolution of planes; "" if it is one.
std::string refusal_of_depthwise(const Convolution& op, const KernelRequest& request);

}  // namespace tenon::cpu
