/// The elements of tensors, as C++ types on either target.
#pragma once

#include <NvInferRuntime.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

// The same source is compiled once for each target, each in its own namespace. TENON_HD functions
// are for everybody, TENON_DEVICE functions for kernels: they may use a Team.
#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define TENON_HD __host__ __device__
#define TENON_DEVICE __device__
#define TENON_TARGET cuda
#else
#define TENON_HD
#define TENON_DEVICE
#define TENON_TARGET cpu
#endif

namespace tenon {
namespace kit {

using nvinfer1::DataType;

inline namespace TENON_TARGET {
#if defined(__CUDACC__)
using Half = __half;
using BFloat16 = __nv_bfloat16;
#else
using Half = _Float16;

/// The upper half of a float. Calculate in float.
struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  template <class V>
    requires std::is_arithmetic_v<V>
  explicit BFloat16(V value) {  // rounds to nearest, ties to even
    const auto real = static_cast<float>(value);
    uint32_t wide;
    std::memcpy(&wide, &real, sizeof(wide));
    const bool is_nan = (wide & 0x7fffffff) > 0x7f800000;
    bits =
        static_cast<uint16_t>((is_nan ? wide | 0x400000 : wide + 0x7fff + (wide >> 16 & 1)) >> 16);
  }
  operator float() const {  // NOLINT: as __nv_bfloat16
    const uint32_t wide = static_cast<uint32_t>(bits) << 16;
    float real;
    std::memcpy(&real, &wide, sizeof(real));
    return real;
  }
};
#endif
}  // namespace TENON_TARGET

/// int8 of which a plugin gets the real numbers, as float (tenon/plugin/quantized.h). A type of T.
struct Quantized {};

template <class E> struct TypeOf;

template <> struct TypeOf<float> : std::integral_constant<DataType, DataType::kFLOAT> {};
template <> struct TypeOf<Half> : std::integral_constant<DataType, DataType::kHALF> {};
template <> struct TypeOf<BFloat16> : std::integral_constant<DataType, DataType::kBF16> {};
template <> struct TypeOf<int8_t> : std::integral_constant<DataType, DataType::kINT8> {};
template <> struct TypeOf<Quantized> : TypeOf<int8_t> {};
template <> struct TypeOf<int32_t> : std::integral_constant<DataType, DataType::kINT32> {};
template <> struct TypeOf<int64_t> : std::integral_constant<DataType, DataType::kINT64> {};
template <> struct TypeOf<bool> : std::integral_constant<DataType, DataType::kBOOL> {};
template <> struct TypeOf<uint8_t> : std::integral_constant<DataType, DataType::kUINT8> {};

/// Calls f with a zero of the C++ type of `type`; types without one count as float.
template <class F> auto with_type(DataType type, const F& f) {
  switch (type) {
    case DataType::kHALF:
      return f(Half{});
    case DataType::kBF16:
      return f(BFloat16{});
    case DataType::kINT8:
      return f(int8_t{});
    case DataType::kINT32:
      return f(int32_t{});
    case DataType::kINT64:
      return f(int64_t{});
    case DataType::kBOOL:
      return f(bool{});
    case DataType::kUINT8:
      return f(uint8_t{});
    default:
      return f(float{});
  }
}

}  // namespace kit
}  // namespace tenon
