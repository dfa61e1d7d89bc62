// Measures candidates against each other, with a cache across builds.
#pragma once

#include "plan/compile.h"

namespace tenon {

/// Bytes that a kernel's packed form takes beyond the constants that it replaces.
size_t growth_of(const Kernel& kernel, const KernelRequest& request);

/// How the layer before wrote data of that shape and layout: images of planes of rows, or of one
/// plane where channels lie last; what has fewer than four axes is one plane.
WrittenRows written_rows(const TensorSpec& spec, Tensor& data);

/// The kernel for one layer: the first candidate that accepts, or the fastest of those worth
/// timing. The request's code cache is that of the options. Throws, listing every refusal, when
/// nobody accepts.
/// @param max_growth what growth_of() the kernel may be.
std::unique_ptr<Kernel> choose_kernel(const Target& target, KernelRequest request,
                                      const std::string& layer, const BuildOptions& options,
                                      size_t max_growth = SIZE_MAX);

}  // namespace tenon
