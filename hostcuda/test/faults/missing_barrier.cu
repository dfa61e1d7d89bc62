// -fsanitize=thread: data race
#include <cuda_runtime.h>

__global__ void reduce(const float* in, float* out) {
  __shared__ float all[64];
  all[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int half = 32; half > 0; half >>= 1) {
    if (threadIdx.x < half) all[threadIdx.x] += all[threadIdx.x + half];  // here
  }
  if (threadIdx.x == 0) *out = all[0];
}

int main() {
  float *in = nullptr, *out = nullptr;
  cudaMalloc(&in, 64 * sizeof(float));
  cudaMalloc(&out, sizeof(float));
  cudaMemset(in, 0, 64 * sizeof(float));
  reduce<<<1, 64>>>(in, out);
  return cudaDeviceSynchronize();
}
