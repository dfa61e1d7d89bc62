// Short vectors: their members, sizes, alignments and loads.
#include "suite.h"

__global__ void reversed(const float4* x, float4* out, int2* pairs) {
  float4 v = x[threadIdx.x];
  v.x += v.w;
  out[threadIdx.x] = make_float4(v.w, v.z, v.y, v.x);
  pairs[threadIdx.x] = *reinterpret_cast<const int2*>(&x[threadIdx.x].z);
}

KERNEL_CASE(short_vectors) {
  suite::Buffer<float4> x(std::vector<float4>{{1, 2, 3, 4}, {5, 6, 7, 8}}), out(size_t{2});
  suite::Buffer<int2> pairs(size_t{2});
  reversed<<<1, 2>>>(x, out, pairs);
  std::vector<float> got;
  for (const float4 v : out.read()) got.insert(got.end(), {v.x, v.y, v.z, v.w});
  suite::check("vectors", got, std::vector<float>{4, 3, 2, 5, 8, 7, 6, 13});
  suite::check("pairs", std::vector<int>{pairs.read()[0].x, pairs.read()[1].y},
               std::vector<int>{0x40400000, 0x41000000});
}

template <class T> __device__ int shape() {
  return static_cast<int>(sizeof(T) * 100 + alignof(T));
}
__global__ void shapes(int* out) {
  const int all[] = {
      shape<char1>(),  shape<uchar2>(),    shape<char3>(),   shape<uchar4>(),
      shape<short2>(), shape<ushort3>(),   shape<short4>(),  shape<int2>(),
      shape<uint3>(),  shape<int4>(),      shape<float2>(),  shape<float3>(),
      shape<float4>(), shape<longlong2>(), shape<double2>(), shape<double3>(),
      shape<dim3>(),   shape<__half>(),    shape<__half2>(), shape<__nv_bfloat162>()};
  for (int i = 0; i < 20; ++i) out[i] = all[i];
}

KERNEL_CASE(shapes_of_vectors) {
  suite::Buffer<int> out(size_t{20});
  shapes<<<1, 1>>>(out);
  suite::check("device", out.read(),
               std::vector<int>{101, 202,  301,  404,  404,  602,  808,  808, 1204, 1616,
                                808, 1204, 1616, 1616, 1616, 2408, 1204, 202, 404,  404});
  suite::check(
      "host",
      std::vector<size_t>{sizeof(float3), alignof(float4), sizeof(double2), alignof(__half2)},
      std::vector<int>{12, 16, 16, 4});
}

__global__ void made(long long* out) {
  const char4 a = make_char4(-1, 2, -3, 4);
  const uchar2 b = make_uchar2(200, 100);
  const short3 c = make_short3(-300, 200, 100);
  const ushort4 d = make_ushort4(1, 2, 3, 65535);
  const int3 e = make_int3(-7, 8, 9);
  const uint2 f = make_uint2(4000000000u, 1);
  const longlong2 g = make_longlong2(-5, 1ll << 40);
  const double2 h = make_double2(0.5, 2.);
  const float3 i = make_float3(1.5f, 2.5f, 3);
  const uint3 j = make_uint3(1, 2, 3);
  const dim3 k(5, 6);
  const int1 l = make_int1(77);
  const ulonglong2 m = make_ulonglong2(9, 10);
  out[0] = a.x + a.y * 10 + a.z * 100 + a.w * 1000;
  out[1] = b.x + b.y * 1000;
  out[2] = c.x + c.y * 1000 + c.z * 1000000;
  out[3] = d.x + d.y + d.z + d.w;
  out[4] = e.x + e.y * 10 + e.z * 100;
  out[5] = f.x + static_cast<long long>(f.y);
  out[6] = g.x + g.y;
  out[7] = static_cast<long long>(h.x * 100 + h.y);
  out[8] = static_cast<long long>(i.x * 2 + i.y * 20 + i.z * 100);
  out[9] = j.x + j.y * 10 + j.z * 100;
  out[10] = k.x + k.y * 10 + k.z * 100;
  out[11] = l.x;
  out[12] = static_cast<long long>(m.x + m.y * 10);
}

KERNEL_CASE(makers_of_vectors) {
  suite::Buffer<long long> out(size_t{13});
  made<<<1, 1>>>(out);
  suite::check("members", out.read(),
               std::vector<long long>{3719, 100200, 100199700, 65541, 973, 4000000001ll,
                                      (1ll << 40) - 5, 52, 353, 321, 165, 77, 109});
}

// 16 bytes at a time through the read-only cache, and what is left over one by one.
__global__ void scaled(const float* __restrict__ x, float* __restrict__ out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n / 4) {
    const float4 v = __ldg(reinterpret_cast<const float4*>(x) + i);
    reinterpret_cast<float4*>(out)[i] = make_float4(v.x * 2, v.y * 2, v.z * 2, v.w * 2);
  }
  if (i < n % 4) out[n / 4 * 4 + i] = __ldcs(x + n / 4 * 4 + i) * 2;
}

KERNEL_CASE(wide_loads) {
  suite::Buffer<float> x(suite::made(47, [](size_t i) { return static_cast<float>(i); })),
      out(size_t{47});
  scaled<<<2, 8>>>(x, out, 47);
  suite::check("scaled", out.read(),
               suite::made(47, [](size_t i) { return 2 * static_cast<float>(i); }));
}
