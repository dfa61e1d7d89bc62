#include "scale.h"

__global__ void add_kernel(float* values, int n, float what) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) values[i] += what;
}

cudaError_t add(float* values, int n, float what, cudaStream_t stream) {
  add_kernel<<<1, 64, 0, stream>>>(values, n, what);
  return cudaGetLastError();
}
