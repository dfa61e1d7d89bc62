/// The qualifiers of CUDA C++, which mean nothing to a host compiler.
#pragma once

#ifndef __CUDACC__
#ifndef __host__
#define __host__
#endif
#ifndef __device__
#define __device__
#endif
#ifndef __global__
#define __global__
#endif
#ifndef __forceinline__
#define __forceinline__ __inline__ __attribute__((always_inline))
#endif
#ifndef __align__
#define __align__(bytes) __attribute__((aligned(bytes)))
#endif
#endif

#ifndef CUDARTAPI
#define CUDARTAPI
#define CUDARTAPI_CDECL
#define CUDART_CB
#endif
