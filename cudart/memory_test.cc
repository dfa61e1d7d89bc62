/// Memory and copies. What a GPU answers to bad calls was seen on an H200 with CUDA 13.
#include <chrono>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "cudart/testing.h"

namespace tenon::cudart {
namespace {

using testing::DeviceBlock;
using testing::Gate;
using testing::PinnedBlock;
using testing::TestStream;

constexpr std::size_t kBytes = 1 << 20;

TEST(Memory, AllocationsAreAlignedAndKnown) {
  const DeviceBlock<char> device(kBytes);
  const PinnedBlock<char> pinned(kBytes);
  void* managed = nullptr;
  EXPECT_OK(cudaMallocManaged(&managed, kBytes));
  std::vector<char> pageable(16);
  struct {
    void* pointer;
    cudaMemoryType type;
    int device;
    bool device_side, host_side;
  } const cases[] = {
      {device.data, cudaMemoryTypeDevice, 0, true, false},
      {device.data + 100, cudaMemoryTypeDevice, 0, true, false},
      {pinned.data, cudaMemoryTypeHost, 0, true, true},
      {managed, cudaMemoryTypeManaged, 0, true, true},
      {pageable.data(), cudaMemoryTypeUnregistered, -2, false, true},
      {device.data + kBytes + 4096, cudaMemoryTypeUnregistered, -2, false, true},
  };
  for (const auto& expected : cases) {
    cudaPointerAttributes attributes;
    EXPECT_OK(cudaPointerGetAttributes(&attributes, expected.pointer));
    EXPECT_EQ(attributes.type, expected.type);
    EXPECT_EQ(attributes.device, expected.device);
    EXPECT_EQ(attributes.devicePointer, expected.device_side ? expected.pointer : nullptr);
    EXPECT_EQ(attributes.hostPointer, expected.host_side ? expected.pointer : nullptr);
  }
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(device.data) % 256, 0u);
  EXPECT_OK(cudaFree(managed));
}

TEST(Memory, RefusesWhatTheMachineDoesNotHave) {
  void* pointer = &pointer;
  for (const std::size_t size : {SIZE_MAX, SIZE_MAX - 4096, std::size_t{1} << 60}) {
    EXPECT_CUDA(cudaErrorMemoryAllocation, cudaMalloc(&pointer, size));
    EXPECT_EQ(pointer, nullptr);
    EXPECT_CUDA(cudaErrorMemoryAllocation, cudaMallocHost(&pointer, size));
    EXPECT_CUDA(cudaErrorMemoryAllocation, cudaMallocManaged(&pointer, size));
    EXPECT_CUDA(cudaErrorMemoryAllocation, cudaMallocAsync(&pointer, size, nullptr));
  }
  std::size_t pitch;
  EXPECT_CUDA(cudaErrorMemoryAllocation, cudaMallocPitch(&pointer, &pitch, SIZE_MAX / 2, 8));
  EXPECT_CUDA(cudaErrorMemoryAllocation, cudaGetLastError());
  EXPECT_CUDA(cudaSuccess, cudaGetLastError());
}

TEST(Memory, AllocatingUntilItFailsEnds) {
  std::size_t free = 0, total = 0;
  EXPECT_OK(cudaMemGetInfo(&free, &total));
  EXPECT_GT(free, 0u);
  EXPECT_LE(free, total);
  std::vector<void*> blocks;
  void* pointer = nullptr;
  const std::size_t step = total / 64;
  cudaError_t error;
  while ((error = cudaMalloc(&pointer, step)) == cudaSuccess) {
    blocks.push_back(pointer);
    ASSERT_LE(blocks.size(), 64u);
  }
  EXPECT_CUDA(cudaErrorMemoryAllocation, error);
  for (void* block : blocks) EXPECT_OK(cudaFree(block));
  EXPECT_OK(cudaMalloc(&pointer, step));
  EXPECT_OK(cudaFree(pointer));
  cudaGetLastError();
}

TEST(Memory, FreeRefusesWhatIsNotABlock) {
  const DeviceBlock<char> device(kBytes);
  const PinnedBlock<char> pinned(kBytes);
  std::vector<char> pageable(16);
  EXPECT_OK(cudaFree(nullptr));
  EXPECT_OK(cudaFreeHost(nullptr));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(pageable.data()));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(device.data + 16));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(pinned.data));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFreeHost(device.data));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFreeHost(pageable.data()));
  void* twice = nullptr;
  EXPECT_OK(cudaMalloc(&twice, 64));
  EXPECT_OK(cudaFree(twice));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(twice));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaGetLastError());
}

