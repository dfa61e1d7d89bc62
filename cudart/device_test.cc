/// The device, errors, kernels and refusals.
#include <cuda_profiler_api.h>
#include <tenon/cudart/engine.h>

#include <cstring>
#include <set>
#include <string>
#include <thread>

#include "cudart/testing.h"

extern "C" {
void** __cudaRegisterFatBinary(void*);
void __cudaRegisterFatBinaryEnd(void**);
void __cudaUnregisterFatBinary(void**);
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*,
                            dim3*, int*);
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, cudaStream_t);
cudaError_t __cudaPopCallConfiguration(dim3*, dim3*, size_t*, void*);
cudaError_t __cudaGetKernel(cudaKernel_t*, const void*);
cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t);
}

namespace tenon::cudart {
namespace {

TEST(Device, ThereIsOneAndItIsThisMachine) {
  int number = -1;
  EXPECT_OK(cudaGetDeviceCount(&number));
  EXPECT_EQ(number, 1);
  EXPECT_OK(cudaGetDevice(&number));
  EXPECT_EQ(number, 0);
  EXPECT_OK(cudaSetDevice(0));
  cudaDeviceProp prop;
  EXPECT_OK(cudaGetDeviceProperties(&prop, 0));
  std::size_t free = 0, total = 0;
  EXPECT_OK(cudaMemGetInfo(&free, &total));
  EXPECT_EQ(prop.totalGlobalMem, total);
  EXPECT_NE(std::string(prop.name).find("host CPU"), std::string::npos);
  EXPECT_GE(prop.multiProcessorCount, 1);
  EXPECT_EQ(prop.warpSize, 32);
  EXPECT_OK(cudaDeviceGetAttribute(&number, cudaDevAttrComputeCapabilityMajor, 0));
  EXPECT_EQ(number, prop.major);
  EXPECT_OK(cudaDeviceGetAttribute(&number, cudaDevAttrMaxGridDimY, 0));
  EXPECT_EQ(number, prop.maxGridSize[1]);
  EXPECT_OK(cudaRuntimeGetVersion(&number));
  EXPECT_EQ(number, CUDART_VERSION);
  EXPECT_OK(cudaDriverGetVersion(&number));
  EXPECT_GE(number, CUDART_VERSION);
  EXPECT_OK(cudaProfilerStart());
  EXPECT_OK(cudaProfilerStop());
}

TEST(Device, RefusesBadArguments) {
  cudaDeviceProp prop;
  std::size_t size = 0;
  int number = 0;
  char text[32];
  EXPECT_CUDA(cudaErrorInvalidDevice, cudaSetDevice(5));
  EXPECT_CUDA(cudaErrorInvalidDevice, cudaSetDevice(-1));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaGetDevice(nullptr));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaGetDeviceCount(nullptr));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaGetDeviceProperties(nullptr, 0));
  EXPECT_CUDA(cudaErrorInvalidDevice, cudaGetDeviceProperties(&prop, 3));
  EXPECT_CUDA(cudaErrorInvalidDevice, cudaDeviceGetAttribute(&number, cudaDevAttrWarpSize, 4));
  EXPECT_CUDA(cudaErrorInvalidValue,
              cudaDeviceGetAttribute(&number, static_cast<cudaDeviceAttr>(9999), 0));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaDeviceGetAttribute(nullptr, cudaDevAttrWarpSize, 0));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaSetDeviceFlags(0xffff));
  EXPECT_OK(cudaSetDeviceFlags(cudaDeviceScheduleSpin));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaDeviceGetLimit(&size, static_cast<cudaLimit>(99)));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaDeviceSetLimit(static_cast<cudaLimit>(99), 1));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaDeviceGetLimit(nullptr, cudaLimitStackSize));
  EXPECT_OK(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
  EXPECT_OK(cudaDeviceGetLimit(&size, cudaLimitStackSize));
  EXPECT_EQ(size, 4096u);
  EXPECT_CUDA(cudaErrorInvalidDevice, cudaDeviceCanAccessPeer(&number, 0, 1));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaDeviceGetPCIBusId(text, 3, 0));
  EXPECT_OK(cudaDeviceGetPCIBusId(text, sizeof text, 0));
  EXPECT_OK(cudaDeviceGetByPCIBusId(&number, text));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaDeviceGetByPCIBusId(&number, "zzz"));
}

