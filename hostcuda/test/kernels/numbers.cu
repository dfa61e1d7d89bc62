// Mathematical functions, conversions and bits.
#include "suite.h"

__global__ void extrema(const float* x, float* out, long long* integers) {
  const float v = x[threadIdx.x];
  float* mine = out + threadIdx.x * 6;
  mine[0] = max(v, NAN);
  mine[1] = min(NAN, v);
  mine[2] = fmaxf(v, 0.5f);
  mine[3] = fminf(v, -0.5f);
  mine[4] = static_cast<float>(max(static_cast<double>(v), 1.0));
  mine[5] = fabsf(v) + static_cast<float>(fabs(static_cast<double>(v)));
  const int i = static_cast<int>(v);
  long long* whole = integers + threadIdx.x * 6;
  whole[0] = max(i, -1);
  whole[1] = max(static_cast<unsigned>(i), 7u);
  whole[2] = min(static_cast<long long>(i), 1ll << 40);
  whole[3] = abs(i);
  whole[4] = llabs(static_cast<long long>(i) << 33);
  whole[5] = min(i, 2) - umax(3u, 2u);
}

KERNEL_CASE(extrema_and_magnitudes) {
  const std::vector<float> values = {-3, 0.25f, 2.5f};
  suite::Buffer<float> x(values), out(size_t{18});
  suite::Buffer<long long> integers(size_t{18});
  extrema<<<1, 3>>>(x, out, integers);
  suite::check("floats", out.read(),
               std::vector<float>{-3, -3, 0.5f, -3, 1, 6, 0.25f, 0.25f, 0.5f, -0.5f, 1, 0.5f, 2.5f,
                                  2.5f, 2.5f, -0.5f, 2.5f, 5});
  suite::check("integers", integers.read(),
               std::vector<long long>{-1, 4294967293ll, -3, 3, 3ll << 33, 4294967290ll, 0, 7, 0, 0,
                                      0, 4294967293ll, 2, 7, 2, 2, 2ll << 33, 4294967295ll});
}

__global__ void roundings(const float* x, int* out) {
  const float v = x[threadIdx.x];
  int* mine = out + threadIdx.x * 8;
  mine[0] = __float2int_rn(v);
  mine[1] = __float2int_rz(v);
  mine[2] = __float2int_ru(v);
  mine[3] = __float2int_rd(v);
  mine[4] = static_cast<int>(__float2uint_rz(v));
  mine[5] = __float_as_int(__fadd_ru(v, 1e-9f));
  mine[6] = __float_as_int(__fmul_rz(v, 1.1f));
  mine[7] = __float_as_int(__fdiv_rd(v, 3.f));
}

KERNEL_CASE(roundings_of_floats) {
  suite::Buffer<float> x(std::vector<float>{2.5f, -2.5f, 3.4e9f, -1e20f, NAN});
  suite::Buffer<int> out(size_t{40});
  roundings<<<1, 5>>>(x, out);
  std::vector<int> got = out.read(), some;
  for (size_t i = 0; i < 40; ++i)
    if (i % 8 < 5) some.push_back(got[i]);
  const int most = 2147483647, least = -most - 1;
  suite::check("integers", some,
               std::vector<int>{2,     2,     3,     2,     2,
                                -2,    -2,    -2,    -3,    0,
                                most,  most,  most,  most,  static_cast<int>(3400000000u),
                                least, least, least, least, 0,
                                0,     0,     0,     0,     0});
  const auto bits = [](float value) {
    int b;
    std::memcpy(&b, &value, sizeof(b));
    return b;
  };
  suite::check("floats", std::vector<int>{got[5], got[6], got[7]},
               std::vector<int>{bits(std::nextafter(2.5f, 3.f)), bits(2.75f),
                                bits(2.5f / 3) - (2.5f / 3 > 2.5 / 3)});
}

__global__ void bits(const unsigned* x, unsigned* out) {
  const unsigned v = x[threadIdx.x];
  unsigned* mine = out + threadIdx.x * 9;
  mine[0] = __popc(v);
  mine[1] = __clz(static_cast<int>(v));
  mine[2] = __ffs(static_cast<int>(v));
  mine[3] = __brev(v);
  mine[4] = __byte_perm(v, 0x01020304, 0x4103);
  mine[5] = __umulhi(v, v);
  mine[6] = static_cast<unsigned>(__dp4a(static_cast<int>(v), 0x01020304, 5));
  mine[7] = __funnelshift_l(v, 0x80000001, 4);
  mine[8] = static_cast<unsigned>(__mul24(static_cast<int>(v), 3));
}

