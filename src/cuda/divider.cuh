// Division by a number that is known before a kernel starts.
#pragma once

#include <cstdint>

namespace tenon::cuda {

/// Numbers from 0 to 2^31 - 1 divided by one from 1 to 2^31 - 1: a multiplication and a shift.
/// (Granlund and Montgomery, Division by Invariant Integers using Multiplication, 1994.)
class Divider {
 public:
  Divider() = default;
  explicit Divider(int64_t divisor) : divisor_(static_cast<uint32_t>(divisor)) {
    while ((uint64_t{1} << shift_) < divisor_) ++shift_;
    const uint64_t excess = (uint64_t{1} << shift_) - divisor_;
    magic_ = static_cast<uint32_t>((excess << 32) / divisor_ + 1);
  }
  __device__ uint32_t quotient(uint32_t n) const { return (__umulhi(n, magic_) + n) >> shift_; }
  /// Takes the remainder out of `n`, which becomes the quotient.
  __device__ uint32_t split(uint32_t& n) const {
    const uint32_t whole = quotient(n), rest = n - whole * divisor_;
    n = whole;
    return rest;
  }

 private:
  uint32_t divisor_ = 1, magic_ = 1, shift_ = 0;
};

}  // namespace tenon::cuda
