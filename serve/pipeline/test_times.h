// How much longer than in CI tests may look for what is rare.
#pragma once

#include <cstdlib>

namespace tenon::serve {

/// `./dev nightly pipeline` sets it.
inline int test_times() {
  const char* const times = std::getenv("TENON_PIPELINE_TIMES");
  return times == nullptr ? 1 : std::atoi(times);
}

}  // namespace tenon::serve
