// tensor-core intrinsics (nvcuda::wmma) cannot be compiled for the CPU
#include <mma.h>  // here

__global__ void multiply() {}
