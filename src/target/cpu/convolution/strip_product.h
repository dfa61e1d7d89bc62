// Products of packed rows with panels of weights: a task copies the rows that it multiplies in
// strips of as many as the loop holds sums of, so that what it reads lies one after the other.
#pragma once

#include <cstring>

#include "target/cpu/convolution/direct_panels.h"

namespace tenon::cpu {

/// Where results lie, and what becomes of them.
struct StripResults {
  int64_t vector_step,
      row_step;  // floats from a vector of maps to the next, from a row to the next
  float least, most;
};

/// Copies `count` elements of a vector of `lanes`, 8 or 16.
inline void copy_vector(const float* from, int64_t count, int64_t lanes, float* to) {
  // Whole vectors by a few instructions, not by a call.
  if (count == 8 && lanes == 8)
    std::memcpy(to, from, 8 * sizeof(float));
  else if (count == 16)
    std::memcpy(to, from, 16 * sizeof(float));
  else
    std::copy_n(from, count, to);
}

/// Data that the next task packs: rows of so many floats, `step` apart.
struct NextData {
  const float* first = nullptr;
  int64_t rows = 0, floats = 0, step = 0;
};

class StripProduct {
 public:
  StripProduct() = default;
  StripProduct(const DirectWeights& weights, int64_t depth, const StripResults& results);

  /// The most rows of a strip.
  static int64_t strip() { return direct_loops().strip; }

  /// Before the tasks of a run: where all results begin, and what is added to them; null for
  /// nothing.
  void begin(float* result, const float* addend);

  /// Packs so many rows, rows * depth floats: for each block of elements, in strips, vector of
  /// elements, row, lane. `copy` copies `count` elements (a vector or, at the end, less) from
  /// element k on, of `rows` rows from row `first` on, which then lie a vector apart.
  template <class Copy> void pack(int64_t rows, float* to, Copy&& copy) const {
    const int64_t lanes = direct_loops().lanes, strips = units(rows, strip());
    for (int64_t b = 0; b < blocks_; ++b) {
      const Share of = block(b);
      const int64_t depth = of.end - of.first;
      for (int64_t k = 0; k < depth; k += lanes)
        for (int64_t s = 0; s < strips; ++s) {
          const Share share = share_of(rows, s, strips);
          const int64_t count = share.end - share.first;
          copy(of.first + k, std::min(lanes, depth - k), share.first, count,
               to + of.first * rows + share.first * units(depth, lanes) * lanes + k * count);
        }
    }
  }

  /// Floats of scratch memory that pack() writes.
  int64_t floats(int64_t rows) const {
    return rows * units(depth_, direct_loops().lanes) * direct_loops().lanes;
  }

  /// Some vectors of maps of rows that were packed, from `out` on, which is where vector 0 of the
  /// first row lies. The next call begins with `vector_after`, of data that are packed before it.
  void run(const float* packed, int64_t rows, int64_t first_vector, int64_t end_vector,
           int64_t vector_after, const NextData& next, float* out) const;

 private:
  // Elements that are summed up before the next ones: panels of more leave the first-level cache.
  Share block(int64_t b) const;
  NextRead of_panel(int64_t vector, const Share& elements) const;

  DirectWeights weights_;
  int64_t depth_ = 0, blocks_ = 0;
  DirectForm form_ = {};
};

}  // namespace tenon::cpu
