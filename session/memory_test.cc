#include "tenon/session/memory.h"

#include <gtest/gtest.h>

namespace tenon::session {
namespace {

TEST(Memory, GrowsAndMoves) {
  for (const Memory::Kind kind :
       {Memory::Kind::kPinned, Memory::Kind::kDevice, Memory::Kind::kManaged}) {
    Memory memory(kind);
    EXPECT_EQ(memory.data(), nullptr);
    ASSERT_EQ(memory.reserve(0), cudaSuccess);
    ASSERT_EQ(memory.reserve(100), cudaSuccess);
    void* const data = memory.data();
    EXPECT_NE(data, nullptr);
    ASSERT_EQ(memory.reserve(50), cudaSuccess);
    EXPECT_EQ(memory.data(), data);
    const Memory other = std::move(memory);
    EXPECT_EQ(other.data(), data);
  }
}

TEST(Memory, HasNothingAfterAnError) {
  Memory memory(Memory::Kind::kPinned);
  ASSERT_EQ(memory.reserve(1), cudaSuccess);
  EXPECT_NE(memory.reserve(SIZE_MAX / 2), cudaSuccess);
  EXPECT_EQ(memory.data(), nullptr);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

}  // namespace
}  // namespace tenon::session
