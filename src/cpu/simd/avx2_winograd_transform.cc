// The transform of weights for Winograd's convolution with AVX2.
#if defined(__x86_64__)
#include "cpu/simd/winograd_transform_inl.h"

namespace tenon::cpu {

const WinogradTransform avx2::kWinogradTransform = transform_winograd;

}  // namespace tenon::cpu
#endif
