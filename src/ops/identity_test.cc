#include "ops/identity.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;

TEST(Identity, Copies) {
  const Tensor x = make<int8_t>({2, 2}, {1, -2, 3, -4});
  const auto out = run(Identity(), {input(x)})[0];
  EXPECT_EQ(out.type(), DataType::kINT8);
  EXPECT_EQ(out.shape(), x.shape());
  EXPECT_EQ(out.integers(), x.integers());
}

TEST(Identity, CopiesLargeAndEmptyTensors) {
  Tensor x(DataType::kFLOAT, {1 << 20});
  for (int64_t i = 0; i < x.count(); ++i) x.mutable_data<float>()[i] = static_cast<float>(i);
  EXPECT_EQ(run(Identity(), {input(x)})[0].numbers(), x.numbers());
  EXPECT_EQ(run(Identity(), {input(Tensor(DataType::kFLOAT, {0}))})[0].count(), 0);
}

}  // namespace
}  // namespace tenon
