// What the CPU target does with updates that lie nowhere.
#include "ops/scatter.h"

#include "backend/testing.h"

namespace tenon::cpu {
namespace {

using nvinfer1::ScatterMode;

TEST(ScatterKernelTest, IndicesOutsideAreErrors) {
  Scatter op;
  op.mode = ScatterMode::kND;
  LayerTest test(op,
                 {data({3, 2}), integers<int32_t>(DataType::kINT32, {1, 1}, {3}), data({1, 2})});
  ASSERT_EQ(test.offer("scatter"), "");
  try {
    test.run();
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("index 3 is outside [-3, 3)"));
  }
}

}  // namespace
}  // namespace tenon::cpu
