// What is computed of the scaled sums of a layer of integers before they are rounded to bytes.
#pragma once

#include <memory>

#include "cpu/pointwise.h"
#include "cpu/simd/byte_product.h"

namespace tenon::cpu {

/// Numbers lie in a task's workspace, while they are in a cache.
class ByteEpilogue {
 public:
  /// For that many numbers at a time, at most; an empty program is none.
  ByteEpilogue(const PointwiseProgram& program, int64_t numbers);

  bool used() const { return loop_ != nullptr; }
  /// Floats that a task needs for them.
  int64_t floats() const { return used() ? numbers_ : 0; }
  /// The epilogue over so many of them.
  void run(float* numbers, int64_t count) const;

 private:
  int64_t numbers_;
  std::unique_ptr<PointwiseLoop> loop_;
};

/// The same as floats.
ByteResult as_floats(const ByteResult& result);
/// So many numbers, rounded.
void round_numbers(const ByteRounding& rounding, const float* numbers, int64_t count, uint8_t* to);

}  // namespace tenon::cpu
