#include "cpu/turn_rows.h"

#include <algorithm>

#include "cpu/simd/kernels.h"

namespace tenon::cpu {
namespace {

/// Rows and elements of a tile that simd_kernels().turn turns.
constexpr int64_t kTile = 8;
/// Elements that are read of some rows before those of the next: whole lines of the cache, one
/// after the other, while what is written of them stays in the cache.
constexpr int64_t kElements = 64;

void turn_plainly(const float* from, int64_t step, int64_t rows, int64_t count, float* to,
                  int64_t width) {
  for (int64_t k = 0; k < count; ++k)
    for (int64_t r = 0; r < rows; ++r) to[k * width + r] = from[r * step + k];
}

}  // namespace

void turn_rows(const float* from, int64_t step, int64_t rows, int64_t count, float* to,
               int64_t width) {
  const auto turn = simd_kernels().turn;
  const int64_t tiled = rows / kTile * kTile;
  for (int64_t begin = 0; begin < count; begin += kElements) {
    const int64_t end = std::min(begin + kElements, count);
    const int64_t tiled_end = begin + (end - begin) / kTile * kTile;
    for (int64_t r = 0; r < tiled; r += kTile) {
      for (int64_t k = begin; k < tiled_end; k += kTile)
        turn(reinterpret_cast<const uint32_t*>(from + r * step + k), step,
             reinterpret_cast<uint32_t*>(to + k * width + r), width);
      turn_plainly(from + r * step + tiled_end, step, kTile, end - tiled_end,
                   to + tiled_end * width + r, width);
    }
    turn_plainly(from + tiled * step + begin, step, rows - tiled, end - begin,
                 to + begin * width + tiled, width);
  }
}

}  // namespace tenon::cpu