KERNEL_CASE(bits_of_integers) {
  suite::Buffer<unsigned> x(std::vector<unsigned>{0, 0x80f0ff01});
  suite::Buffer<unsigned> out(size_t{18});
  bits<<<1, 2>>>(x, out);
  suite::check("bits", out.read(),
               std::vector<unsigned>{0, 32, 0, 0, 0x04000000, 0, 5, 0x10, 0, 14, 0, 1, 0x80ff0f01,
                                     0x04ff0180, 1089593824, 4294967142u, 24, 0xffd2fd03});
}

__global__ void wide_roundings(const double* x, double* out, long long* integers) {
  const double v = x[threadIdx.x];
  double* mine = out + threadIdx.x * 8;
  mine[0] = __dadd_rd(v, 1e-17);
  mine[1] = __dmul_ru(v, 1.1);
  mine[2] = __ddiv_rz(v, 3.);
  mine[3] = __fma_rn(v, 1.1, 0.3);
  mine[4] = static_cast<double>(__double2float_ru(v));
  mine[5] = static_cast<double>(__int2float_rz(static_cast<int>(v * 7654321)));
  mine[6] = static_cast<double>(__fsqrt_ru(fabsf(static_cast<float>(v))));
  mine[7] = static_cast<double>(__ll2float_rd(static_cast<long long>(v * 1e15)));
  long long* whole = integers + threadIdx.x * 6;
  whole[0] = __double2int_rn(v);
  whole[1] = __double2ll_ru(v * 1e10);
  whole[2] = __float2ll_rd(static_cast<float>(v) * 1e12f);
  whole[3] = lrintf(static_cast<float>(v)) + 10 * llround(v);
  whole[4] = __double_as_longlong(v);
  whole[5] = __double2hiint(v) ^ __double2loint(__hiloint2double(7, 9));
}

KERNEL_CASE(roundings_of_doubles) {
  const std::vector<double> values = {2.5, -0.1, 123.456789};
  suite::Buffer<double> x(values), out(size_t{24});
  suite::Buffer<long long> integers(size_t{18});
  wide_roundings<<<1, 3>>>(x, out, integers);
  const auto toward = [](double from, long double exact, double where) {
    const bool is_beyond =
        where > 0 ? static_cast<long double>(from) < exact : static_cast<long double>(from) > exact;
    return is_beyond ? std::nextafter(from, where) : from;
  };
  const auto toward_float = [](double exact, float where) {
    const auto from = static_cast<float>(exact);
    const bool is_beyond =
        where > 0 ? static_cast<double>(from) < exact : static_cast<double>(from) > exact;
    return static_cast<double>(is_beyond ? std::nextafter(from, where) : from);
  };
  std::vector<double> want;
  std::vector<long long> whole;
  for (const double v : values) {
    const auto l = static_cast<long double>(v);
    want.push_back(v);
    want.push_back(toward(v * 1.1, l * static_cast<long double>(1.1), INFINITY));
    const double third = v / 3;
    const long double rest = l - 3 * static_cast<long double>(third);
    want.push_back((rest < 0) == (v > 0) && rest != 0 ? std::nextafter(third, 0.) : third);
    want.push_back(std::fma(v, 1.1, 0.3));
    want.push_back(toward_float(v, INFINITY));
    want.push_back(toward_float(static_cast<int>(v * 7654321), v > 0 ? -INFINITY : INFINITY));
    want.push_back(
        toward_float(std::sqrt(std::fabs(static_cast<double>(static_cast<float>(v)))), INFINITY));
    want.push_back(toward_float(static_cast<double>(static_cast<long long>(v * 1e15)), -INFINITY));
    whole.push_back(static_cast<long long>(std::nearbyint(v)));
    whole.push_back(static_cast<long long>(std::ceil(v * 1e10)));
    whole.push_back(static_cast<long long>(static_cast<float>(v) * 1e12f));
    whole.push_back(std::lrint(v) + 10 * std::llround(v));
    long long bits;
    std::memcpy(&bits, &v, sizeof(bits));
    whole.push_back(bits);
    whole.push_back(static_cast<int>(bits >> 32) ^ 9);
  }
  suite::check("doubles", out.read(), want);
  suite::check("integers", integers.read(), whole);
}

