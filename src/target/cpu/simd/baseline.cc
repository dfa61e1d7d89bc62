#define TENON_SIMD_NAMESPACE baseline
#include "target/cpu/simd/kernels_inl.h"
