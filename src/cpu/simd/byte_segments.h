// The pixels of products of bytes, in pieces of rows that are computed together.
#pragma once

#include <algorithm>

#include "cpu/simd/byte_product.h"

namespace tenon::cpu {
namespace {

// Pixels of a row, some of those that are computed together.
struct Segment {
  const uint8_t* first;
  int64_t pixels, out;
};

/// Calls `run` with arrays of two segments of up to P pixels, of one at the end, until they are the
/// pixels [begin, end) of all rows.
template <int64_t P, class Run>
void for_segments(const ByteWindows& w, ByteResultSteps out_steps, int64_t begin, int64_t end,
                  const Run& run) {
  if (begin == end) return;
  int64_t row = 0, pixel = begin;
  const auto next = [&] {
    const Segment segment = {w.first + row * w.row_step + pixel * w.pixel_step,
                             std::min<int64_t>(end - pixel, P),
                             row * out_steps.row + pixel * out_steps.pixel};
    pixel += P;
    if (pixel >= end) {
      pixel = begin;
      ++row;
    }
    return segment;
  };
  while (row < w.rows) {
    const Segment first[] = {next()};
    if (row < w.rows) {
      const Segment both[] = {first[0], next()};
      run(both);
    } else {
      run(first);
    }
  }
}

}  // namespace
}  // namespace tenon::cpu
