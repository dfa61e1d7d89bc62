// : threads that have to wait together wait at different places
#include <cuda_runtime.h>

__global__ void both(int* out) {
  if (threadIdx.x < 32) {
    __syncthreads();
    out[0] = 1;
  } else {
    __syncthreads();  // here
    out[1] = 2;
  }
}

int main() {
  int* out = nullptr;
  cudaMalloc(&out, 2 * sizeof(int));
  both<<<1, 64>>>(out);
  return cudaDeviceSynchronize();
}
