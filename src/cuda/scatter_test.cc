// What the CUDA target does with updates that lie nowhere.
#include "ops/scatter.h"

#include "backend/testing.h"

namespace tenon {
namespace {

TEST(CudaScatterTest, IndicesOutsideAreLeftOut) {
  for (const auto reduction : {ScatterReduction::kNone, ScatterReduction::kAdd}) {
    Scatter op;
    op.reduction = reduction;
    const TestInput x = data({3});
    LayerTest test(op,
                   {x, integers<int32_t>(DataType::kINT32, {3}, {3, -4, INT32_MIN}), data({3}, 5)});
    ASSERT_EQ(test.offer("scatter"), "");
    expect_identical(test.run(), *x.tensor);
  }
}

}  // namespace
}  // namespace tenon
