#include "tenon/session/output.h"

#include <gtest/gtest.h>

#include "tenon/session/shape.h"

namespace tenon::session {
namespace {

TEST(Output, GrowsMemoryOfItsOwn) {
  GrowingOutput output(Memory(Memory::Kind::kPinned));
  void* const small = output.reallocateOutputAsync("y", nullptr, 16, 256, nullptr);
  ASSERT_NE(small, nullptr);
  EXPECT_EQ(output.reallocateOutputAsync("y", small, 8, 256, nullptr), small);
  EXPECT_NE(output.reallocateOutputAsync("y", small, 1 << 20, 256, nullptr), nullptr);
  output.notifyShape("y", nvinfer1::Dims{2, {3, 4}});
  EXPECT_EQ(to_shape(output.shape()), (Shape{3, 4}));
}

TEST(Output, TakesTheCallersMemoryOnlyIfItFits) {
  GrowingOutput output(Memory(Memory::Kind::kPinned));
  char bytes[8];
  output.use(bytes, sizeof bytes);
  EXPECT_EQ(output.shape().nbDims, -1);
  EXPECT_EQ(output.reallocateOutputAsync("y", nullptr, 8, 256, nullptr), bytes);
  EXPECT_EQ(output.reallocateOutputAsync("y", nullptr, 12, 256, nullptr), nullptr);
  output.use(nullptr, 0);  // of an array without elements, for which engines want a byte
  EXPECT_NE(output.reallocateOutputAsync("y", nullptr, 1, 256, nullptr), nullptr);
  output.use_own();
  void* const own = output.reallocateOutputAsync("y", nullptr, 12, 256, nullptr);
  EXPECT_EQ(own, output.data());
}

}  // namespace
}  // namespace tenon::session
