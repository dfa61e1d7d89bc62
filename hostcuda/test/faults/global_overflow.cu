// -fsanitize=address: heap-buffer-overflow
#include <cuda_runtime.h>

__global__ void fill(float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) out[i] = 1;  // here
}

int main() {
  float* out = nullptr;
  cudaMalloc(&out, 100 * sizeof(float));
  fill<<<1, 128>>>(out, 100);
  return cudaDeviceSynchronize();
}
