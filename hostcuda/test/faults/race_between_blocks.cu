// -fsanitize=thread: data race
#include <cuda_runtime.h>

__global__ void count(int* out) {
  if (threadIdx.x == 0) *out += 1;  // here
}

int main() {
  int* out = nullptr;
  cudaMalloc(&out, sizeof(int));
  cudaMemset(out, 0, sizeof(int));
  count<<<4, 32>>>(out);
  return cudaDeviceSynchronize();
}
