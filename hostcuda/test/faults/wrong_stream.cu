// -fsanitize=thread: data race
#include <cuda_runtime.h>

__global__ void fill(float* out) {
  out[threadIdx.x] = 1;  // here
}

__global__ void twice(float* out) {
  out[threadIdx.x] *= 2;
}

int main() {
  float* out = nullptr;
  cudaStream_t first, second;
  cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  cudaMalloc(&out, 64 * sizeof(float));
  fill<<<1, 64, 0, first>>>(out);
  twice<<<1, 64, 0, second>>>(out);  // without an event between them
  return cudaDeviceSynchronize();
}
