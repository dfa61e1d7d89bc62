// Products of matrices by each instruction set.
#include "backend/testing.h"
#include "cpu/simd/kernels.h"

namespace tenon::cpu {
namespace {

TEST(ProductKernelTest, AllInstructionSetsAgree) {
  const int64_t depth = 37, columns = 41;
  for (const int64_t rows : {1, 2, 3, 8, 17}) {
    const Tensor a = random_tensor({rows, depth}, 1), b = random_tensor({3, depth, 16}, 2);
    const auto product = [&](const SimdKernels& kernels) {
      Tensor c = random_tensor({rows, columns}, 3);
      kernels.add_product(a.data<float>(), depth, rows, b.data<float>(), depth,
                          c.mutable_data<float>(), columns, columns);
      return c;
    };
    Tensor expected = random_tensor({rows, columns}, 3);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < columns; ++j)
        for (int64_t k = 0; k < depth; ++k)
          expected.mutable_data<float>()[r * columns + j] +=
              a.data<float>()[r * depth + k] * b.data<float>()[(j / 16 * depth + k) * 16 + j % 16];
    expect_close(product(baseline::kKernels), expected);
    expect_close(product(simd_kernels()), expected);
  }
}

}  // namespace
}  // namespace tenon::cpu
