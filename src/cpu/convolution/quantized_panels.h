// Weights that stay in 4 or 8 bits in memory, in panels, and become floats as they are multiplied.
#pragma once

#include "backend/target.h"
#include "base/parallel.h"
#include "cpu/simd/kernels.h"

namespace tenon::cpu {

/// A matrix with a column for each output channel; a row is what output channels are multiplied
/// with. Its numbers are (value - zero) * scale, in float32.
struct QuantizedPanels {
  int64_t bits = 0;  // 4 or 8
  int64_t rows = 0;
  int64_t group = 0;  // rows that share a scale and a zero point
  Tensor values;      // bytes, a vector wide: panel, row (two in one of 4 bits), output channel
  Tensor scale;       // floats: panel, group, output channel
  Tensor zero;        // as `scale`, or one for all

  /// Of `rows` x `output_channels` weights, or the transposed, that a Dequantize of constants made.
  /// The reason where they are none.
  static Variant<QuantizedPanels, std::string> take(const Folded* folded, bool is_transposed,
                                                    int64_t rows, int64_t output_channels);

  void visit(FieldVisitor& v);
  /// Whether the tensors have so many output channels, for the vectors of this machine.
  bool fit(int64_t output_channels) const;
  /// Rows of the panel that begins with that output channel and is so wide, as floats. They begin
  /// with an even one.
  void dequantize(int64_t output_channel, int64_t width, const Share& of, float* to) const;
  /// sums[r * width + i] += row r of `x`, whose rows lie `x_step` apart, times the column of that
  /// output channel; up to kFewRows rows.
  void multiply(int64_t output_channel, int64_t width, const float* x, int64_t x_step,
                int64_t x_rows, float* sums) const;
  /// What dequantize() reads of the values.
  NextRead read_of(int64_t output_channel, int64_t width, const Share& of) const;

 private:
  // Of rows from 1 on, whose number a plan says.
  int64_t groups() const { return (rows - 1) / group + 1; }
  int64_t packed_rows() const { return bits == 4 ? rows / 2 + rows % 2 : rows; }
  Shape packed_shape(int64_t output_channels) const;
  const uint8_t* packed(int64_t output_channel, int64_t width, int64_t row) const;
  /// Calls `body(group, row)` for parts of `of` that share a scale and begin with that row.
  template <class Body>
  void for_groups(int64_t output_channel, int64_t width, const Share& of, const Body& body) const;
};

}  // namespace tenon::cpu
