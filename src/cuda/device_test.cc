#include "backend/device.h"

#include <gtest/gtest.h>

#include <vector>

#include "cuda/cuda_target.h"

namespace tenon::cuda {
namespace {

TEST(CudaDeviceTest, TellsWhoseMemoryItIs) {
  const Device& device = cuda_device();
  int current = 0, reads_all = 0;
  cudaGetDevice(&current);
  cudaDeviceGetAttribute(&reads_all, cudaDevAttrPageableMemoryAccess, current);
  const int on_stack = 0;
  const std::vector<int> on_heap(1 << 20);
  for (const void* host :
       {static_cast<const void*>(&on_stack), static_cast<const void*>(&on_heap[7])}) {
    EXPECT_EQ(device.reaches(host), reads_all != 0);
    EXPECT_TRUE(device.host_reaches(host));
  }
  const DeviceBuffer buffer(device, 1000);
  const auto* inside = static_cast<const std::byte*>(buffer.data()) + 500;
  EXPECT_TRUE(device.reaches(inside));
  EXPECT_FALSE(device.host_reaches(inside));
  void* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, 1000), cudaSuccess);
  EXPECT_TRUE(device.reaches(pinned));
  EXPECT_TRUE(device.host_reaches(pinned));
  cudaFreeHost(pinned);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

}  // namespace
}  // namespace tenon::cuda
