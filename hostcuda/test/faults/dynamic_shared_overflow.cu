// -fsanitize=address: use-after-poison
#include <cuda_runtime.h>

__global__ void copy(float* out) {
  extern __shared__ float all[];
  all[threadIdx.x] = 1;  // here
  __syncthreads();
  out[threadIdx.x] = all[threadIdx.x];
}

int main() {
  float* out = nullptr;
  cudaMalloc(&out, 64 * sizeof(float));
  copy<<<1, 64, 63 * sizeof(float)>>>(out);
  return cudaDeviceSynchronize();
}
