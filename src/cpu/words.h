// Kernels that move elements without looking at them: what counts is the size.
#pragma once

#include <cstdint>

namespace tenon::cpu {

/// Calls body(T{}) with the unsigned integer of that many bytes. False, without a call, when there
/// is none.
template <class Body> bool with_word(int64_t bytes, const Body& body) {
  switch (bytes) {
    case 1:
      body(uint8_t{});
      return true;
    case 2:
      body(uint16_t{});
      return true;
    case 4:
      body(uint32_t{});
      return true;
    case 8:
      body(uint64_t{});
      return true;
    default:
      return false;
  }
}

}  // namespace tenon::cpu