TEST(Memory, FreeWaitsForWorkThatUsesTheBlock) {
  const TestStream stream;
  int* device = nullptr;
  EXPECT_OK(cudaMalloc(&device, sizeof(int)));
  const auto sleep = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  EXPECT_OK(cudaLaunchHostFunc(stream, sleep, nullptr));
  EXPECT_OK(cudaMemsetAsync(device, 1, sizeof(int), stream));
  EXPECT_OK(cudaFree(device));
  EXPECT_OK(cudaStreamQuery(stream));
}

TEST(Memory, AsyncFreeComesInStreamOrderAndOnce) {
  const TestStream stream;
  int* device = nullptr;
  EXPECT_OK(cudaMallocAsync(&device, sizeof(int), stream));
  const PinnedBlock<int> host(1);
  Gate gate;
  gate.block(stream);
  EXPECT_OK(cudaMemsetAsync(device, 1, sizeof(int), stream));
  EXPECT_OK(cudaMemcpyAsync(host.data, device, sizeof(int), cudaMemcpyDeviceToHost, stream));
  EXPECT_OK(cudaFreeAsync(device, stream));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFreeAsync(device, stream));
  gate.open();
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(*host.data, 0x01010101);
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(device));
  EXPECT_OK(cudaFreeAsync(nullptr, stream));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFreeAsync(host.data, stream));
}

TEST(Memory, PageableCopyTakesTheSourceBeforeItReturns) {
  const TestStream stream;
  const DeviceBlock<int> device(1);
  Gate gate;
  gate.block(stream);
  int source = 7;
  EXPECT_OK(cudaMemcpyAsync(device.data, &source, sizeof source, cudaMemcpyHostToDevice, stream));
  source = 8;
  EXPECT_CUDA(cudaErrorNotReady, cudaStreamQuery(stream));
  gate.open();
  int result = 0;
  // A pageable destination makes the copy synchronous.
  EXPECT_OK(cudaMemcpyAsync(&result, device.data, sizeof result, cudaMemcpyDeviceToHost, stream));
  EXPECT_EQ(result, 7);
}

TEST(Memory, LargePageableCopyIsDoneWhenItReturns) {
  const TestStream stream;
  const DeviceBlock<int> device(kBytes);
  std::vector<int> source(kBytes), result(kBytes);
  std::iota(source.begin(), source.end(), 0);
  const std::size_t bytes = kBytes * sizeof(int);
  EXPECT_OK(cudaMemcpyAsync(device.data, source.data(), bytes, cudaMemcpyHostToDevice, stream));
  EXPECT_OK(cudaMemcpyAsync(result.data(), device.data, bytes, cudaMemcpyDeviceToHost, stream));
  EXPECT_EQ(source, result);
}

TEST(Memory, TwoDimensionalCopyAndFillKeepToTheirRows) {
  char* device = nullptr;
  std::size_t pitch = 0;
  EXPECT_OK(cudaMallocPitch(&device, &pitch, 5, 3));
  EXPECT_GE(pitch, 5u);
  EXPECT_OK(cudaMemset(device, '.', pitch * 3));
  const char source[] = "abcde__fghij__klmno";
  EXPECT_OK(cudaMemcpy2D(device, pitch, source, 7, 5, 3, cudaMemcpyHostToDevice));
  EXPECT_OK(cudaMemset2D(device + 1, pitch, '#', 2, 2));
  std::string result(15, ' ');
  EXPECT_OK(cudaMemcpy2D(result.data(), 5, device, pitch, 5, 3, cudaMemcpyDeviceToHost));
  EXPECT_EQ(result, "a##def##ijklmno");
  char after = 0;
  EXPECT_OK(cudaMemcpy(&after, device + 5, 1, cudaMemcpyDeviceToHost));
  EXPECT_EQ(after, '.');
  EXPECT_OK(cudaFree(device));
}

