// -fsanitize=thread: data race
#include <cuda_runtime.h>

__global__ void shift(float* out) {
  __shared__ float all[64];
  for (int i = 0; i < 4; ++i) {
    all[threadIdx.x] = static_cast<float>(i);  // here
    __syncthreads();
    out[threadIdx.x] += all[(threadIdx.x + 1) % 64];
  }
}

int main() {
  float* out = nullptr;
  cudaMalloc(&out, 64 * sizeof(float));
  cudaMemset(out, 0, 64 * sizeof(float));
  shift<<<1, 64>>>(out);
  return cudaDeviceSynchronize();
}
