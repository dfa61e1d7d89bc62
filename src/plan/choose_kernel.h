// Decides which kernel runs a layer: the one of a plan that is built again, the application's
// choice, a timing cache's, the fastest, or the first in order.
#pragma once

#include "plan/compile.h"

namespace tenon {

/// Bytes that a kernel's packed form takes beyond the constants that it replaces.
size_t growth_of(const Kernel& kernel, const KernelRequest& request);

/// Shapes of a layer's inputs, then of its outputs, in the first profile; none: there is one.
struct ShapeRange {
  std::vector<Shape> min, max;
};

/// The kernel for one layer: that of the options' plan or selector, else the first candidate that
/// accepts, or the fastest of those worth timing. The request's code cache is that of the options.
/// Throws, listing every refusal, when nobody accepts.
/// @param name of the layer.
/// @param range what the options' selector is told of the extents, if there is one.
/// @param max_growth what growth_of() the kernel may be.
std::unique_ptr<Kernel> choose_kernel(const Target& target, KernelRequest request,
                                      const std::string& name, const BuildOptions& options,
                                      const ShapeRange& range = {}, size_t max_growth = SIZE_MAX);

}  // namespace tenon
