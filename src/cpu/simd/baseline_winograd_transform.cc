// The transform of weights for Winograd's convolution.
#include "cpu/simd/winograd_transform_inl.h"

namespace tenon::cpu {

const WinogradTransform baseline::kWinogradTransform = transform_winograd;

}  // namespace tenon::cpu
