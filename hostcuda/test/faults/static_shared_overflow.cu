// -fsanitize=address: use-after-poison
#include <cuda_runtime.h>

__global__ void reverse(float* out) {
  __shared__ float all[64];
  all[threadIdx.x] = static_cast<float>(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = all[64 - threadIdx.x];  // here
}

int main() {
  float* out = nullptr;
  cudaMalloc(&out, 64 * sizeof(float));
  reverse<<<1, 64>>>(out);
  return cudaDeviceSynchronize();
}
