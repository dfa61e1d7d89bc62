/// Facts of CUDA 13's binary interface. The file is compiled with our headers and, where there is a
/// toolkit, with its headers: both worlds must agree, and both must run with our library.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <type_traits>

#define LAYOUT(type, size, alignment) \
  static_assert(sizeof(type) == size && alignof(type) == alignment, #type)
#define OFFSET(type, field, offset) static_assert(offsetof(type, field) == offset, #type "." #field)
#define VALUE(name, number) static_assert(static_cast<int>(name) == number, #name)

OFFSET(cudaDeviceProp, luid, 272);
OFFSET(cudaDeviceProp, totalGlobalMem, 288);
OFFSET(cudaDeviceProp, regsPerBlock, 304);
OFFSET(cudaDeviceProp, memPitch, 312);
OFFSET(cudaDeviceProp, maxGridSize, 336);
OFFSET(cudaDeviceProp, major, 360);
OFFSET(cudaDeviceProp, multiProcessorCount, 384);
OFFSET(cudaDeviceProp, maxTexture2DGather, 432);
OFFSET(cudaDeviceProp, surfaceAlignment, 552);
OFFSET(cudaDeviceProp, pciBusID, 568);
OFFSET(cudaDeviceProp, unifiedAddressing, 588);
OFFSET(cudaDeviceProp, managedMemory, 636);
OFFSET(cudaDeviceProp, sharedMemPerBlockOptin, 672);
OFFSET(cudaDeviceProp, memoryPoolsSupported, 720);
OFFSET(cudaDeviceProp, hostNumaId, 768);
OFFSET(cudaDeviceProp, reserved, 784);
OFFSET(cudaPointerAttributes, device, 4);
OFFSET(cudaPointerAttributes, devicePointer, 8);
OFFSET(cudaPointerAttributes, hostPointer, 16);
OFFSET(cudaFuncAttributes, maxThreadsPerBlock, 24);
OFFSET(cudaFuncAttributes, maxDynamicSharedSizeBytes, 44);
OFFSET(cudaFuncAttributes, nonPortableClusterSizeAllowed, 72);
LAYOUT(cudaDeviceProp, 1008, 8);
LAYOUT(cudaPointerAttributes, 88, 8);
LAYOUT(cudaFuncAttributes, 144, 8);
LAYOUT(cudaMemLocation, 8, 4);
LAYOUT(cudaGraphExecUpdateResultInfo, 24, 8);
LAYOUT(cudaGraphEdgeData, 8, 1);
LAYOUT(cudaIpcMemHandle_t, 64, 1);
LAYOUT(cudaIpcEventHandle_t, 64, 1);
LAYOUT(cudaUUID_t, 16, 1);
LAYOUT(cudaChannelFormatDesc, 20, 4);
LAYOUT(dim3, 12, 4);
LAYOUT(char2, 2, 2);
LAYOUT(uchar3, 3, 1);
LAYOUT(uchar4, 4, 4);
LAYOUT(short2, 4, 4);
LAYOUT(ushort4, 8, 8);
LAYOUT(int2, 8, 8);
LAYOUT(uint3, 12, 4);
LAYOUT(int4, 16, 16);
LAYOUT(long2, 16, 16);
LAYOUT(float2, 8, 8);
LAYOUT(float3, 12, 4);
LAYOUT(float4, 16, 16);
LAYOUT(longlong2, 16, 16);
LAYOUT(double2, 16, 16);
LAYOUT(double4_16a, 32, 16);
LAYOUT(double4_32a, 32, 32);
LAYOUT(longlong4_16a, 32, 16);
LAYOUT(ulonglong4_32a, 32, 32);
VALUE(cudaErrorMemoryAllocation, 2);
VALUE(cudaErrorNoKernelImageForDevice, 209);
VALUE(cudaErrorInvalidResourceHandle, 400);
VALUE(cudaErrorNotReady, 600);
VALUE(cudaErrorLaunchFailure, 719);
VALUE(cudaErrorNotPermitted, 800);
VALUE(cudaErrorNotSupported, 801);
VALUE(cudaErrorStreamCaptureUnsupported, 900);
VALUE(cudaErrorStreamCaptureWrongThread, 908);
VALUE(cudaErrorUnknown, 999);
VALUE(cudaMemcpyDefault, 4);
VALUE(cudaMemoryTypeManaged, 3);
VALUE(cudaDevAttrMultiProcessorCount, 16);
VALUE(cudaDevAttrComputeCapabilityMinor, 76);
VALUE(cudaDevAttrManagedMemory, 83);
VALUE(cudaDevAttrMaxSharedMemoryPerBlockOptin, 97);
VALUE(cudaDevAttrMemoryPoolsSupported, 115);
VALUE(cudaDevAttrHostNumaMultinodeIpcSupported, 143);
VALUE(cudaDevAttrMax, 148);
VALUE(cudaLimitPersistingL2CacheSize, 6);
VALUE(cudaFuncAttributeMaxDynamicSharedMemorySize, 8);
VALUE(cudaStreamCaptureModeRelaxed, 2);
VALUE(cudaStreamCaptureStatusInvalidated, 2);
VALUE(cudaGraphInstantiateFlagUseNodePriority, 8);
VALUE(cudaGraphExecUpdateErrorAttributesChanged, 8);
VALUE(cudaGraphNodeTypeCount, 14);
VALUE(cudaMemPoolAttrUsedMemHigh, 8);
VALUE(cudaMemAdviseUnsetAccessedBy, 6);
VALUE(cudaMemLocationTypeHostNumaCurrent, 4);
VALUE(cudaChannelFormatKindUnsignedNormalized1010102, 31);
VALUE(CUDA_R_16BF, 14);
VALUE(CUDA_R_8F_E4M3, 28);
VALUE(CUDA_R_4F_E2M1, 33);
VALUE(cudaStreamNonBlocking, 1);
VALUE(cudaEventDisableTiming, 2);
VALUE(cudaEventInterprocess, 4);
VALUE(cudaHostAllocWriteCombined, 4);
VALUE(cudaHostRegisterReadOnly, 8);
VALUE(cudaDeviceScheduleBlockingSync, 4);
VALUE(cudaDeviceMask, 255);
VALUE(cudaMemAttachSingle, 4);
VALUE(cudaCpuDeviceId, -1);
VALUE(cudaInvalidDeviceId, -2);

static_assert(std::is_same_v<cudaStream_t, CUstream_st*>);
static_assert(std::is_same_v<cudaEvent_t, CUevent_st*>);
static_assert(std::is_same_v<cudaGraph_t, CUgraph_st*>);
static_assert(std::is_same_v<cudaGraphExec_t, CUgraphExec_st*>);
static_assert(std::is_same_v<std::underlying_type_t<cudaError>, unsigned>);

namespace {

/// The calls that TensorRT programs make, with the overloads and defaults that they rely on.
TEST(Abi, AnApplicationRuns) {
  cudaDeviceProp prop;
  std::memset(&prop, 0xff, sizeof prop);
  ASSERT_EQ(cudaGetDeviceProperties(&prop, 0), cudaSuccess);
  EXPECT_GT(std::strlen(prop.name), 0u);
  EXPECT_EQ(prop.warpSize, 32);
  EXPECT_EQ(prop.hostNumaId, -1);
  EXPECT_EQ(prop.reserved[0], 0);

  cudaStream_t stream;
  cudaEvent_t start, end;
  float* device = nullptr;
  float* pinned = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&start), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&end, cudaEventBlockingSync), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&device, 4 * sizeof(float)), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&pinned, 4 * sizeof(float)), cudaSuccess);
  const float4 value = make_float4(1, 2, 3, 4);
  ASSERT_EQ(cudaEventRecord(start, stream), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(device, &value, sizeof value, cudaMemcpyHostToDevice, stream),
            cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(pinned, device, sizeof value, cudaMemcpyDeviceToHost, stream),
            cudaSuccess);
  ASSERT_EQ(cudaEventRecord(end, stream), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(cudaStreamPerThread, end), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
  EXPECT_EQ(pinned[3], 4.0f);
  float ms = -1;
  ASSERT_EQ(cudaEventElapsedTime(&ms, start, end), cudaSuccess);
  EXPECT_GE(ms, 0.0f);

  cudaGraph_t graph;
  cudaGraphExec_t exec;
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(pinned, 0, sizeof value, stream), cudaSuccess);
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(pinned[3], 0.0f);

  cudaPointerAttributes attributes;
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, device), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes.devicePointer, device);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaFree(device), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(start), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(end), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

}  // namespace
