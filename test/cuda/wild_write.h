// A kernel with a bug, as a plugin may have: after it the process's GPU takes no more work.
#pragma once

#include <cuda_runtime_api.h>

namespace tenon::testing {
void launch_wild_write(cudaStream_t stream);
}
