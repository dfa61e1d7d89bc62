// A Winograd convolution made ready for certain shapes.
#pragma once

#include "backend/target.h"
#include "cpu/convolution/winograd_weights.h"
#include "ops/convolution.h"

namespace tenon::cpu {

/// In which result and operands of its shape lie: blocks of as many channels as a vector has.
Layout winograd_layout();

/// Data lies in winograd_layout(), or in rows where the form gathers channels. Throws Error when
/// shapes or layouts fit neither the weights nor the attributes.
std::unique_ptr<Execution> prepare_winograd(const Convolution& op,
                                            std::shared_ptr<const WinogradWeights> weights,
                                            std::span<const TensorSpec> inputs,
                                            const TensorSpec& output);

}  // namespace tenon::cpu
