/// From CUDA C++ to C++: the words that a host compiler does not know.
#pragma once

#include <string>
#include <string_view>

namespace tenon::nvcc {

/// Rewrites preprocessed CUDA C++. Lines stay where they are.
///
/// | CUDA | C++ |
/// | --- | --- |
/// | `__global__ void k(P... p) { body }` | a function that keeps its body as a lambda |
/// | `k<T><<<g, b, s, t>>>(a)` | `k<T>(a), go(g, b, s, t)`: the call deduces, converts and keeps |
/// | `__shared__ T x[N]` | a reference to memory of the block |
/// | `extern __shared__ T x[]` | a pointer to the block's dynamic memory |
/// | `threadIdx` outside of kernels | a call |
/// | `__device__ T x` at namespace scope | `static T x`, unless code is relocatable |
/// | `X<T>::f<n>(a)` in a body, where some `f` is a template | `X<T>::template f<n>(a)` |
/// | inline PTX | an error when it is used |
///
/// @throws Failure with file and line for what cannot be.
std::string rewrite(std::string_view preprocessed, bool is_relocatable);

}  // namespace tenon::nvcc
