// Measures kernels of one layer against each other.
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/target.h"
#include "base/log.h"

namespace tenon {

/// A kernel, the least that it took, and what bringing its inputs into its layouts takes.
struct TimedKernel {
  explicit TimedKernel(std::unique_ptr<Kernel> timed) : kernel(std::move(timed)) {}

  std::unique_ptr<Kernel> kernel;
  float own = INFINITY, reorders = 0;  // milliseconds

  float milliseconds() const { return own + reorders; }
};

/// How timing caches and logs name it: tactic_name().
std::string tactic_of(const Kernel& kernel);

/// Times each once, and on a host, whose other programs disturb, those within twice the fastest's
/// time up to three times: the least counts. One that cannot be timed counts as infinitely slow.
/// @param layer for messages.
void time_in_turn(std::vector<TimedKernel>& kernels, const Target& target,
                  const KernelRequest& request, std::string_view layer, const Log& log);

/// The first of those that took least. @param kernels at least one.
size_t fastest(const std::vector<TimedKernel>& kernels);

}  // namespace tenon