__global__ void wide_bits(const unsigned long long* x, unsigned long long* out) {
  const unsigned long long v = x[threadIdx.x];
  const auto low = static_cast<unsigned>(v), high = static_cast<unsigned>(v >> 32);
  unsigned long long* mine = out + threadIdx.x * 12;
  mine[0] = static_cast<unsigned>(__popcll(v));
  mine[1] = static_cast<unsigned>(__clzll(static_cast<long long>(v)));
  mine[2] = static_cast<unsigned>(__ffsll(static_cast<long long>(v)));
  mine[3] = __brevll(v);
  mine[4] = __umul64hi(v, v);
  mine[5] = static_cast<unsigned long long>(__mul64hi(static_cast<long long>(v), -3));
  mine[6] = static_cast<unsigned>(__mulhi(static_cast<int>(low), static_cast<int>(high)));
  mine[7] = __funnelshift_r(low, high, 9);
  mine[8] = static_cast<unsigned>(__rhadd(static_cast<int>(low), static_cast<int>(high)));
  mine[9] = __usad(low, high, 1u) ^ __sad(static_cast<int>(low), 5, 2u);
  mine[10] = __vadd4(low, high) ^ __vmaxu4(low, high) ^ __vsub4(high, low);
  mine[11] = __uhadd(low, high) ^ static_cast<unsigned>(__hadd(static_cast<int>(low), 3));
}

KERNEL_CASE(bits_of_wide_integers) {
  const std::vector<unsigned long long> values = {0x123456789abcdef0ull, 0x8000000000000001ull, 42};
  suite::Buffer<unsigned long long> x(values), out(values.size() * 12);
  wide_bits<<<1, 3>>>(x, out);
  std::vector<unsigned long long> want;
  for (const unsigned long long v : values) {
    const auto low = static_cast<unsigned>(v), high = static_cast<unsigned>(v >> 32);
    const auto l = static_cast<int>(low), h = static_cast<int>(high);
    unsigned long long ones = 0, leading = 64, first = 0, reversed = 0;
    for (unsigned i = 0; i < 64; ++i) {
      if (!(v >> i & 1)) continue;
      ++ones;
      leading = 63 - i;
      if (first == 0) first = i + 1;
      reversed |= 1ull << (63 - i);
    }
    unsigned sums = 0, largest = 0, differences = 0;
    for (unsigned i = 0; i < 32; i += 8) {
      const unsigned a = low >> i & 255, b = high >> i & 255;
      sums |= (a + b & 255) << i;
      largest |= std::max(a, b) << i;
      differences |= (b - a & 255) << i;
    }
    // The upper half of v * -3, for v as a signed number.
    const __int128 product = static_cast<__int128>(static_cast<long long>(v)) * -3;
    for (const unsigned long long w :
         {ones, leading, first, reversed,
          static_cast<unsigned long long>(static_cast<unsigned __int128>(v) * v >> 64),
          static_cast<unsigned long long>(product >> 64),
          static_cast<unsigned long long>(
              static_cast<unsigned>(static_cast<long long>(l) * h >> 32)),
          static_cast<unsigned long long>(static_cast<unsigned>(v >> 9)),
          static_cast<unsigned long long>(
              static_cast<unsigned>((static_cast<long long>(l) + h + 1) >> 1)),
          static_cast<unsigned long long>(
              ((low > high ? low - high : high - low) + 1)
              ^ static_cast<unsigned>(std::llabs(static_cast<long long>(l) - 5) + 2)),
          static_cast<unsigned long long>(sums ^ largest ^ differences),
          static_cast<unsigned long long>(
              static_cast<unsigned>((static_cast<unsigned long long>(low) + high) >> 1)
              ^ static_cast<unsigned>((static_cast<long long>(l) + 3) >> 1))})
      want.push_back(w);
  }
  suite::check("bits", out.read(), want);
}

__global__ void dots(const float* x, float* out) {
  float sum = 0, squares = 0;
  for (int i = 0; i < 64; ++i) {
    sum += x[i] * x[63 - i];  // fused on a GPU
    squares = __fadd_rn(squares, __fmul_rn(x[i], x[i]));
  }
  out[0] = sum;
  out[1] = squares;
}

KERNEL_CASE(sums_of_products) {
  const std::vector<float> values =
      suite::made(64, [](size_t i) { return static_cast<float>(i * 37 % 64) / 63 + 0.01f; });
  suite::Buffer<float> x(values), out(size_t{2});
  dots<<<1, 1>>>(x, out);
  double sum = 0;
  float squares = 0;
  for (size_t i = 0; i < 64; ++i) {
    sum += static_cast<double>(values[i]) * static_cast<double>(values[63 - i]);
    volatile float square = values[i] * values[i];
    squares += square;
  }
  const std::vector<float> got = out.read();
  suite::check("free", std::vector<float>{got[0]}, std::vector<double>{sum}, 8);
  suite::check("fixed", std::vector<float>{got[1]}, std::vector<float>{squares});
}
