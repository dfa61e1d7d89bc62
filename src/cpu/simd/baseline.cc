#define TENON_SIMD_NAMESPACE baseline
#include "cpu/simd/kernels_inl.h"
