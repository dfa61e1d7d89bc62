#define TENON_SIMD_NAMESPACE avx2
#include "target/cpu/simd/kernels_inl.h"
