// Arrays in the scratch memory of a reference kernel.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/tensor.h"

namespace tenon {

/// Places arrays one after the other, each at a multiple of 64 bytes. Without memory it only
/// counts, so that the two functions of a ScratchKernel can share one function that takes them.
class Scratch {
 public:
  explicit Scratch(std::byte* memory = nullptr) : memory_(memory) {}

  template <class T> T* take(int64_t count) {
    std::byte* at = memory_ == nullptr ? nullptr : memory_ + bytes_;
    bytes_ += (static_cast<size_t>(count) * sizeof(T) + 63) / 64 * 64;
    return reinterpret_cast<T*>(at);
  }
  size_t bytes() const { return bytes_; }

 private:
  std::byte* memory_;
  size_t bytes_ = 0;
};

/// Work on `count` things is cut into this many tasks where each needs memory of its own.
constexpr int64_t scratch_tasks(int64_t count) {
  constexpr int64_t kMost = 32;
  return count < kMost ? count : kMost;
}

/// Writes the elements as float.
void to_floats(const TensorView& view, float* to);

}  // namespace tenon
