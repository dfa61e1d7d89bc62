#include "backend/testing.h"
#include "cuda/cuda_target.h"
#include "ops/softmax.h"

namespace tenon::cuda {
namespace {

TEST(HostKernelTest, RunsTheReferenceWithCopies) {
  const Softmax op;
  LayerTest test(op, {data({3, 5})}, cuda_target());
  ASSERT_EQ(test.offer("host"), "");
  expect_identical(test.run(), test.reference());
}

}  // namespace
}  // namespace tenon::cuda
