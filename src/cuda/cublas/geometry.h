// Which matrices a layer multiplies: as few calls as can be.
#pragma once

#include <optional>
#include <vector>

#include "cuda/cublas/product.h"
#include "ops/einsum.h"
#include "ops/fully_connected.h"
#include "ops/matrix_multiply.h"

namespace tenon::cuda {

/// One form, and where each of its calls finds its matrices, in elements.
struct ProductGeometry {
  struct Offsets {
    int64_t a = 0, b = 0, result = 0;
  };
  ProductForm form;             // but for bias, addend and activation
  std::vector<Offsets> calls;   // none for an empty result
  Shape result;                 // as the layer gives it
  int axes_behind_columns = 0;  // of extent 1, in the result
  bool swaps_operands = false;  // the layer's second input is `a`

  ProductGeometry(const MatrixMultiply& op, DataType type, const Shape& a, const Shape& b);
  ProductGeometry(const FullyConnected& op, DataType type, const Shape& data, const Shape& kernel);
  /// None where the sum is not that of a product of matrices in memory.
  static std::optional<ProductGeometry> of(const Einsum& op, DataType type, const Shape& a,
                                           const Shape& b);

 private:
  /// An axis of the batch, with the steps of the operands and the result along it.
  struct Axis {
    int64_t extent, a, b, result;
  };
  class EinsumAxes;
  static std::vector<Axis> batch_axes(const Shape& a, const Shape& b, const Shape& both,
                                      const ProductForm& form);
  ProductGeometry() = default;
  /// The longest axis becomes that of the form, the others become calls.
  void take_batch(std::vector<Axis> axes);
};

}  // namespace tenon::cuda
