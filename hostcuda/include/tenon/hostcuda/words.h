/// The words of CUDA C++. Not a header of the system's, of which the preprocessor marks each macro.
#pragma once

// Words that tenon-nvcc reads behind the preprocessor. Sources may ask whether they are defined.
#define __host__ __host__
#define __device__ __device__
#define __global__ __global__
#define __shared__ __shared__
#define __constant__ __constant__
#define __managed__ __managed__
#define __launch_bounds__ __launch_bounds__
#define __grid_constant__ __grid_constant__
#define __forceinline__ inline
#define __inline_hint__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __builtin_align__(bytes) __attribute__((aligned(bytes)))
#define __device_builtin__
#define __nv_pure__
#define __nv_is_extended_device_lambda_closure_type(type) false
#define __nv_is_extended_host_device_lambda_closure_type(type) false
