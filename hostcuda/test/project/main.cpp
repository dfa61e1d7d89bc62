#include <cuda.h>

#include <cstdio>
#include <vector>

#include "scale.h"

// What TensorRT's Python bindings ask the driver with, if there is one.
using PointerGetAttribute = CUresult (*)(void*, CUpointer_attribute, CUdeviceptr);
static_assert(CU_POINTER_ATTRIBUTE_MEMORY_TYPE == 2 && CU_MEMORYTYPE_DEVICE == 2);

int main() {
  std::vector<float> values(1000, 2.f);
  float* device = nullptr;
  const size_t bytes = values.size() * sizeof(float);
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  cudaMalloc(&device, bytes);
  cudaMemcpyAsync(device, values.data(), bytes, cudaMemcpyHostToDevice, stream);
  if (scale(device, 1000, 3, stream) != cudaSuccess || add(device, 1000, 1, stream) != cudaSuccess)
    return 1;
  cudaMemcpyAsync(values.data(), device, bytes, cudaMemcpyDeviceToHost, stream);
  if (cudaStreamSynchronize(stream) != cudaSuccess) return 1;
  std::printf("%g %g\n", values[0], values[999]);
  return values[0] == 7 && values[999] == 7 ? 0 : 1;
}
