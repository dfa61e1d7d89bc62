// What this machine can at best: multiply-adds and reading memory.
#pragma once

#include "backend/target.h"

namespace tenon::cpu {

/// Measures both with the threads that the engine has.
Peaks measure_peaks();

}  // namespace tenon::cpu
