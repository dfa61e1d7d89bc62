#include "cuda/nvrtc/prelude.h"

#include <fmt/format.h>

#include <bit>

#include "base/error.h"

namespace tenon::cuda {

std::string_view prelude() {
  return R"cuda(
typedef unsigned char uint8;
typedef unsigned short uint16;
typedef unsigned int uint32;
typedef unsigned long long uint64;
typedef signed char int8;
typedef long long int64;

constexpr int kThreads = 256;

// Element types. Floats are computed with in float, integers in their own type, bits as unsigned.
template <class S, class V> struct Plain {
  using Stored = S;
  using Value = V;
  static V load(S s) { return static_cast<V>(s); }
  static S store(V v) { return static_cast<S>(v); }
};
using Float = Plain<float, float>;
using Int8 = Plain<int8, int8>;
using UInt8 = Plain<uint8, uint8>;
using Int32 = Plain<int, int>;
using Int64 = Plain<int64, int64>;
using Bits16 = Plain<uint16, uint16>;
struct Bool {
  using Stored = uint8;
  using Value = bool;
  static bool load(uint8 s) { return s != 0; }
  static uint8 store(bool v) { return v; }
};
struct Half {
  using Stored = uint16;
  using Value = float;
  static float load(uint16 s) {
    float v;
    asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(s));
    return v;
  }
  static uint16 store(float v) {
    uint16 s;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(s) : "f"(v));
    return s;
  }
};
struct BFloat16 {
  using Stored = uint16;
  using Value = float;
  static float load(uint16 s) { return __uint_as_float(static_cast<uint32>(s) << 16); }
  static uint16 store(float v) {
#if __CUDA_ARCH__ >= 800
    uint16 s;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(s) : "f"(v));
    return s;
#else
    const uint32 word = __float_as_uint(v);
    if ((word & 0x7fffffffu) > 0x7f800000u) return word >> 16 | 0x40u;
    return (word + 0x7fffu + (word >> 16 & 1u)) >> 16;
#endif
  }
};

// N elements that lie next to each other, moved 16 bytes at a time.
template <class S, int N>
struct alignas(N * sizeof(S) < 16 ? N * sizeof(S) : 16) Vector {
  S element[N];
};

// N elements of memory from `at` on; one element N times where `is_one`.
template <class T, int N> struct Memory {
  using S = typename T::Stored;
  static void read(const void* memory, int64 at, bool is_one, typename T::Value* to) {
    const S* from = static_cast<const S*>(memory) + at;
    if (N == 1 || is_one) {
      const auto one = T::load(*from);
#pragma unroll
      for (int i = 0; i < N; ++i) to[i] = one;
    } else {
      const auto all = *reinterpret_cast<const Vector<S, N>*>(from);
#pragma unroll
      for (int i = 0; i < N; ++i) to[i] = T::load(all.element[i]);
    }
  }
  static void write(void* memory, int64 at, const typename T::Value* from) {
    Vector<S, N> all;
#pragma unroll
    for (int i = 0; i < N; ++i) all.element[i] = T::store(from[i]);
    *reinterpret_cast<Vector<S, N>*>(static_cast<S*>(memory) + at) = all;
  }
};
// Two elements to a byte, the first in the low half; one alone has a byte of its own.
struct Nibble {
  using Stored = uint8;
  using Value = uint8;
};
template <int N> struct Memory<Nibble, N> {
  static void read(const void* memory, int64 at, bool is_one, uint8* to) {
    const uint8* from = static_cast<const uint8*>(memory) + at / 2;
    if (N == 1 || is_one) {
#pragma unroll
      for (int i = 0; i < N; ++i) to[i] = *from >> (at & 1) * 4 & 15;
    } else {
      const auto all = *reinterpret_cast<const Vector<uint8, (N + 1) / 2>*>(from);
#pragma unroll
      for (int i = 0; i < N; ++i) to[i] = all.element[i / 2] >> i % 2 * 4 & 15;
    }
  }
  static void write(void* memory, int64 at, const uint8* from) {
    Vector<uint8, (N + 1) / 2> all;
#pragma unroll
    for (int i = 0; i < N; i += 2)
      all.element[i / 2] = from[i] & 15 | (i + 1 < N ? from[i + 1] << 4 : 0);
    *reinterpret_cast<Vector<uint8, (N + 1) / 2>*>(static_cast<uint8*>(memory) + at / 2) = all;
  }
};

