// Mathematical functions, conversions and bits.
#include "suite.h"

__global__ void functions(const float* x, float* out, int n) {
  const int t = threadIdx.x;
  if (t >= n) return;
  const float v = x[t];
  float* mine = out + t * 12;
  mine[0] = rsqrtf(v);
  mine[1] = erff(v);
  mine[2] = tanhf(v);
  mine[3] = expf(-v);
  mine[4] = logf(v);
  mine[5] = sinpif(v);
  mine[6] = normcdff(v);
  mine[7] = fmaf(v, v, -v);
  mine[8] = max(v, NAN);
  mine[9] = powf(v, 1.5f);
  mine[10] = rintf(v * 2.5f);
  mine[11] = __saturatef(v - 1);
}

KERNEL_CASE(mathematical_functions) {
  const std::vector<float> values = {0.5f, 1, 1.25f, 2, 3.75f};
  suite::Buffer<float> x(values), out(values.size() * 12);
  functions<<<1, 32>>>(x, out, 5);
  std::vector<double> want;
  for (const double v : values)
    for (const double w : {1 / std::sqrt(v), std::erf(v), std::tanh(v), std::exp(-v), std::log(v),
                           std::sin(M_PI * std::fmod(v, 2.)) * (std::fmod(v, 1.) == 0 ? 0 : 1),
                           std::erfc(-v * M_SQRT1_2) / 2, v * v - v, v, std::pow(v, 1.5),
                           std::nearbyint(v * 2.5), std::fmin(std::fmax(v - 1, 0.), 1.)})
      want.push_back(w);
  const std::vector<float> got = out.read();
  std::vector<double> near;  // within 4 units, as CUDA promises; sines of whole numbers are 0
  for (size_t i = 0; i < got.size(); ++i)
    near.push_back(std::fabs(want[i]) < 1e-6 && std::fabs(static_cast<double>(got[i])) < 1e-6
                       ? static_cast<double>(got[i])
                       : want[i]);
  suite::check("functions", got, near, 4);
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

__global__ void vectors(const float4* x, float4* out, int2* pairs) {
  float4 v = x[threadIdx.x];
  v.x += v.w;
  out[threadIdx.x] = make_float4(v.w, v.z, v.y, v.x);
  pairs[threadIdx.x] = *reinterpret_cast<const int2*>(&x[threadIdx.x].z);
}

KERNEL_CASE(short_vectors) {
  suite::Buffer<float4> x(std::vector<float4>{{1, 2, 3, 4}, {5, 6, 7, 8}}), out(size_t{2});
  suite::Buffer<int2> pairs(size_t{2});
  vectors<<<1, 2>>>(x, out, pairs);
  std::vector<float> got;
  for (const float4 v : out.read()) got.insert(got.end(), {v.x, v.y, v.z, v.w});
  suite::check("vectors", got, std::vector<float>{4, 3, 2, 5, 8, 7, 6, 13});
  suite::check("pairs", std::vector<int>{pairs.read()[0].x, pairs.read()[1].y},
               std::vector<int>{0x40400000, 0x41000000});
}
