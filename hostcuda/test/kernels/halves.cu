// 16-bit floats: every bit of them.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "suite.h"

#if defined(__aarch64__)
using HostHalf = __fp16;
#else
using HostHalf = _Float16;
#endif

constexpr int kOperations = 8;

// All pairs of numbers: operation after operation.
__global__ void all_halves(const __half* x, int count, unsigned short* out) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= count * count) return;
  const __half a = x[t % count], b = x[t / count];
  const __half results[kOperations] = {
      a + b, a - b, a * b, a / b, __hfma(a, b, x[(t + 1) % count]), __hmax(a, b), hsqrt(a), -a};
  for (int i = 0; i < kOperations; ++i) out[i * count * count + t] = __half_as_ushort(results[i]);
}

// The same on the host, from wider results that are exact or rounded once.
static unsigned short operation(int i, long double a, long double b, long double c) {
  const long double results[kOperations] = {a + b,     a - b, a * b,        a / b,
                                            a * b + c, 0,     std::sqrt(a), -a};
  const bool is_first = a > b || (a == b && std::signbit(b));
  const auto half = static_cast<HostHalf>(i == 5 ? is_first ? a : b : results[i]);
  unsigned short bits;
  std::memcpy(&bits, &half, sizeof(bits));
  return bits;
}

// One number for many.
static unsigned hash(const unsigned short* values, size_t count) {
  unsigned result = 2166136261u;
  for (size_t i = 0; i < count; ++i) {
    const bool is_nan = (values[i] & 0x7fff) > 0x7c00;
    result = (result ^ (is_nan ? 0x7fffu : values[i])) * 16777619u;
  }
  return result;
}

__global__ void convert(const float* x, int n, unsigned short* halves, unsigned short* bfloats,
                        int* integers) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  halves[t] = __half_as_ushort(__float2half(x[t]));
  halves[n + t] = __half_as_ushort(__float2half_rz(x[t]));
  halves[2 * n + t] = __half_as_ushort(__float2half_ru(x[t]));
  bfloats[t] = __bfloat16_as_ushort(__float2bfloat16(x[t]));
  integers[t] = __half2int_rn(__float2half(x[t]));
}

// Values around what can go wrong: ties, the largest, the least, zeroes.
static std::vector<float> awkward() {
  std::vector<float> values = {0.f,      -0.f,    1.f,     -1.f,    65504.f,  65519.f,  65520.f,
                               -65520.f, 70000.f, 6.1e-5f, 6.0e-8f, 2.98e-8f, 2.99e-8f, 8.9e-8f,
                               1e-9f,    1e-40f,  3.0e38f, 3.4e38f, INFINITY, -INFINITY};
  for (int i = 0; i < 44; ++i) {
    const auto exponent = static_cast<float>(i - 26);
    values.push_back(
        std::ldexp(1.f + static_cast<float>(i * 37 % 64) / 4096.f, static_cast<int>(exponent)));
  }
  return values;
}

KERNEL_CASE(conversions_of_halves) {
  const std::vector<float> values = awkward();
  const auto n = static_cast<int>(values.size());
  suite::Buffer<float> x(values);
  suite::Buffer<unsigned short> halves(values.size() * 3), bfloats(values.size());
  suite::Buffer<int> integers(values.size());
  convert<<<(n + 31) / 32, 32>>>(x, n, halves, bfloats, integers);
  const std::vector<unsigned short> got = halves.read();
  // The host's own conversion is the standard's; the others are that or the next one.
  std::vector<unsigned short> nearest, to_zero, up;
  std::vector<int> whole;
  for (const float value : values) {
    const auto half = static_cast<HostHalf>(value);
    const auto near = static_cast<double>(half), exact = static_cast<double>(value);
    unsigned short bits;
    std::memcpy(&bits, &half, sizeof(bits));
    nearest.push_back(bits);
    to_zero.push_back(static_cast<unsigned short>(bits - (std::fabs(near) > std::fabs(exact))));
    up.push_back(
        static_cast<unsigned short>(near < exact ? exact < 0 ? bits - 1 : bits + 1 : bits));
    whole.push_back(std::isinf(near) ? near > 0 ? 2147483647 : -2147483647 - 1
                                     : static_cast<int>(std::nearbyint(near)));
  }
  suite::check("nearest", std::vector<unsigned short>(got.begin(), got.begin() + n), nearest);
  suite::check("to_zero", std::vector<unsigned short>(got.begin() + n, got.begin() + 2 * n),
               to_zero);
  suite::check("up", std::vector<unsigned short>(got.begin() + 2 * n, got.end()), up);
  std::vector<unsigned short> bfloat;
  for (const float value : values) {
    unsigned wide;
    std::memcpy(&wide, &value, sizeof(wide));
    bfloat.push_back(static_cast<unsigned short>((wide + 0x7fff + (wide >> 16 & 1)) >> 16));
  }
  suite::check("bfloats", bfloats.read(), bfloat);
  suite::check("integers", integers.read(), whole);
}

