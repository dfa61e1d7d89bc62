// The CPU target.
#pragma once

#include "backend/target.h"

namespace tenon {

/// Lives as long as the process.
const Target& cpu_target();

}  // namespace tenon
