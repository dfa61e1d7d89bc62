// Why the schedule fails jobs, and how it counts time.
#pragma once

#include "tenon/serve/job.h"

namespace tenon::serve {

inline constexpr const char* kStopped = "the pipeline has stopped";
inline constexpr const char* kNoInstance = "no instance is left";
inline constexpr const char* kExpired = "its deadline has passed";
inline constexpr const char* kOutOfMemory = "out of memory";  // for the text of an error
inline constexpr const char* kCancelled = "it was cancelled";

inline double seconds(Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace tenon::serve
