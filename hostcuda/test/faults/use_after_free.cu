// -fsanitize=address: heap-use-after-free
#include <cuda_runtime.h>

__global__ void fill(float* out) {
  out[threadIdx.x] = 1;  // here
}

int main() {
  float* out = nullptr;
  cudaMalloc(&out, 64 * sizeof(float));
  cudaFree(out);
  fill<<<1, 64>>>(out);
  return cudaDeviceSynchronize();
}
