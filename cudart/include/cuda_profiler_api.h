/// Marks the part of a program that a profiler should look at.
#pragma once

#include "driver_types.h"

#ifdef __cplusplus
extern "C" {
#endif
/// Accepted and ignored: the host runtime has no device profiler.
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);
#ifdef __cplusplus
}
#endif
