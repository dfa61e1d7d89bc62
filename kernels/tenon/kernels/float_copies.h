/// Tensors as floats, for plugins that compute in float: what is float already is not copied.
#pragma once

#include <tenon/plugin/device.h>

#include <type_traits>

#include "tenon/kernels/workspace.h"

namespace tenon::kernels::inline TENON_TARGET {

template <class From, class To> struct ConvertElement {
  const From* from;
  To* to;
  TENON_HD void operator()(int64_t i) const {
    to[i] = static_cast<To>(static_cast<float>(from[i]));
  }
};

/// Makes the copies that a call wants, in workspace. A plugin's workspace() reserves for each
/// tensor, in the same order.
class FloatCopies {
 public:
  FloatCopies(const kit::Device& device, Carver& carver) : device_(device), carver_(carver) {}

  static void reserve(Carver& carver, int64_t elements) { carver.array<float>(elements); }

  /// The elements of an input.
  template <class E> const float* of(const E* x, int64_t elements) const {
    if constexpr (std::is_same_v<E, float>) {
      carver_.array<float>(elements);
      return x;
    } else {
      float* const to = carver_.array<float>(elements);
      if (x == nullptr) return nullptr;
      device_.parallel_for(elements, ConvertElement<E, float>{x, to});
      return to;
    }
  }
  /// Where an output is computed; store() takes it there.
  template <class E> float* result(E* y, int64_t elements) const {
    float* const to = carver_.array<float>(elements);
    if constexpr (std::is_same_v<E, float>) return y;
    return to;
  }
  template <class E> void store(const float* from, E* y, int64_t elements) const {
    if constexpr (!std::is_same_v<E, float>)
      device_.parallel_for(elements, ConvertElement<float, E>{from, y});
  }

 private:
  const kit::Device& device_;
  Carver& carver_;
};

}  // namespace tenon::kernels::inline TENON_TARGET
