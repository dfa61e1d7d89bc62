// A Winograd convolution made ready for certain shapes.
#pragma once

#include "ops/convolution.h"
#include "target/cpu/simd/kernels.h"
#include "target/target.h"

namespace tenon::cpu {

/// Channels or maps, beyond which weights could not be counted.
inline constexpr int64_t kMostWinogradChannels = 1 << 24;

/// In which data, result and operands of its shape lie: blocks of as many channels as a vector has.
Layout winograd_layout();

/// @param weights, bias of form WinogradForm, the bias padded with zeros to whole vectors.
/// Throws Error when they do not fit the shapes, or these not the attributes.
std::unique_ptr<Execution> prepare_winograd(const Convolution& op,
                                            const WinogradKernels::Tile& tile,
                                            const Tensor& weights, const Tensor& bias,
                                            std::span<const TensorSpec> inputs,
                                            const TensorSpec& output);

}  // namespace tenon::cpu
