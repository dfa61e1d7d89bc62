// : the block has more threads than __launch_bounds__ promises
#include <cuda_runtime.h>

__global__ __launch_bounds__(64) void fill(float* out) {
  out[threadIdx.x] = 1;
}

int main() {
  float* out = nullptr;
  cudaMalloc(&out, 128 * sizeof(float));
  fill<<<1, 128>>>(out);  // here
  return cudaGetLastError();
}
