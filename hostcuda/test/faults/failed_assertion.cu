// : assertion `out[threadIdx.x] == 0' failed
#include <cuda_runtime.h>

#include <cassert>

__global__ void look(const int* out) {
  assert(out[threadIdx.x] == 0);  // here
}

int main() {
  int* out = nullptr;
  cudaMalloc(&out, 64 * sizeof(int));
  cudaMemset(out, 1, 64 * sizeof(int));
  look<<<1, 64>>>(out);
  return cudaDeviceSynchronize();
}
