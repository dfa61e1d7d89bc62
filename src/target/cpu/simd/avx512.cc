#define TENON_SIMD_NAMESPACE avx512
#include "target/cpu/simd/kernels_inl.h"
