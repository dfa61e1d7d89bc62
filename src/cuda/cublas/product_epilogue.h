// What may follow a product of matrices.
#pragma once

#include <optional>

#include "cuda/bias_activation.h"
#include "ops/support/pointwise_program.h"

namespace tenon::cuda {

/// What is added to the result, then a function of it.
struct ProductEpilogue {
  bool has_added = false;
  EpilogueActivation activation = EpilogueActivation::kNone;
};

/// The program if it is such an epilogue.
std::optional<ProductEpilogue> product_epilogue(const PointwiseProgram& program);

}  // namespace tenon::cuda
