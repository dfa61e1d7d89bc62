// Mathematical functions, comparisons and packing of 16-bit floats.
#include "function.h"

template <class T> static std::vector<T> shorts(std::initializer_list<float> values) {
  std::vector<T> result;
  for (const float value : values) result.push_back(T(value));
  return result;
}
static const auto any_half =
    shorts<__half>({-8, -2.75f, -1, -0.625f, -1e-3f, 0.1f, 0.5f, 1, 2.5f, 9.875f});
static const auto positive_half =
    shorts<__half>({1e-7f, 1e-4f, 0.1f, 0.5f, 1, 1.25f, 3.7f, 10, 100, 65504});
static const auto any_bfloat =
    shorts<__nv_bfloat16>({-8, -2.75f, -1, -0.625f, -1e-3f, 0.1f, 0.5f, 1, 2.5f, 9.875f});
static const auto positive_bfloat =
    shorts<__nv_bfloat16>({1e-30f, 1e-4f, 0.1f, 0.5f, 1, 1.25f, 3.7f, 10, 100, 1e30f});

FUNCTION(__half, half_exp, 1, any_half, hexp(x), std::exp(x))
FUNCTION(__half, half_exp2, 1, any_half, hexp2(x), std::exp2(x))
FUNCTION(__half, half_exp10, 1, any_half, hexp10(x* __half(0.25f)),
         std::pow(10.L,
                  static_cast<long double>(static_cast<float>(__half(static_cast<float>(x / 4))))))
FUNCTION(__half, half_log, 1, positive_half, hlog(x), std::log(x))
FUNCTION(__half, half_log2, 1, positive_half, hlog2(x), std::log2(x))
FUNCTION(__half, half_log10, 1, positive_half, hlog10(x), std::log10(x))
FUNCTION(__half, half_sin, 1, any_half, hsin(x), std::sin(x))
FUNCTION(__half, half_cos, 1, any_half, hcos(x), std::cos(x))
FUNCTION(__half, half_sqrt, 0, positive_half, hsqrt(x), std::sqrt(x))
FUNCTION(__half, half_rsqrt, 1, positive_half, hrsqrt(x), 1 / std::sqrt(x))
FUNCTION(__half, half_reciprocal, 1, any_half, hrcp(x), 1 / x)
FUNCTION(__half, half_integers, 0, any_half,
         __hadd(__hadd(hfloor(x), hceil(x)), __hadd(htrunc(x), hrint(x))),
         std::floor(x) + std::ceil(x) + std::trunc(x) + std::rint(x))
FUNCTION(__nv_bfloat16, bfloat_exp, 1, any_bfloat, hexp(x), std::exp(x))
FUNCTION(__nv_bfloat16, bfloat_log, 1, positive_bfloat, hlog(x), std::log(x))
FUNCTION(__nv_bfloat16, bfloat_sqrt, 0, positive_bfloat, hsqrt(x), std::sqrt(x))
FUNCTION(__nv_bfloat16, bfloat_rsqrt, 1, positive_bfloat, hrsqrt(x), 1 / std::sqrt(x))
FUNCTION(__nv_bfloat16, bfloat_sin, 1, any_bfloat, hsin(x), std::sin(x))

template <class T> __global__ void compare_numbers(const T* x, int* out) {
  const T a = x[threadIdx.x], b = T(1.5f);
  int bits = 0, next = 0;
  for (const bool is :
       {__heq(a, b), __hne(a, b), __hlt(a, b), __hgt(a, b), __hle(a, b), __hge(a, b), __hequ(a, b),
        __hneu(a, b), __hltu(a, b), __hgtu(a, b), __hisnan(a), a == b, a < b, a >= b})
    bits |= is << next++;
  bits |= (__hisinf(a) + 1) << 20;
  out[threadIdx.x] = bits;
}
// The same bits from what the host knows of floats.
static int compared(float a) {
  const float b = 1.5f;
  const bool is_nan = std::isnan(a);
  int bits = 0, next = 0;
  for (const bool is : {a == b, !is_nan && a != b, a<b, a> b, a <= b, a >= b, a == b || is_nan,
                        a != b, a < b || is_nan, a > b || is_nan, is_nan, a == b, a < b, a >= b})
    bits |= is << next++;
  const int infinity = std::isinf(a) ? a < 0 ? -1 : 1 : 0;
  return bits | (infinity + 1) << 20;
}

