#include "ops/roi_align.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::HasSubstr;

const Given kX = input(make<float>({1, 1, 2, 2}, {1, 2, 3, 4}));

std::string error(const Tensor& regions, const Tensor& batches) {
  try {
    run(RoiAlign(), {kX, input(regions), input(batches)});
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(RoiAlign, AgreesWithOnnxRuntime) {
  run_cases("roi_align");
}

TEST(RoiAlign, RegionsAreChecked) {
  const Tensor batch = make<int64_t>({1}, {0}), whole = make<float>({1, 4}, {0, 0, 2, 2});
  EXPECT_EQ(error(whole, batch), "");
  EXPECT_THAT(error(whole, make<int64_t>({1}, {1})), HasSubstr("batch element 1"));
  EXPECT_THAT(error(whole, make<int64_t>({1}, {-1})), HasSubstr("batch element -1"));
  EXPECT_THAT(error(make<float>({1, 4}, {0, 0, 1e9f, 2}), batch), HasSubstr("far larger"));
  EXPECT_THAT(error(make<float>({1, 4}, {0, NAN, 1, 2}), batch), HasSubstr("a region from nan"));
  EXPECT_THAT(error(whole, make<int64_t>({2}, {0, 0})), HasSubstr("one batch element per region"));
  EXPECT_THAT(error(make<float>({1, 3}, {0, 0, 1}), batch),
              HasSubstr("regions of shape (count, 4)"));
}

}  // namespace
}  // namespace tenon
