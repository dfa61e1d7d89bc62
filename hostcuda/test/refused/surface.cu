// surf2Dread: a surface cannot be compiled for the CPU
#include <cuda_runtime.h>

__global__ void read(cudaSurfaceObject_t image, float* out) {
  out[threadIdx.x] = surf2Dread<float>(image, threadIdx.x * 4, 0);  // here
}

void launch(cudaSurfaceObject_t image, float* out) {
  read<<<1, 32>>>(image, out);
}
