// Measures candidates against each other, with a cache across builds.
#pragma once

#include "plan/compile.h"

namespace tenon {

/// The kernel for one layer: the first candidate that accepts, or the quickest of those worth
/// timing. The request's code cache is that of the options. Throws, listing every refusal, when
/// nobody accepts.
std::unique_ptr<Kernel> choose_kernel(const Target& target, KernelRequest request,
                                      const std::string& layer, const BuildOptions& options);

}  // namespace tenon
