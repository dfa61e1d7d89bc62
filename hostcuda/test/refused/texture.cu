// tex2D: a texture cannot be compiled for the CPU
#include <cuda_runtime.h>

__global__ void sample(cudaTextureObject_t image, float* out) {
  out[threadIdx.x] = tex2D<float>(image, threadIdx.x, 0.5f);  // here
}

void launch(cudaTextureObject_t image, float* out) {
  sample<<<1, 32>>>(image, out);
}
