#include "ops/softmax.h"
#include "target/cuda/cuda_target.h"
#include "target/testing.h"

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
