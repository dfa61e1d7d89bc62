// What becomes of a device's call that failed.
#pragma once

#include "backend/device.h"
#include "base/error.h"

namespace tenon {

/// Throws Error, which says what failed and why.
inline void check_call(Failure failure, const char* what) {
  if (failure != nullptr) fail(ErrorCode::kFAILED_EXECUTION, "{} failed: {}", what, failure);
}

}  // namespace tenon
