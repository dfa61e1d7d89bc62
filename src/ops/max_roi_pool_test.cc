#include "ops/max_roi_pool.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;

TEST(MaxRoiPool, AgreesWithOnnxRuntime) {
  run_cases("max_roi_pool");
}

TEST(MaxRoiPool, RegionsAreChecked) {
  const Given x = input(make<float>({1, 1, 2, 2}, {1, 2, 3, 4}));
  EXPECT_EQ(run(MaxRoiPool(), {x, input(make<float>({1, 5}, {0, 0, 0, 1, 1}))})[0].numbers()[0], 4);
  for (const float batch : {1.0f, -1.0f, NAN})
    EXPECT_THROW(run(MaxRoiPool(), {x, input(make<float>({1, 5}, {batch, 0, 0, 1, 1}))}), Error);
  for (const float far : {1e30f, -INFINITY, NAN})
    EXPECT_THROW(run(MaxRoiPool(), {x, input(make<float>({1, 5}, {0, 0, 0, far, 1}))}), Error);
}

}  // namespace
}  // namespace tenon
