// Measures candidates against each other, with a cache across builds.
#pragma once

#include "plan/compile.h"

namespace tenon {

/// Bytes that a kernel's packed form takes beyond the constants that it replaces.
size_t growth_of(const Kernel& kernel, const KernelRequest& request);

/// How the layer before wrote data of that shape and layout: images of planes of rows, or of one
/// plane where channels lie last; what has fewer than four axes is one plane.
WrittenRows written_rows(const TensorSpec& spec, Tensor& data);

/// Shapes of a layer's inputs, then of its outputs, in the first profile; none: there is one.
struct ShapeRange {
  std::vector<Shape> min, max;
};

/// The kernel for one layer: the first candidate that accepts, or the fastest of those worth
/// timing. The request's code cache is that of the options. Throws, listing every refusal, when
/// nobody accepts.
/// @param range what the options' selector is told of the extents, if there is one.
/// @param max_growth what growth_of() the kernel may be.
std::unique_ptr<Kernel> choose_kernel(const Target& target, KernelRequest request,
                                      const std::string& layer, const BuildOptions& options,
                                      const ShapeRange& range = {}, size_t max_growth = SIZE_MAX);

}  // namespace tenon
