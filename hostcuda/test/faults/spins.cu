// : block (0, 0, 0) of 64 threads
#include <cuda_runtime.h>

__global__ void passes_on(volatile int* turn) {
  while (*turn != static_cast<int>(63 - threadIdx.x)) {}
  *turn = *turn + 1;
}

int main() {
  int* turn = nullptr;
  cudaMalloc(&turn, sizeof(int));
  cudaMemset(turn, 0, sizeof(int));
  passes_on<<<1, 64>>>(turn);  // here
  return cudaDeviceSynchronize();
}
