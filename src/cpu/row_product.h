// Products of rows with one constant matrix: what of a MatrixMultiply our own kernels take.
#pragma once

#include "cpu/kernels.h"
#include "ops/matrix_multiply.h"

namespace tenon::cpu {

/// Extents of the product: all rows of the first tensor by the one matrix of the second.
struct RowProduct {
  int64_t rows, depth, columns;
};

/// Throws Error when the shapes do not fit.
RowProduct row_product_of(const MatrixMultiply& op, std::span<const TensorSpec> inputs,
                          const Shape& result);

/// Why the layer is none, apart from its shapes; "" if it is.
std::string refusal_of_row_product(const MatrixMultiply& op, const KernelRequest& request);

/// Marks matrix and bias as packed.
void pack_matrix_and_bias(Kernel& kernel, const KernelRequest& request);

}  // namespace tenon::cpu
