#define TENON_SIMD_NAMESPACE avx512
#include "cpu/simd/kernels_inl.h"
