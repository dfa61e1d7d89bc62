// : hangs: 0 of 64 threads have ended
#include <cuda_runtime.h>

__global__ void half(int* out) {
  int value = threadIdx.x;
  if (threadIdx.x % 32 < 16)
    value = __shfl_xor_sync(0xffffffff, value, 1);  // here
  else
    __syncthreads();
  out[threadIdx.x] = value;
}

int main() {
  int* out = nullptr;
  cudaMalloc(&out, 64 * sizeof(int));
  half<<<1, 64>>>(out);
  return cudaDeviceSynchronize();
}