KERNEL_CASE(comparisons_of_halves) {
  const std::vector<float> values = {-1, 1.5f, 2, NAN, INFINITY, -INFINITY};
  std::vector<__half> halves;
  std::vector<__nv_bfloat16> bfloats;
  std::vector<int> want;
  for (const float value : values) {
    halves.push_back(__float2half(value));
    bfloats.push_back(__float2bfloat16(value));
    want.push_back(compared(value));
  }
  suite::Buffer<__half> x(halves);
  suite::Buffer<__nv_bfloat16> y(bfloats);
  suite::Buffer<int> out(values.size());
  compare_numbers<<<1, 6>>>(x.data(), out);
  suite::check("halves", out.read(), want);
  compare_numbers<<<1, 6>>>(y.data(), out);
  suite::check("bfloats", out.read(), want);
}

__global__ void converted(const float* x, __half* out, int* integers) {
  const float v = x[threadIdx.x];
  const __half h = __float2half_rn(v);
  __half* mine = out + threadIdx.x * 6;
  mine[0] = __float2half_rz(v);
  mine[1] = __float2half_rd(v);
  mine[2] = __float2half_ru(v);
  mine[3] = __int2half_rn(static_cast<int>(v * 100));
  mine[4] = __uint2half_rz(static_cast<unsigned>(fabsf(v) * 1000));
  mine[5] = __short_as_half(static_cast<short>(__half_as_short(h) ^ 1));
  int* whole = integers + threadIdx.x * 6;
  whole[0] = __half2int_rn(h);
  whole[1] = __half2int_rz(h);
  whole[2] = __half2int_rd(h);
  whole[3] = static_cast<int>(__half2uint_ru(h));
  whole[4] = __half2short_rn(h);
  whole[5] = static_cast<int>(__half2ll_rn(h));
}

KERNEL_CASE(conversions_of_numbers) {
  const std::vector<float> values = {0.5f, 1.5f, -2.7f, 3.14159f, 1000.3f, 40000.f};
  suite::Buffer<float> x(values);
  suite::Buffer<__half> out(size_t{36});
  suite::Buffer<int> integers(size_t{36});
  converted<<<1, 6>>>(x, out, integers);
  // The next half below or above a value, or itself.
  const auto toward = [](double value, int direction) {
    const auto nearest = static_cast<double>(static_cast<float>(__half(static_cast<float>(value))));
    if ((nearest - value) * direction >= 0) return nearest;
    return nearest + direction * std::ldexp(1., std::ilogb(nearest) - 10);
  };
  std::vector<double> want;
  std::vector<int> whole;
  for (const float value : values) {
    const auto v = static_cast<double>(value);
    const auto h = static_cast<double>(static_cast<float>(__half(value)));
    want.push_back(toward(v, v > 0 ? -1 : 1));
    want.push_back(toward(v, -1));
    want.push_back(toward(v, 1));
    const int hundred = static_cast<int>(value * 100),
              thousand = static_cast<int>(std::fabs(value) * 1000);
    want.push_back(hundred > 65519 ? INFINITY : toward(hundred, 0));
    want.push_back(thousand > 65503 ? 65504 : toward(thousand, -1));
    __half changed(value);
    unsigned short bits;
    std::memcpy(&bits, &changed, 2);
    bits ^= 1;
    std::memcpy(static_cast<void*>(&changed), &bits, 2);
    want.push_back(static_cast<double>(static_cast<float>(changed)));
    whole.push_back(static_cast<int>(std::nearbyint(h)));
    whole.push_back(static_cast<int>(std::trunc(h)));
    whole.push_back(static_cast<int>(std::floor(h)));
    whole.push_back(static_cast<int>(std::fmax(0., std::ceil(h))));
    whole.push_back(static_cast<int>(std::fmin(32767., std::nearbyint(h))));
    whole.push_back(static_cast<int>(std::nearbyint(h)));
  }
  suite::check("halves", out.read(), want);
  suite::check("integers", integers.read(), whole);
}

