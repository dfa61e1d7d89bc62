// Products of packed rows with panels of weights: a task copies the rows that it multiplies in
// panels of rows of as many as the loop holds sums of, so that what it reads lies one after the
// other.
#pragma once

#include <cstring>

#include "cpu/convolution/direct_panels.h"

namespace tenon::cpu {

/// How data and results lie, and what becomes of the latter.
struct PackedForm {
  bool rows_are_together;  // the elements of a row of the data; else a vector of them of all rows
  int64_t vector_step;     // floats of the result from a vector of output channels to the next
  int64_t row_step;        // and from a row to the next
  float lower, upper;
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

/// Data that will be packed: rows of so many floats, `step` apart.
struct NextData {
  const float* first = nullptr;
  int64_t rows = 0, floats = 0, step = 0;
};

/// What a task multiplies.
struct PackedTask {
  int64_t rows, first_vector, end_vector;
  int64_t vector_after;  // where the next task begins
  float* out;            // where vector 0 of the first row lies
};

class PackedProduct {
 public:
  PackedProduct() = default;
  PackedProduct(const DirectWeights& weights, int64_t depth, const PackedForm& form);

  /// The tasks of so many rows of each image, whose panels of rows are blocks of the partition.
  Partition divide(int64_t images, int64_t rows, int64_t vectors);
  /// Floats of scratch memory of each.
  int64_t task_floats(const Partition& tasks) const;
  /// Rows of one of them, in its image.
  Share rows_of(const Partition::Task& task) const;

  /// Before the tasks of a run: where all results begin, and what is added to them; null for
  /// nothing.
  void begin(float* result, const float* addend);

  /// `copy(k, count, row, rows, to)` copies `count` elements (a vector or, at the end, less) from
  /// element k on, of `rows` rows from row `row` of the task on, which then lie a vector apart.
  /// `data(elements, is_next)` are such elements of all rows of the task, or of those of the next
  /// one: it may be nothing.
  template <class Copy, class Data>
  void run(const PackedTask& task, float* workspace, const Copy& copy, const Data& data) const {
    float* const rows = workspace + panel_floats();
    for (int64_t b = 0; b < blocks_; ++b) {
      pack(block(b), task.rows, rows, copy);
      const bool is_last = b + 1 == blocks_;
      multiply(task, b, rows, workspace, data(block(is_last ? 0 : b + 1), is_last));
    }
  }

 private:
  // The most rows of a panel of rows.
  static int64_t max_panel_rows() { return direct_loops().max_panel_rows; }
  // Elements that are summed up before the next ones.
  Share block(int64_t b) const;
  int64_t block_elements() const;  // the most of them, in whole vectors
  // Of scratch memory, for a panel's weights that are quantized in memory.
  int64_t panel_floats() const {
    return weights_.quantized ? block_elements() * direct_panel() : 0;
  }

  // In panels of rows, vector of elements, row, lane.
  template <class Copy>
  void pack(const Share& elements, int64_t rows, float* to, const Copy& copy) const {
    const int64_t lanes = direct_loops().lanes, row_panels = units(rows, max_panel_rows());
    const int64_t depth = elements.end - elements.first, vectors = units(depth, lanes);
    const auto copy_vectors = [&](int64_t vector, int64_t s) {
      const Share share = share_of(rows, s, row_panels);
      const int64_t count = share.end - share.first, k = vector * lanes;
      copy(elements.first + k, std::min(lanes, depth - k), share.first, count,
           to + share.first * vectors * lanes + k * count);
    };
    // As the data lie.
    if (rows_are_together_)
      for (int64_t s = 0; s < row_panels; ++s)
        for (int64_t v = 0; v < vectors; ++v) copy_vectors(v, s);
    else
      for (int64_t v = 0; v < vectors; ++v)
        for (int64_t s = 0; s < row_panels; ++s) copy_vectors(v, s);
  }
  void multiply(const PackedTask& task, int64_t b, const float* packed, float* panel,
                const NextData& next) const;
  NextRead of_panel(int64_t vector, const Share& elements) const;

  DirectWeights weights_;
  int64_t depth_ = 0, blocks_ = 0;
  int64_t rows_ = 0;        // of an image
  int64_t near_bytes_ = 0;  // of the L2 cache, that weights may fill
  bool rows_are_together_ = false;
  DirectForm form_ = {};
};

}  // namespace tenon::cpu
