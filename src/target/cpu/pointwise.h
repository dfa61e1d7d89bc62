// Element-wise programs as loops over blocks that stay in the first-level cache.
#pragma once

#include "ops/pointwise_program.h"
#include "target/target.h"

namespace tenon::cpu {

/// The program over float tensors. Inputs of the output's shape lie in the output's layout, all
/// others in rows and are broadcast; input 0 may be the output itself. Padding channels become
/// zero.
std::unique_ptr<Execution> prepare_pointwise(const PointwiseProgram& program,
                                             std::span<const TensorSpec> inputs,
                                             const TensorSpec& output);

}  // namespace tenon::cpu
