// What the CPU target does beyond the suite: 16-bit floats by widening, and regions of no image.
#include "backend/testing.h"
#include "ops/grid_sample.h"
#include "ops/roi_align.h"

namespace tenon::cpu {
namespace {

using ::testing::HasSubstr;

TEST(GridSampleKernelTest, SixteenBits) {
  for (const DataType type : {DataType::kHALF, DataType::kBF16}) {
    const TestInput x = as_type(type, data({1, 5, 6, 7}));
    const TestInput grid = as_type(type, {random_tensor({1, 4, 5, 2}, 5, -1.2f, 1.2f)});
    expect_as_reference(GridSample(), {x, grid}, "grid_sample_16bit",
                        type == DataType::kHALF ? 1e-3 : 8e-3);
  }
}

TEST(RoiAlignKernelTest, RegionsOfNoImageAreErrors) {
  LayerTest test(RoiAlign(),
                 {data({2, 1, 3, 3}), data({1, 4}), integers<int64_t>(DataType::kINT64, {1}, {2})});
  ASSERT_EQ(test.offer("roi_align"), "");
  try {
    test.run();
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("region 0 is of image 2; there are 2"));
  }
}

}  // namespace
}  // namespace tenon::cpu
