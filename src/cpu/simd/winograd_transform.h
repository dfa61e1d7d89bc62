// The transform of weights for Winograd's convolution, compiled once for each instruction set.
#pragma once

#include <cstdint>

namespace tenon::cpu {

/// Output channels that are transformed together.
constexpr int kTransformLanes = 16;
constexpr int kMaxWinogradTaps = 5, kMaxWinogradSize = 8;

/// G of the algorithm: a row of `window` numbers for each of so many points.
struct WinogradPoints {
  int size, window;
  double rows[kMaxWinogradSize][kMaxWinogradTaps];
};

/// G times taps times the transpose of G, in double precision. Taps: column, row, lane. The first
/// `lanes` of element (i, j) go to out + planes[i * size + j], unless that offset is negative.
/// Other threads may read them behind a barrier for what goes past the caches (x86's sfence).
using WinogradTransform = void (*)(const WinogradPoints& g, const float* taps, float* out,
                                   const int64_t* planes, int lanes);

/// That of simd_kernels().
WinogradTransform winograd_transform();

namespace baseline {
extern const WinogradTransform kWinogradTransform;
}
namespace avx2 {
extern const WinogradTransform kWinogradTransform;
}
namespace avx512 {
extern const WinogradTransform kWinogradTransform;
}

}  // namespace tenon::cpu
