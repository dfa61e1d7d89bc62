// The transform of weights for Winograd's convolution with AVX-512.
#if defined(__x86_64__)
#include "cpu/simd/winograd_transform_inl.h"

namespace tenon::cpu {

const WinogradTransform avx512::kWinogradTransform = transform_winograd;

}  // namespace tenon::cpu
#endif
