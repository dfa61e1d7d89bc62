// Rows become columns: weights of output channels, each of which lies together, are packed so that
// vectors hold one element of many.
#pragma once

#include <cstdint>

namespace tenon::cpu {

/// Writes element k of row r to to[k * width + r], for `count` elements of so many rows, which lie
/// `step` apart. Runs on the caller's thread.
void turn_rows(const float* from, int64_t step, int64_t rows, int64_t count, float* to,
               int64_t width);

}  // namespace tenon::cpu
