#include "ops/non_zero.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::ElementsAre;

TEST(NonZero, AgreesWithNumpy) {
  run_cases("non_zero");
}

TEST(NonZero, ManyElementsAreCountedInParts) {
  Tensor x(DataType::kBOOL, {3, 100000});
  for (int64_t i = 0; i < x.count(); ++i) x.mutable_data<bool>()[i] = i % 7 == 0;
  const Tensor found = run(NonZero(), {input(x)})[0];
  const int64_t count = (300000 + 6) / 7;
  ASSERT_EQ(found.shape(), (Shape{2, count}));
  for (int64_t i = 0; i < count; ++i)
    ASSERT_EQ(found.data<int32_t>()[i] * 100000 + found.data<int32_t>()[count + i], i * 7);
}

}  // namespace
}  // namespace tenon
