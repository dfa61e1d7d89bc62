// Kernels of float32 for 16-bit floats.
#pragma once

#include "backend/target.h"

namespace tenon::cpu {

/// The row for 16-bit floats, "…_16bit": the kernel of a row for float32, with half and bfloat16
/// inputs widened before it runs, constants when it is made, and its results rounded once. Refuses
/// when there is no such tensor.
Candidate widened(const Candidate& candidate);

}  // namespace tenon::cpu