__global__ void packed(float* out, const __half* x, const __nv_bfloat16* y) {
  const __half2 a = __halves2half2(x[0], x[1]), b = __half2half2(x[2]);
  const __half2 c = __lows2half2(a, b), d = __highs2half2(a, b);
  const float2 e = __half22float2(__hadd2(c, d));
  const __half2 f = __hmul2(__hneg2(a), b), g = __hfma2(a, b, c), h = __h2div(a, b);
  const __half2 i = __hmax2(a, b), j = __hsub2_sat(a, b), k = a * b + c - d;
  const __nv_bfloat162 l = __halves2bfloat162(y[0], y[1]), m = __bfloat162bfloat162(y[2]);
  const float2 n = __bfloat1622float2(__hfma2(l, m, l));
  const float2 o = __bfloat1622float2(__float22bfloat162_rn(make_float2(1.01f, -2.03f)));
  const float all[] = {__low2float(c),
                       __high2float(c),
                       __low2float(d),
                       __high2float(d),
                       e.x,
                       e.y,
                       __low2float(f),
                       __high2float(f),
                       __low2float(g),
                       __high2float(g),
                       __low2float(h),
                       __high2float(h),
                       __low2float(i),
                       __high2float(i),
                       __low2float(j),
                       __high2float(j),
                       __low2float(k),
                       __high2float(k),
                       n.x,
                       n.y,
                       o.x,
                       o.y,
                       __hbgt2(a, b) ? 1.f : 0.f,
                       __hblt2(b, a) ? 1.f : 0.f,
                       __half2float(__low2half(a)),
                       __half2float(__high2half(a)),
                       __half2float(__hmin(x[0], x[1])),
                       __half2float(__hfma_relu(x[0], x[1], x[2])),
                       __bfloat162float(__hmul(y[0], y[1])),
                       __bfloat162float(__habs(y[1]))};
  for (int i2 = 0; i2 < 30; ++i2) out[i2] = all[i2];
}

KERNEL_CASE(packing_of_halves) {
  suite::Buffer<__half> x(shorts<__half>({1.5f, -2.25f, 0.75f}));
  suite::Buffer<__nv_bfloat16> y(shorts<__nv_bfloat16>({1.5f, -2.25f, 0.75f}));
  suite::Buffer<float> out(size_t{30});
  packed<<<1, 1>>>(out, x, y);
  suite::check("numbers", out.read(),
               std::vector<float>{1.5f,    0.75f,    -2.25f,     0.75f,     -0.75f,  1.5f,
                                  -1.125f, 1.6875f,  2.625f,     -0.9375f,  2,       -3,
                                  1.5f,    0.75f,    0.75f,      0,         4.875f,  -1.6875f,
                                  2.625f,  -3.9375f, 1.0078125f, -2.03125f, 0,       0,
                                  1.5f,    -2.25f,   -2.25f,     0,         -3.375f, 2.25f});
}

__global__ void added(__half* h, __half2* h2, __nv_bfloat16* b, float* shuffled) {
  atomicAdd(h, __half(0.5f));
  atomicAdd(h2, __floats2half2_rn(1.f, 2.f));
  atomicAdd(b, __nv_bfloat16(1.f));
  const __half mine(static_cast<float>(threadIdx.x));
  const __half other = __shfl_xor_sync(0xffffffff, mine, 3);
  const __half2 pair = __shfl_down_sync(0xffffffff, __half2half2(mine), 1);
  if (blockIdx.x == 0 && threadIdx.x < 4)
    shuffled[threadIdx.x] = __half2float(other) + 100 * __high2float(pair);
}

KERNEL_CASE(atomics_and_shuffles_of_halves) {
  suite::Buffer<__half> h(shorts<__half>({0}));
  suite::Buffer<__half2> h2(std::vector<__half2>{__floats2half2_rn(0.f, 0.f)});
  suite::Buffer<__nv_bfloat16> b(shorts<__nv_bfloat16>({0}));
  suite::Buffer<float> shuffled(size_t{4});
  added<<<2, 32>>>(h, h2, b, shuffled);
  suite::check("halves", h.read(), std::vector<float>{32});
  const __half2 pair = h2.read()[0];
  suite::check("pairs", std::vector<float>{__low2float(pair), __high2float(pair)},
               std::vector<float>{64, 128});
  suite::check("bfloats", b.read(), std::vector<float>{64});
  suite::check("shuffled", shuffled.read(), std::vector<float>{103, 202, 301, 400});
}
