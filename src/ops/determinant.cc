#include "ops/determinant.h"

#include <cmath>

#include "ops/support/infer.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(Determinant);

void Determinant::infer(Inference& c) const {
  require_inputs(c, 1, 1);
  require_float(c, 0, "the matrices");
  const Dims& dims = c.dims(0);
  require(dims.size() >= 2, "expected matrices, so at least 2 dimensions, found {}", text_of(dims));
  const Dim rows = dims[dims.size() - 2], columns = dims.back();
  require(!rows->is_constant() || !columns->is_constant() || rows == columns,
          "expected square matrices, found {}", text_of(dims));
  c.set_output(0, c.type(0), Dims(dims.begin(), dims.end() - 2));
}

namespace {

// Gaussian elimination with the largest pivot of each column; overwrites the matrix.
double determinant(std::vector<double>& m, size_t n) {
  double product = 1;
  for (size_t k = 0; k < n; ++k) {
    size_t pivot = k;
    for (size_t i = k + 1; i < n; ++i)
      if (std::fabs(m[i * n + k]) > std::fabs(m[pivot * n + k])) pivot = i;
    if (m[pivot * n + k] == 0) return 0;
    if (pivot != k) {
      for (size_t j = k; j < n; ++j) std::swap(m[pivot * n + j], m[k * n + j]);
      product = -product;
    }
    product *= m[k * n + k];
    for (size_t i = k + 1; i < n; ++i) {
      const double factor = m[i * n + k] / m[k * n + k];
      for (size_t j = k + 1; j < n; ++j) m[i * n + j] -= factor * m[k * n + j];
    }
  }
  return product;
}

}  // namespace

void Determinant::reference(const ReferenceCall& call) const {
  const TensorView &in = call.inputs[0], &out = call.outputs[0];
  const int64_t n = in.shape.back();
  require(in.shape[in.shape.rank() - 2] == n, "matrices of shape {} are not square", in.shape);
  with_float(in.type, [&](auto zero) {
    using T = decltype(zero);
    const int64_t grain = n > 64 ? 1 : std::max<int64_t>(1, 65536 / (n * n * n + 1));
    parallel_for(out.shape.volume(), grain, [&](int64_t begin, int64_t end) {
      std::vector<double> matrix(static_cast<size_t>(n * n));
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t k = 0; k < n * n; ++k)
          matrix[static_cast<size_t>(k)] = double{load(in.as<T>()[i * n * n + k])};
        out.as<T>()[i] = store<T>(determinant(matrix, static_cast<size_t>(n)));
      }
    });
  });
}

}  // namespace tenon
