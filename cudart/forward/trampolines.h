/// The exported CUDA functions: each jumps through a table.
#pragma once

#include "cudart/forward/world.h"

namespace tenon::cudart {

/// Fills the table with NVIDIA's functions, or, for null, with the host's.
void fill_table(const NvidiaLibrary* library);

}  // namespace tenon::cudart