KERNEL_CASE(arithmetic_of_halves) {
  std::vector<__half> values;
  for (const float value : awkward()) values.push_back(__float2half(value));
  const auto n = static_cast<int>(values.size());
  const size_t count = values.size(), all = count * count;
  suite::Buffer<__half> x(values);
  suite::Buffer<unsigned short> out(all * kOperations);
  all_halves<<<(n * n + 63) / 64, 64>>>(x, n, out);
  const std::vector<unsigned short> got = out.read();
  const auto number = [&](size_t i) {
    return static_cast<long double>(__half2float(values[i % count]));
  };
  const char* names[kOperations] = {"sum",   "difference", "product", "quotient",
                                    "fused", "greater",    "root",    "negative"};
  for (int i = 0; i < kOperations; ++i) {
    std::vector<unsigned short> want;
    for (size_t t = 0; t < all; ++t)
      want.push_back(operation(i, number(t), number(t / count), number(t + 1)));
    suite::check(names[i], std::vector<unsigned>{hash(&got[static_cast<size_t>(i) * all], all)},
                 std::vector<unsigned>{hash(want.data(), all)});
  }
}

__global__ void pairs(const __half2* x, __half2* out) {
  const __half2 a = x[threadIdx.x], b = __lowhigh2highlow(a);
  out[4 * threadIdx.x] = __hadd2(a, b);
  out[4 * threadIdx.x + 1] = __hfma2(a, b, __float2half2_rn(0.5f));
  out[4 * threadIdx.x + 2] = h2sqrt(__habs2(a));
  out[4 * threadIdx.x + 3] = __hgt2(a, b);
}

KERNEL_CASE(pairs_of_halves) {
  suite::Buffer<__half2> x(
      std::vector<__half2>{__floats2half2_rn(1.5f, -4.f), __floats2half2_rn(9.f, 0.25f)});
  suite::Buffer<__half2> out(size_t{8});
  pairs<<<1, 2>>>(x, out);
  std::vector<float> got;
  for (const __half2 value : out.read()) {
    got.push_back(__low2float(value));
    got.push_back(__high2float(value));
  }
  suite::check("pairs", got,
               std::vector<float>{-2.5f, -2.5f, -5.5f, -5.5f, 1.224609375f, 2, 1, 0, 9.25f, 9.25f,
                                  2.75f, 2.75f, 3, 0.5f, 1, 0});
}

__global__ void bfloats(const __nv_bfloat16* x, float* out) {
  const __nv_bfloat16 a = x[threadIdx.x], b = __float2bfloat16(3.f);
  out[threadIdx.x] = __bfloat162float(a * b + a);
}

KERNEL_CASE(arithmetic_of_bfloats) {
  suite::Buffer<__nv_bfloat16> x(std::vector<__nv_bfloat16>{
      __float2bfloat16(1.f), __float2bfloat16(1.0078125f), __float2bfloat16(-300.f)});
  suite::Buffer<float> out(size_t{3});
  bfloats<<<1, 3>>>(x, out);
  suite::check("bfloats", out.read(), std::vector<float>{4, 4.03125f, -1200});
}
