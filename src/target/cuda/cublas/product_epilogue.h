// What may follow a product of matrices.
#pragma once

#include <optional>

#include "ops/pointwise_program.h"
#include "target/cuda/finish.h"

namespace tenon::cuda {

/// What is added to the result, then a function of it.
struct ProductEpilogue {
  bool has_added = false;
  FinishActivation activation = FinishActivation::kNone;
};

/// The program if it is such an epilogue.
std::optional<ProductEpilogue> product_epilogue(const PointwiseProgram& program);

}  // namespace tenon::cuda
