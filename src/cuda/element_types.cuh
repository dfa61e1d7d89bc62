// Elements of tensors in kernels: their types, and rounding to them.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "cuda/grid.cuh"
#include "tenon/plugin/elements.h"

namespace tenon::cuda {

/// Calls body(E{}) with the C++ type of a DataType.
template <class Body> void with_element(int32_t type, const Body& body) {
  kit::with_type(static_cast<kit::DataType>(type), body);
}

/// The same for float32, float16 and bfloat16.
template <class Body> void with_real(int32_t type, const Body& body) {
  with_element(type, [&](auto zero) {
    if constexpr (!std::is_integral_v<decltype(zero)>) body(zero);
  });
}

}  // namespace tenon::cuda
