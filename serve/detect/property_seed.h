// For tests with random numbers: where they begin.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace tenon::serve {

/// TENON_PROPERTIES_SEED, or 1: what fails in CI fails again.
inline uint32_t property_seed() {
  const char* const seed = std::getenv("TENON_PROPERTIES_SEED");
  return seed == nullptr ? 1 : static_cast<uint32_t>(std::strtoul(seed, nullptr, 10));
}

}  // namespace tenon::serve
