// Which sums of products cuBLAS cannot compute.
#include "ops/einsum.h"

#include "backend/testing.h"
#include "cuda/cuda_target.h"

namespace tenon::cuda {
namespace {

struct Case {
  std::string equation;
  Shape a, b;
};

TEST(CudaEinsumTest, LeavesOtherSumsToTheHost) {
  for (const Case& c : {Case{"ij,k->ik", {5, 7}, {3}},                      // a sum of one operand
                        Case{"ijkl,jmk->iml", {2, 3, 4, 5}, {3, 6, 4}}}) {  // j and k stay apart
    SCOPED_TRACE(c.equation);
    Einsum op;
    op.equation = c.equation;
    LayerTest test(op, {data(c.a, 1), data(c.b, 2)}, cuda_target());
    EXPECT_EQ(test.offer("cublas_einsum"), "it is no product of matrices in memory");
  }
}

}  // namespace
}  // namespace tenon::cuda