// Division by a number that was known before the kernel started.
struct Axis { uint32 extent, factor, shift, unused; };
__device__ __forceinline__ uint32 quotient(uint32 n, const Axis& a) {
  return (__umulhi(n, a.factor) + n) >> a.shift;
}
// Axes from the outermost in, and the elements to skip for a step along each.
struct Axes {
  uint32 rank, unused;
  Axis axis[8];
  int64 stride[8];
};
// Where position n lies.
__device__ __forceinline__ int64 offset_of(uint32 n, const Axes& axes) {
  int64 at = 0;
#pragma unroll 1
  for (int a = axes.rank - 1; a > 0; --a) {
    const uint32 next = quotient(n, axes.axis[a]);
    at += (n - next * axes.axis[a].extent) * axes.stride[a];
    n = next;
  }
  return axes.rank == 0 ? 0 : at + n * axes.stride[0];
}

// Integer arithmetic wraps, and dividing by zero gives 0.
template <class T> T divide(T a, T b, bool floored) {
  if (b == 0) return 0;
  if (static_cast<T>(-1) < 0 && b == static_cast<T>(-1)) return static_cast<T>(-static_cast<uint64>(a));
  const T q = a / b;
  return q - (floored && a % b != 0 && (a < 0) != (b < 0));
}
template <class T> T power(T base, T exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == static_cast<T>(-1) ? (exponent % 2 == 0 ? 1 : -1) : 0;
  uint64 result = 1, factor = static_cast<uint64>(static_cast<int64>(base));
  for (; exponent > 0; exponent = exponent >> 1, factor *= factor)
    if (exponent & 1) result *= factor;
  return static_cast<T>(result);
}
inline int64 shifted_left(int64 a, int64 b) {
  return b < 0 || b > 63 ? 0 : static_cast<int64>(static_cast<uint64>(a) << b);
}
inline int64 shifted_right(int64 a, int64 b) { return a >> (b < 0 || b > 63 ? 63 : b); }

// A float as an integer: truncated, saturated, NaN is 0.
inline int64 saturated(float x, float low, float high, int64 min, int64 max) {
  return x != x ? 0 : x <= low ? min : x >= high ? max : static_cast<int64>(x);
}
// x / by, where `reciprocal` is that of `by`: the product's rounding, made right by what it leaves.
// (Markstein, Computation of Elementary Functions on the IBM RISC System/6000 Processor, 1990.)
inline float divided(float x, float by, float reciprocal) {
  const bool is_ordinary = fabsf(reciprocal) > 1e-37f && fabsf(reciprocal) < 1e37f;
  if (!is_ordinary) return x / by;
  const float product = x * reciprocal;
  // Beyond it nothing is left to be rounded to a whole number, or nothing at all.
  if (!(fabsf(product) < 8388608.f)) return product;
  return fmaf(fmaf(-product, by, x), reciprocal, product);
}
// Within bounds, rounded to the nearest, ties to even; NaN becomes low.
inline float rounded(float x, float low, float high) {
  x = x > low ? x : low;
  return rintf(x < high ? x : high);
}

