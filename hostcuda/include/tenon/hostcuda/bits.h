/// Functions on the bits of integers and floats.
#pragma once
#pragma GCC system_header

#include <cstdint>
#include <cstring>

namespace tenon::hostcuda {

template <class To, class From> To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "of one size");
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

/// f on the `count` parts of two words, as SIMD functions of video have it.
template <int count, class F> unsigned by_parts(unsigned a, unsigned b, F f) {
  constexpr int width = 32 / count;
  constexpr unsigned mask = (1u << width) - 1;
  unsigned result = 0;
  for (int i = 0; i < count; ++i)
    result |= (static_cast<unsigned>(f(a >> i * width & mask, b >> i * width & mask)) & mask)
              << i * width;
  return result;
}

}  // namespace tenon::hostcuda

inline int __float_as_int(float x) {
  return tenon::hostcuda::bits_as<int>(x);
}
inline unsigned __float_as_uint(float x) {
  return tenon::hostcuda::bits_as<unsigned>(x);
}
inline float __int_as_float(int x) {
  return tenon::hostcuda::bits_as<float>(x);
}
inline float __uint_as_float(unsigned x) {
  return tenon::hostcuda::bits_as<float>(x);
}
inline long long __double_as_longlong(double x) {
  return tenon::hostcuda::bits_as<long long>(x);
}
inline double __longlong_as_double(long long x) {
  return tenon::hostcuda::bits_as<double>(x);
}
inline int __double2hiint(double x) {
  return static_cast<int>(__double_as_longlong(x) >> 32);
}
inline int __double2loint(double x) {
  return static_cast<int>(__double_as_longlong(x));
}
inline double __hiloint2double(int high, int low) {
  return __longlong_as_double(
      static_cast<long long>(static_cast<unsigned long long>(static_cast<unsigned>(high)) << 32
                             | static_cast<unsigned>(low)));
}

inline int __popc(unsigned x) {
  return __builtin_popcount(x);
}
inline int __popcll(unsigned long long x) {
  return __builtin_popcountll(x);
}
inline int __ffs(int x) {
  return __builtin_ffs(x);
}
inline int __ffsll(long long x) {
  return __builtin_ffsll(x);
}
inline int __clz(int x) {
  return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x));
}
inline int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
inline unsigned long long __brevll(unsigned long long x) {
  unsigned long long result = 0;
  for (int i = 0; i < 64; ++i) result |= (x >> i & 1) << (63 - i);
  return result;
}
inline unsigned __brev(unsigned x) {
  return static_cast<unsigned>(__brevll(x) >> 32);
}
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(y) << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned s = selector >> 4 * i & 15;
    unsigned byte = static_cast<unsigned>(bytes >> 8 * (s & 7)) & 255;
    if (s & 8) byte = byte & 128 ? 255 : 0;
    result |= byte << 8 * i;
  }
  return result;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  const std::uint64_t both = static_cast<std::uint64_t>(high) << 32 | low;
  return static_cast<unsigned>((both << (shift & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  const std::uint64_t both = static_cast<std::uint64_t>(high) << 32 | low;
  return static_cast<unsigned>(both >> (shift & 31));
}

inline int __mul24(int a, int b) {
  return static_cast<int>(
      static_cast<unsigned>(static_cast<std::int64_t>(a << 8 >> 8) * (b << 8 >> 8)));
}
inline unsigned __umul24(unsigned a, unsigned b) {
  return (a & 0xffffff) * (b & 0xffffff);
}
inline int __mulhi(int a, int b) {
  return static_cast<int>(static_cast<std::int64_t>(a) * b >> 32);
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<std::uint64_t>(a) * b >> 32);
}
inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline int __hadd(int a, int b) {
  return static_cast<int>((static_cast<std::int64_t>(a) + b) >> 1);
}
inline int __rhadd(int a, int b) {
  return static_cast<int>((static_cast<std::int64_t>(a) + b + 1) >> 1);
}
inline unsigned __uhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<std::uint64_t>(a) + b) >> 1);
}
inline unsigned __sad(int a, int b, unsigned c) {
  return static_cast<unsigned>(a > b ? static_cast<std::int64_t>(a) - b
                                     : static_cast<std::int64_t>(b) - a)
         + c;
}
inline unsigned __usad(unsigned a, unsigned b, unsigned c) {
  return (a > b ? a - b : b - a) + c;
}

inline int __dp4a(int a, int b, int c) {
  auto sum = static_cast<unsigned>(c);
  for (int i = 0; i < 4; ++i)
    sum += static_cast<unsigned>(static_cast<std::int8_t>(a >> 8 * i)
                                 * static_cast<std::int8_t>(b >> 8 * i));
  return static_cast<int>(sum);
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; ++i) c += (a >> 8 * i & 255) * (b >> 8 * i & 255);
  return c;
}
inline unsigned __vadd4(unsigned a, unsigned b) {
  return tenon::hostcuda::by_parts<4>(a, b, [](unsigned x, unsigned y) { return x + y; });
}
inline unsigned __vsub4(unsigned a, unsigned b) {
  return tenon::hostcuda::by_parts<4>(a, b, [](unsigned x, unsigned y) { return x - y; });
}
inline unsigned __vmaxu4(unsigned a, unsigned b) {
  return tenon::hostcuda::by_parts<4>(a, b, [](unsigned x, unsigned y) { return x > y ? x : y; });
}
inline unsigned __vminu4(unsigned a, unsigned b) {
  return tenon::hostcuda::by_parts<4>(a, b, [](unsigned x, unsigned y) { return x < y ? x : y; });
}
inline unsigned __vadd2(unsigned a, unsigned b) {
  return tenon::hostcuda::by_parts<2>(a, b, [](unsigned x, unsigned y) { return x + y; });
}
inline unsigned __vabsdiffu4(unsigned a, unsigned b) {
  return tenon::hostcuda::by_parts<4>(a, b,
                                      [](unsigned x, unsigned y) { return x > y ? x - y : y - x; });
}
