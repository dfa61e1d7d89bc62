// The 16-bit floating-point element types: IEEE half and bfloat16.
#pragma once

#include <bit>
#include <cstdint>

namespace tenon {

using Half = _Float16;

/// The upper half of a float; conversion from float rounds to nearest, ties to even.
struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    if ((word & 0x7fffffffu) > 0x7f800000u)
      bits = static_cast<uint16_t>(word >> 16 | 0x40u);  // a NaN stays one
    else
      bits = static_cast<uint16_t>((word + 0x7fffu + (word >> 16 & 1u)) >> 16);
  }
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
};

}  // namespace tenon
