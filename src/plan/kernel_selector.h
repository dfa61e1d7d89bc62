// Who chooses kernels instead of the builder.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "backend/target.h"

namespace tenon {

/// A layer that a kernel is chosen for.
struct SelectedLayer {
  std::string_view name;
  const KernelRequest& request;
  /// Of inputs, then of outputs, in the first profile; -1 for what only running tells.
  std::vector<Shape> min, opt, max;
};

/// A kernel that it may have.
struct KernelChoice {
  const Kernel* kernel;
  float milliseconds;  // 0 where nothing was measured
  size_t workspace;    // bytes
};

class KernelSelector {
 public:
  virtual ~KernelSelector() = default;
  /// The index of the one to take. Throws when none may be.
  virtual size_t select(const SelectedLayer& layer, std::span<const KernelChoice> choices) = 0;
};

}  // namespace tenon
