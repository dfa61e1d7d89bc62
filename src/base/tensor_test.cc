#include "base/tensor.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/half.h"

namespace tenon {
namespace {

TEST(Tensor, CopiesShareTheData) {
  const Tensor a = Tensor::of<float>(DataType::kFLOAT, {2, 2}, std::vector<float>{1, 2, 3, 4});
  const Tensor b = a.reshaped({4});
  EXPECT_EQ(a.data(), b.data());
  EXPECT_EQ(b.numbers(), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_THROW(a.reshaped({3}), Error);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.data()) % 64, 0u);
}

TEST(Tensor, KeepsItsOwnerAlive) {
  auto values = std::make_shared<std::vector<int32_t>>(std::vector<int32_t>{7, 8});
  const std::weak_ptr<std::vector<int32_t>> watch = values;
  auto tensor = std::make_unique<Tensor>(DataType::kINT32, Shape{2}, values, values->data());
  values.reset();
  EXPECT_EQ(tensor->integers(), (std::vector<int64_t>{7, 8}));
  tensor.reset();
  EXPECT_TRUE(watch.expired());
}

TEST(Tensor, NumbersOfEveryType) {
  Tensor half(DataType::kHALF, {1}), bf(DataType::kBF16, {1});
  *half.mutable_data<Half>() = static_cast<Half>(0.5f);
  *bf.mutable_data<BFloat16>() = BFloat16(-1.5f);
  EXPECT_EQ(half.numbers()[0], 0.5);
  EXPECT_EQ(bf.numbers()[0], -1.5);
  EXPECT_EQ(Tensor::of<uint8_t>(DataType::kUINT8, {1}, std::vector<uint8_t>{200}).numbers()[0],
            200);
  EXPECT_THROW(half.integers(), Error);
}

TEST(Tensor, HugeShapesAreErrors) {
  const int64_t big = int64_t{1} << 40;
  EXPECT_THROW(Tensor(DataType::kFLOAT, {big, 1 << 20}), Error);
  EXPECT_THROW(Tensor(DataType::kFLOAT, {big, big}), Error);
}

}  // namespace
}  // namespace tenon
