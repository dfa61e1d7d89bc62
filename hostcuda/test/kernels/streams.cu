// Work in streams: order, events, copies, graphs, and the memory that kernels may touch.
#include "suite.h"

__global__ void append(int* x, int n, int digit) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * 10 + digit;
}

KERNEL_CASE(order_of_streams) {
  cudaStream_t a = nullptr, b = nullptr;
  cudaEvent_t half_way = nullptr;
  suite::require(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking), "stream");
  suite::require(cudaStreamCreateWithPriority(&b, cudaStreamNonBlocking, 0), "stream");
  suite::require(cudaEventCreateWithFlags(&half_way, cudaEventDisableTiming), "event");
  int *x = nullptr, *copy = nullptr;
  suite::require(cudaMallocAsync(&x, 100 * sizeof(int), a), "cudaMallocAsync");
  suite::require(cudaMallocHost(&copy, 100 * sizeof(int)), "cudaMallocHost");
  suite::require(cudaMemsetAsync(x, 0, 100 * sizeof(int), a), "cudaMemsetAsync");
  append<<<4, 32, 0, a>>>(x, 100, 1);
  append<<<4, 32, 0, a>>>(x, 100, 2);
  suite::require(cudaEventRecord(half_way, a), "cudaEventRecord");
  suite::require(cudaStreamWaitEvent(b, half_way, 0), "cudaStreamWaitEvent");
  append<<<4, 32, 0, b>>>(x, 100, 3);
  suite::require(cudaMemcpyAsync(copy, x, 100 * sizeof(int), cudaMemcpyDeviceToHost, b), "copy");
  int called = 0;
  suite::require(cudaLaunchHostFunc(
                     b, [](void* place) { *static_cast<int*>(place) = 5; }, &called),
                 "cudaLaunchHostFunc");
  suite::require(cudaStreamSynchronize(b), "cudaStreamSynchronize");
  suite::check("copied", std::vector<int>(copy, copy + 100), std::vector<int>(100, 123));
  suite::check("states", std::vector<int>{called, cudaStreamQuery(b), cudaEventQuery(half_way)},
               std::vector<int>{5, 0, 0});
  cudaFreeAsync(x, b);
  cudaFreeHost(copy);
  cudaEventDestroy(half_way);
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
}

KERNEL_CASE(graphs_of_kernels) {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  suite::Buffer<int> x(size_t{8});
  suite::require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  suite::require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  append<<<1, 8, 0, stream>>>(x, 8, 4);
  append<<<1, 8, 0, stream>>>(x, 4, 5);
  suite::require(cudaStreamEndCapture(stream, &graph), "capture");
  suite::require(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
  for (int i = 0; i < 2; ++i) suite::require(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");
  suite::require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  suite::check("replayed", x.read(), std::vector<int>{4545, 4545, 4545, 4545, 44, 44, 44, 44});
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

__global__ void rows(char* memory, size_t pitch, int height) {
  const int r = threadIdx.y, c = threadIdx.x;
  if (r < height) reinterpret_cast<int*>(memory + static_cast<size_t>(r) * pitch)[c] = 10 * r + c;
}

KERNEL_CASE(kinds_of_memory) {
  char* pitched = nullptr;
  size_t pitch = 0;
  suite::require(cudaMallocPitch(&pitched, &pitch, 5 * sizeof(int), 3), "cudaMallocPitch");
  rows<<<1, dim3(5, 3)>>>(pitched, pitch, 3);
  std::vector<int> dense(15);
  suite::require(cudaMemcpy2D(dense.data(), 5 * sizeof(int), pitched, pitch, 5 * sizeof(int), 3,
                              cudaMemcpyDeviceToHost),
                 "cudaMemcpy2D");
  suite::check("pitched", dense,
               suite::made(15, [](size_t i) { return static_cast<int>(i / 5 * 10 + i % 5); }));
  cudaFree(pitched);
  int *managed = nullptr, *mapped = nullptr, *seen = nullptr;
  suite::require(cudaMallocManaged(&managed, 4 * sizeof(int)), "cudaMallocManaged");
  suite::require(cudaHostAlloc(&mapped, 4 * sizeof(int), cudaHostAllocMapped), "cudaHostAlloc");
  suite::require(cudaHostGetDevicePointer(&seen, mapped, 0), "cudaHostGetDevicePointer");
  for (int i = 0; i < 4; ++i) managed[i] = mapped[i] = i;
  append<<<1, 4>>>(managed, 4, 6);
  append<<<1, 4>>>(seen, 4, 7);
  suite::require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  suite::check("managed", std::vector<int>(managed, managed + 4), std::vector<int>{6, 16, 26, 36});
  suite::check("mapped", std::vector<int>(mapped, mapped + 4), std::vector<int>{7, 17, 27, 37});
  cudaPointerAttributes of_device{}, of_host{};
  suite::Buffer<int> device(size_t{1});
  suite::require(cudaPointerGetAttributes(&of_device, device.data()), "attributes");
  suite::require(cudaPointerGetAttributes(&of_host, mapped), "attributes");
  suite::check("attributes", std::vector<int>{of_device.type, of_host.type},
               std::vector<int>{cudaMemoryTypeDevice, cudaMemoryTypeHost});
  cudaFree(managed);
  cudaFreeHost(mapped);
}