TEST(Error, EachHasItsOwnNameAndText) {
  std::set<std::string> names;
  int known = 0;
  for (int code = 0; code <= 10000; ++code) {
    const std::string name = cudaGetErrorName(static_cast<cudaError_t>(code));
    if (name == "unrecognized error code") continue;
    ++known;
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_GT(std::strlen(cudaGetErrorString(static_cast<cudaError_t>(code))), 5u) << name;
  }
  EXPECT_EQ(known, 134);
  EXPECT_STREQ(cudaGetErrorName(cudaErrorCapturedEvent), "cudaErrorCapturedEvent");
  EXPECT_STREQ(cudaGetErrorString(static_cast<cudaError_t>(12345)), "unrecognized error code");
  EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(-1)), "unrecognized error code");
}

TEST(Error, TheLastOneIsKeptPerThreadUntilItIsRead) {
  cudaGetLastError();
  EXPECT_CUDA(cudaErrorInvalidDevice, cudaSetDevice(7));
  EXPECT_OK(cudaSetDevice(0));
  std::thread([] { EXPECT_OK(cudaGetLastError()); }).join();
  EXPECT_CUDA(cudaErrorInvalidDevice, cudaPeekAtLastError());
  EXPECT_CUDA(cudaErrorInvalidDevice, cudaGetLastError());
  EXPECT_OK(cudaGetLastError());
}

TEST(Kernel, LaunchIsRefusedWithTheNameOfTheKernel) {
  static char stub;
  void** module = __cudaRegisterFatBinary(nullptr);
  __cudaRegisterFunction(module, &stub, &stub, "_Z9upsample2PKfPfi", -1, nullptr, nullptr, nullptr,
                         nullptr, nullptr);
  __cudaRegisterFatBinaryEnd(module);
  forget_refused_kernel();
  EXPECT_STREQ(refused_kernel(), "");
  // What `kernel<<<grid, block, bytes, stream>>>(...)` turns into.
  EXPECT_EQ(__cudaPushCallConfiguration(dim3(2, 3), dim3(64), 128, cudaStreamPerThread), 0u);
  cudaKernel_t kernel = nullptr;
  EXPECT_OK(__cudaGetKernel(&kernel, &stub));
  dim3 grid, block;
  std::size_t bytes = 0;
  cudaStream_t stream = nullptr;
  EXPECT_OK(__cudaPopCallConfiguration(&grid, &block, &bytes, &stream));
  EXPECT_EQ(grid.y, 3u);
  EXPECT_EQ(block.x, 64u);
  EXPECT_EQ(bytes, 128u);
  EXPECT_EQ(stream, cudaStreamPerThread);
  ::testing::internal::CaptureStderr();
  EXPECT_CUDA(cudaErrorNoKernelImageForDevice,
              __cudaLaunchKernel(kernel, grid, block, nullptr, bytes, stream));
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_STREQ(refused_kernel(), "upsample2(float const*, float*, int)");
  EXPECT_NE(said.find("upsample2"), std::string::npos) << said;
  EXPECT_CUDA(cudaErrorNoKernelImageForDevice, cudaGetLastError());
  EXPECT_CUDA(cudaErrorNoKernelImageForDevice,
              cudaLaunchKernel(static_cast<const void*>(&stub), grid, block, nullptr, 0, nullptr));
  int blocks = 0;
  EXPECT_CUDA(cudaErrorNoKernelImageForDevice,
              cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                  &blocks, static_cast<const void*>(&stub), 64, 0));
  __cudaUnregisterFatBinary(module);
  EXPECT_CUDA(cudaErrorMissingConfiguration,
              __cudaPopCallConfiguration(&grid, &block, &bytes, &stream));
  EXPECT_CUDA(cudaErrorInvalidDeviceFunction, cudaLaunchKernel(static_cast<const void*>(nullptr),
                                                               grid, block, nullptr, 0, nullptr));
  cudaGetLastError();
}

TEST(Refusal, IsNamedOnceAndHasAnError) {
  cudaIpcMemHandle_t handle;
  ::testing::internal::CaptureStderr();
  EXPECT_CUDA(cudaErrorNotSupported, cudaIpcGetMemHandle(&handle, nullptr));
  EXPECT_CUDA(cudaErrorNotSupported, cudaIpcGetMemHandle(&handle, nullptr));
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(said, "tenon cudart: cudaIpcGetMemHandle is not supported yet\n");
  EXPECT_CUDA(cudaErrorNotSupported, cudaGetLastError());
}

}  // namespace
}  // namespace tenon::cudart
