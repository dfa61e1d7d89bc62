// -fsanitize=memory: use-of-uninitialized-value
#include <cuda_runtime.h>

__global__ void reduce(float* out) {
  __shared__ float all[64];
  if (threadIdx.x < 32) all[threadIdx.x] = 1;
  __syncthreads();
  if (all[threadIdx.x] > 0) out[threadIdx.x] = 1;  // here
}

int main() {
  float* out;
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaMalloc(&out, 64 * sizeof(float));
  reduce<<<1, 64, 0, stream>>>(out);
  return cudaDeviceSynchronize();
}
