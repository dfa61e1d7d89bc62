/// Parts of rows as floats, for what Device::parallel_spans() calls.
#pragma once

#include "tenon/plugin/convert.h"

namespace tenon {
namespace kit {
inline namespace TENON_TARGET {

/// The max number of elements of a part: so many that loops over them are vectors, and few enough
/// for the first cache. On CUDA a thread has one.
#if !defined(__CUDACC__)
inline constexpr int64_t kSpan = 256;
#else
inline constexpr int64_t kSpan = 1;
#endif

/// `count` elements that are read, at most kSpan: floats where they lie, others as a copy.
template <class E> class InputSpan {
 public:
  TENON_HD InputSpan(const E* from, int64_t count) : at_(copy_) {
    if constexpr (std::is_same_v<E, float>)
      at_ = from;
    else
      convert(from, copy_, count);
  }
  InputSpan(const InputSpan&) = delete;

  TENON_HD float operator[](int64_t i) const { return at_[i]; }

 private:
  float copy_[std::is_same_v<E, float> ? 1 : kSpan];
  const float* at_;
};

/// Up to kSpan elements that are written, which store() brings to where they belong.
template <class E> class OutputSpan {
 public:
  TENON_HD explicit OutputSpan(E* to) : to_(to), at_(copy_) {
    if constexpr (std::is_same_v<E, float>) at_ = to;
  }
  OutputSpan(const OutputSpan&) = delete;

  TENON_HD float& operator[](int64_t i) const { return at_[i]; }
  /// Elements of integers are rounded to zero.
  TENON_HD void store(int64_t count) const {
    if constexpr (!std::is_same_v<E, float>) convert(copy_, to_, count);
  }

 private:
  float copy_[std::is_same_v<E, float> ? 1 : kSpan];
  E* to_;
  float* at_;
};

}  // namespace TENON_TARGET
}  // namespace kit
}  // namespace tenon
