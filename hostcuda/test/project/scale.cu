#include "scale.h"

__global__ void scale_kernel(float* values, int n, float factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] *= factor;
}

cudaError_t scale(float* values, int n, float factor, cudaStream_t stream) {
  scale_kernel<<<(n + 127) / 128, 128, 0, stream>>>(values, n, factor);
  return cudaGetLastError();
}
