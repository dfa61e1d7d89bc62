// Element types of 8 bits and fewer that hold no plain integer: fp8, fp4, e8m0, and int4, which is
// packed as fp4 is: two elements to a byte, the first in the low half.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace tenon {

/// The largest number of fp8, which is e4m3.
inline constexpr float kLargestFloat8 = 448;

/// How a number becomes an e8m0 scale factor, which is a power of two.
enum class PowerRounding : int32_t { kUp, kDown, kNearest };

struct LowPrecisionRules {
  /// fp8 and e8m0: numbers beyond the range become its ends. Otherwise NaN. fp4 and int4 have no
  /// NaN: fp4 always saturates, int4 always keeps the low four bits.
  bool saturate = true;
  PowerRounding power_rounding = PowerRounding::kUp;
};

/// fp8, fp4, e8m0 and int4.
bool is_low_precision(DataType type);

/// Elements [begin, end) of low-precision data as floats, which hold all of them exactly.
void read_low_precision(DataType type, const void* data, int64_t begin, int64_t end, float* to);

/// Stores elements [begin, end). Floats round to the nearest, ties to even; int4 truncates. Where
/// two elements share a byte, `begin` is even, and `end` is even or the tensor's end.
void write_low_precision(DataType type, const float* from, int64_t begin, int64_t end, void* data,
                         const LowPrecisionRules& rules = {});

}  // namespace tenon
