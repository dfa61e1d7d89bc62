// What the CUDA target does with indices outside.
#include "backend/testing.h"
#include "ops/gather.h"

namespace tenon {
namespace {

using nvinfer1::GatherMode;

TEST(CudaGatherTest, IndicesOutsideGiveZeros) {
  for (const auto mode : {GatherMode::kDEFAULT, GatherMode::kELEMENT, GatherMode::kND}) {
    Gather op;
    op.mode = mode;
    const Shape shape = mode == GatherMode::kND ? Shape{3, 1} : Shape{3};
    LayerTest test(op, {data({4}), integers<int32_t>(DataType::kINT32, shape, {4, -5, INT32_MIN})});
    ASSERT_EQ(test.offer("gather"), "");
    EXPECT_THAT(test.run().numbers(), testing::Each(0.0));
  }
}

}  // namespace
}  // namespace tenon
