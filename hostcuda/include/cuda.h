/// What sources use of the driver API beside the runtime: its types and version. Its functions load
/// device code, and are not here.
#pragma once

#include <cuda_runtime_api.h>

#define CUDA_VERSION 13000

typedef cudaStream_t CUstream;
typedef cudaEvent_t CUevent;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
