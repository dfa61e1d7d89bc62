#include "base/tensor_pool.h"

#include <gtest/gtest.h>

#include <cstring>

namespace tenon {
namespace {

const Shape kShape{100};

TEST(TensorPool, TakesMemoryAgainThatNobodyUses) {
  TensorPool pool;
  const void* first = pool.make(DataType::kFLOAT, kShape).data();
  EXPECT_EQ(pool.make(DataType::kFLOAT, {10, 10}).data(), first);
  EXPECT_EQ(pool.make(DataType::kINT8, {7}).data(), first);
  EXPECT_EQ(pool.bytes(), 400u);
}

TEST(TensorPool, LeavesMemoryAloneThatIsInUse) {
  TensorPool pool;
  std::vector<Tensor> kept;
  for (int i = 0; i < 50; ++i) {
    kept.push_back(pool.make(DataType::kINT32, kShape));
    std::memset(kept.back().mutable_data<std::byte>(), i, kept.back().bytes());
    if (i % 7 != 0) kept.erase(kept.begin());
  }
  for (const Tensor& t : kept) {
    const auto* bytes = t.data<uint8_t>();
    for (size_t k = 1; k < t.bytes(); ++k) ASSERT_EQ(bytes[k], bytes[0]);
  }
}

// States of a loop, of which some are kept for long.
TEST(TensorPool, DoesNotGrowWithTheNumberOfTensors) {
  TensorPool pool;
  const Tensor kept = pool.make(DataType::kFLOAT, kShape);
  Tensor current = pool.make(DataType::kFLOAT, kShape);
  for (int i = 0; i < 1000; ++i) {
    Tensor next = pool.make(DataType::kFLOAT, kShape);
    ASSERT_NE(next.data(), current.data());
    ASSERT_NE(next.data(), kept.data());
    current = next;
  }
  EXPECT_LE(pool.bytes(), 4 * kept.bytes());
}

TEST(TensorPool, GrowsWithTheTensors) {
  TensorPool pool;
  pool.make(DataType::kFLOAT, {10});
  const Tensor large = pool.make(DataType::kFLOAT, {1000});
  EXPECT_EQ(pool.bytes(), 4000u);
  EXPECT_EQ(large.bytes(), 4000u);
  EXPECT_NE(pool.make(DataType::kFLOAT, {0}).data(), nullptr);
}

}  // namespace
}  // namespace tenon
