#define TENON_SIMD_NAMESPACE avx2
#include "cpu/simd/kernels_inl.h"
