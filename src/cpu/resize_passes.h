// The loops of Resize: tables for the axes as they lie in memory, and the passes that use them.
#pragma once

#include <memory>
#include <vector>

#include "common/physical.h"
#include "ops/support/resize_weights.h"

namespace tenon::cpu {

class ResizePasses {
 public:
  virtual ~ResizePasses() = default;
  /// Decides the order of the passes and the scratch memory; extents as they lie in memory.
  virtual void reserve(const Shape& in, const Shape& out) = 0;
  /// `axes` are those of the tensor; calls reserve(). Throws when channels that lie in blocks are
  /// resized.
  virtual void make_tables(const Resize& op, const std::vector<AxisResize>& axes,
                           Layout layout) = 0;
  virtual size_t scratch_bytes() const = 0;
  /// Allocates nothing. The tensors are not empty.
  virtual void run(const void* in, void* out, void* scratch) const = 0;
};

/// Copies of elements of `bytes` bytes.
std::unique_ptr<ResizePasses> nearest_passes(size_t bytes);
/// Linear and cubic filters of floats.
std::unique_ptr<ResizePasses> interpolation_passes();

/// The axes as they lie in memory: those of the tensor in another order, and a part of the channel
/// axis in between blocks.
std::vector<AxisResize> physical_axes(const std::vector<AxisResize>& axes, const Shape& in,
                                      Layout layout);

}  // namespace tenon::cpu
