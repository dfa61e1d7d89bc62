#include "ops/max_unpool.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;

TEST(MaxUnpool, AgreesWithOnnxRuntime) {
  run_cases("max_unpool");
}

TEST(MaxUnpool, PlacesAreChecked) {
  MaxUnpool op;
  op.window = op.stride = Shape{2};
  op.pre_padding = op.post_padding = Shape{0};
  const auto put = [&](int64_t place) {
    return run(op, {input(make<float>({1, 1, 1}, {5})), input(make<int64_t>({1, 1, 1}, {place}))});
  };
  EXPECT_THAT(put(1)[0].numbers(), ::testing::ElementsAre(0, 5));
  EXPECT_THROW(put(2), Error);
  EXPECT_THROW(put(-1), Error);
}

}  // namespace
}  // namespace tenon
