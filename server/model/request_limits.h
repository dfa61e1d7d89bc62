// When a request is to run, as its parameters say it.
#pragma once

#include <chrono>
#include <cstdint>

#include "model.h"

namespace tenon::server {

inline constexpr int64_t kMaxTimeout = 3'600'000'000;  // microseconds: an hour
inline constexpr int64_t kMaxPriority = 1 << 20;

/// @param microseconds from now on; 0 for no deadline. @pre at most kMaxTimeout.
inline void set_timeout(InferRequest& to, int64_t microseconds) {
  if (microseconds > 0) to.deadline = Clock::now() + std::chrono::microseconds(microseconds);
}

/// @param priority 1 is the first to go; 0, the default, goes before all. @pre at most
/// kMaxPriority.
inline void set_priority(InferRequest& to, int64_t priority) {
  to.priority = -static_cast<int>(priority);
}

}  // namespace tenon::server
