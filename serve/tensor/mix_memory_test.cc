#include "tenon/serve/mix_memory.h"

#include <gmock/gmock.h>

#include <cstring>
#include <vector>

namespace tenon::serve {
namespace {

using ::testing::HasSubstr;

TEST(MixMemory, IsMadeWhenItIsAskedForAndGrows) {
  MixMemory memory;
  EXPECT_EQ(memory.cpu(), nullptr);
  EXPECT_EQ(memory.cpu_size(), 0u);
  auto first = memory.cpu(16);
  ASSERT_TRUE(first) << first.error();
  EXPECT_EQ(memory.gpu(), nullptr);
  const std::vector<char> zeros(64, 0);
  EXPECT_EQ(std::memcmp(*first, zeros.data(), 16), 0);
  std::memset(*first, 7, 16);
  EXPECT_EQ(*memory.cpu(8), *first);  // it is large enough
  EXPECT_EQ(memory.cpu_size(), 16u);
  auto second = memory.cpu(64);
  ASSERT_TRUE(second);
  EXPECT_EQ(memory.cpu_size(), 64u);
  EXPECT_EQ(std::memcmp(*second, zeros.data(), 64), 0);
  EXPECT_TRUE(memory.owner_cpu());

  auto on_device = memory.gpu(32);
  ASSERT_TRUE(on_device) << on_device.error();
  std::vector<char> seen(32, 1);
  ASSERT_EQ(cudaMemcpy(seen.data(), *on_device, 32, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(std::memcmp(seen.data(), zeros.data(), 32), 0);
  memory.release_all();
  EXPECT_EQ(memory.gpu(), nullptr);
  EXPECT_EQ(memory.cpu_size(), 0u);
}

TEST(MixMemory, TheCallersIsNeitherGrownNorFreed) {
  char bytes[16] = {1};
  MixMemory memory(bytes, sizeof bytes, nullptr, 0);
  EXPECT_FALSE(memory.owner_cpu());
  EXPECT_EQ(*memory.cpu(16), bytes);
  const auto larger = memory.cpu(17);
  ASSERT_FALSE(larger);
  EXPECT_THAT(larger.error(), HasSubstr("memory of the host that the caller gave has 16 bytes, and "
                                        "17 bytes are needed"));
  EXPECT_EQ(memory.cpu(), bytes);
  EXPECT_EQ(bytes[0], 1);
  ASSERT_TRUE(memory.gpu(4));  // of its own
  EXPECT_TRUE(memory.owner_gpu());
  memory.reference_data(nullptr, 0, nullptr, 0);
  EXPECT_TRUE(memory.cpu(17));
}

TEST(MixMemory, WhatIsNotThereIsAnError) {
  MixMemory memory(1000);
  const auto data = memory.gpu(16);
  ASSERT_FALSE(data);
  EXPECT_THAT(data.error(), HasSubstr("device 1000"));
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);  // nobody else's error
  MixMemory ours;
  ASSERT_TRUE(ours.gpu(16));
  void* const before = ours.gpu();
  const auto huge = ours.gpu(size_t{1} << 60);
  ASSERT_FALSE(huge);
  EXPECT_THAT(huge.error(), HasSubstr("memory of the GPU of 1152921504606846976 bytes"));
  EXPECT_EQ(ours.gpu(), before);
  EXPECT_EQ(ours.gpu_size(), 16u);
}

}  // namespace
}  // namespace tenon::serve