TEST(Memory, CopiesAreCheckedAgainstTheirDirection) {
  const DeviceBlock<char> one(kBytes), two(kBytes);
  const PinnedBlock<char> pinned(kBytes);
  std::vector<char> page(2 * kBytes);
  struct {
    void* to;
    void* from;
    std::size_t size;
    cudaMemcpyKind kind;
    cudaError_t expected;
  } const cases[] = {
      {one.data, page.data(), 100, cudaMemcpyHostToDevice, cudaSuccess},
      {page.data(), page.data() + 500, 100, cudaMemcpyHostToDevice, cudaErrorInvalidValue},
      {page.data(), page.data() + 500, 100, cudaMemcpyDeviceToHost, cudaErrorInvalidValue},
      {page.data(), page.data() + 500, 100, cudaMemcpyDeviceToDevice, cudaErrorInvalidValue},
      {page.data(), page.data() + 500, 100, cudaMemcpyHostToHost, cudaSuccess},
      {two.data, one.data, 100, cudaMemcpyHostToDevice, cudaSuccess},
      {two.data, one.data, 100, cudaMemcpyDeviceToHost, cudaSuccess},
      {two.data, one.data, 100, cudaMemcpyHostToHost, cudaSuccess},
      {page.data(), one.data, 100, cudaMemcpyHostToDevice, cudaErrorInvalidValue},
      {one.data, page.data(), 100, cudaMemcpyDeviceToHost, cudaErrorInvalidValue},
      {one.data, page.data(), 100, cudaMemcpyDefault, cudaSuccess},
      {one.data, pinned.data, 100, cudaMemcpyDeviceToDevice, cudaSuccess},
      {one.data, page.data(), 100, static_cast<cudaMemcpyKind>(7), cudaErrorInvalidMemcpyDirection},
      {one.data, page.data(), kBytes + 512, cudaMemcpyHostToDevice, cudaErrorInvalidValue},
      {one.data, two.data, 3 * kBytes, cudaMemcpyDeviceToDevice, cudaErrorInvalidValue},
      {nullptr, page.data(), 100, cudaMemcpyHostToDevice, cudaErrorInvalidValue},
      {one.data, nullptr, 100, cudaMemcpyHostToDevice, cudaErrorInvalidValue},
      {nullptr, nullptr, 0, cudaMemcpyHostToDevice, cudaSuccess},
      {one.data, page.data(), SIZE_MAX, cudaMemcpyHostToDevice, cudaErrorInvalidValue},
  };
  for (const auto& test : cases) {
    EXPECT_CUDA(test.expected, cudaMemcpy(test.to, test.from, test.size, test.kind))
        << (&test - cases);
    EXPECT_CUDA(test.expected, cudaMemcpyAsync(test.to, test.from, test.size, test.kind, nullptr))
        << (&test - cases);
  }
  EXPECT_CUDA(cudaErrorInvalidPitchValue,
              cudaMemcpy2D(one.data, 10, page.data(), 20, 15, 4, cudaMemcpyHostToDevice));
  EXPECT_CUDA(cudaErrorInvalidValue,
              cudaMemcpy2D(one.data, SIZE_MAX / 2, page.data(), 20, 15, 4, cudaMemcpyDefault));
}

TEST(Memory, FillsAreChecked) {
  const DeviceBlock<char> device(kBytes);
  const PinnedBlock<char> pinned(16);
  char pageable[16];
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemset(nullptr, 0, 4));
  EXPECT_OK(cudaMemset(nullptr, 0, 0));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemset(pageable, 0, 4));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemset(device.data, 0, 3 * kBytes));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemset2D(device.data, 10, 0, 15, 4));
  EXPECT_OK(cudaMemset2D(device.data, 0, 0, 0, 0));
  EXPECT_OK(cudaMemset(pinned.data, 0x11, 16));
  EXPECT_EQ(pinned.data[15], 0x11);
}

TEST(Memory, HostMemoryCanBeRegistered) {
  std::vector<char> page(8192);
  void* device = nullptr;
  unsigned flags = 0;
  EXPECT_OK(cudaHostRegister(page.data(), 4096, 0));
  EXPECT_CUDA(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(page.data(), 4096, 0));
  EXPECT_CUDA(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(page.data() + 4000, 4096, 0));
  EXPECT_OK(cudaHostGetDevicePointer(&device, page.data(), 0));
  EXPECT_EQ(device, page.data());
  EXPECT_OK(cudaHostGetFlags(&flags, page.data()));
  EXPECT_EQ(flags & cudaHostRegisterMapped, unsigned{cudaHostRegisterMapped});
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFreeHost(page.data()));
  EXPECT_OK(cudaHostUnregister(page.data()));
  EXPECT_CUDA(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(page.data()));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaHostGetDevicePointer(&device, page.data(), 0));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaHostGetFlags(&flags, page.data()));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaHostRegister(nullptr, 16, 0));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaHostRegister(page.data(), 0, 0));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaHostRegister(page.data(), 16, 0xff00));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaHostAlloc(&device, 64, 0xff00));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMallocManaged(&device, 64, 9));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMalloc(static_cast<void**>(nullptr), 16));
}

}  // namespace
}  // namespace tenon::cudart
