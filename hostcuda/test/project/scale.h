#pragma once
#include <cuda_runtime.h>

cudaError_t scale(float* values, int n, float factor, cudaStream_t stream);
cudaError_t add(float* values, int n, float what, cudaStream_t stream);
