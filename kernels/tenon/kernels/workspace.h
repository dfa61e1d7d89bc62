/// A plugin's workspace, cut into arrays.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::kernels {

/// Gives out arrays one after the other. Without memory it only counts, so that one function says
/// both how much is wanted and what lies where.
class Carver {
 public:
  explicit Carver(void* memory = nullptr) : memory_(static_cast<char*>(memory)) {}

  /// `count` elements on a cache line of their own; null when there is no memory.
  template <class E> E* array(int64_t count) {
    E* const first = memory_ == nullptr ? nullptr : reinterpret_cast<E*>(memory_ + used_);
    constexpr size_t kLine = 64;
    const size_t bytes = count > 0 ? static_cast<size_t>(count) * sizeof(E) : 0;
    used_ += (bytes + kLine - 1) / kLine * kLine;
    return first;
  }
  size_t bytes() const { return used_; }

 private:
  char* memory_;
  size_t used_ = 0;
};

}  // namespace tenon::kernels