// Narrow floats: formats of a sign, an exponent and a mantissa with subnormals, and powers of two.
inline float fp8_value(uint8 bits) {
  if ((bits & 0x7f) == 0x7f) return __int_as_float(0x7fc00000);
  // A half has the same fields, a wider mantissa and another bias.
  const float magnitude = Half::load(static_cast<uint16>((bits & 0x7f) << 7)) * 256.f;
  return bits & 0x80 ? -magnitude : magnitude;
}
inline float fp4_value(uint8 bits) {
  const int exponent = bits >> 1 & 3, mantissa = bits & 1;
  const float magnitude =
      exponent == 0 ? mantissa * 0.5f : (2 + mantissa) * 0.5f * (1 << (exponent - 1));
  return bits & 8 ? -magnitude : magnitude;
}
inline float int4_value(uint8 bits) { return bits < 8 ? bits : bits - 16; }
inline float e8m0_value(uint8 bits) {
  if (bits == 255) return __int_as_float(0x7fc00000);
  return __uint_as_float(bits == 0 ? 0x400000u : static_cast<uint32>(bits) << 23);
}
template <int MantissaBits, int MinExponent> int encoded(float magnitude) {
  const int own = static_cast<int>(__float_as_uint(magnitude) >> 23) - 127;
  const int exponent = own > MinExponent ? own : MinExponent;
  const float scale = __uint_as_float(static_cast<uint32>(127 + MantissaBits - exponent) << 23);
  const int whole = static_cast<int>(rintf(magnitude * scale));
  return ((exponent - MinExponent) << MantissaBits) + whole;
}
inline uint8 fp8_bits(float x, bool saturate) {
  const int sign = __float_as_uint(x) >> 24 & 0x80;
  const float magnitude = fabsf(x);
  if (x != x) return sign | 0x7f;
  if (magnitude > 464) return sign | (saturate ? 0x7e : 0x7f);
  return sign | encoded<3, -6>(magnitude < 448 ? magnitude : 448);
}
inline uint8 fp4_bits(float x) {
  if (x != x) return 8;
  const float magnitude = fabsf(x);
  return (__float_as_uint(x) >> 28 & 8) | encoded<1, 0>(magnitude < 6 ? magnitude : 6);
}
inline uint8 int4_bits(float x) {
  if (x != x) return 0;
  return static_cast<uint8>(static_cast<int64>(fminf(fmaxf(x, -1099511627776.f), 1099511627776.f)) & 15);
}
// Rounding: 0 up, 1 down, 2 to the nearest.
inline uint8 e8m0_bits(float x, bool saturate, int rounding) {
  if (x != x || x < 0) return 255;
  const uint32 bits = __float_as_uint(x);
  if (bits == 0x7f800000u) return saturate ? 254 : 255;
  uint32 exponent = bits >> 23 & 255;
  const uint32 fraction = bits & 0x7fffffu;
  const uint32 exact = exponent == 0 ? 0x400000u : 0;
  if (rounding == 0 && fraction > exact) ++exponent;
  if (rounding == 2 && fraction >= exact + (exact ? 0x200000u : 0x400000u)) ++exponent;
  return exponent > 254 ? (saturate ? 254 : 255) : exponent;
}
)cuda";
}

std::string_view element_of(DataType type) {
  switch (type) {
    case DataType::kFLOAT:
      return "Float";
    case DataType::kHALF:
      return "Half";
    case DataType::kBF16:
      return "BFloat16";
    case DataType::kINT8:
      return "Int8";
    case DataType::kINT32:
      return "Int32";
    case DataType::kINT64:
      return "Int64";
    case DataType::kBOOL:
      return "Bool";
    case DataType::kUINT8:
    case DataType::kFP8:
    case DataType::kE8M0:
      return "UInt8";
    case DataType::kINT4:
    case DataType::kFP4:
      return "Nibble";
  }
  fail(ErrorCode::kINTERNAL_ERROR, "no element type {}", static_cast<int>(type));
}

std::string number_of(DataType type, const std::string& loaded) {
  switch (type) {
    case DataType::kFP8:
      return "fp8_value(" + loaded + ")";
    case DataType::kE8M0:
      return "e8m0_value(" + loaded + ")";
    case DataType::kFP4:
      return "fp4_value(" + loaded + ")";
    case DataType::kINT4:
      return "int4_value(" + loaded + ")";
    default:
      return loaded;
  }
}

std::string literal(float number) {
  return fmt::format("__uint_as_float({:#010x}u)", std::bit_cast<uint32_t>(number));
}

}  // namespace tenon::cuda
