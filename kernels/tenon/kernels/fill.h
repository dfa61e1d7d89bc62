/// One value for all elements.
#pragma once

#include <tenon/plugin/device.h>

namespace tenon::kernels::inline TENON_TARGET {

template <class E> struct FillElement {
  E* y;
  E value;
  TENON_HD void operator()(int64_t i) const { y[i] = value; }
};

template <class E> void fill(const kit::Device& device, E* y, int64_t count, E value) {
  device.parallel_for(count, FillElement<E>{y, value});
}

}  // namespace tenon::kernels::inline TENON_TARGET
