// 8-bit floats: what they round to, and what they are.
#include <cuda_fp8.h>

#include "suite.h"

template <class Byte> __global__ void through(const float* x, float* back, int* codes) {
  const Byte byte(x[threadIdx.x]);
  back[threadIdx.x] = static_cast<float>(byte);
  codes[threadIdx.x] = byte.__x;
}

template <class Byte>
void check_through(const std::string& name, const std::vector<float>& x,
                   const std::vector<float>& numbers, const std::vector<int>& codes) {
  const suite::Buffer<float> in(x), back(x.size());
  const suite::Buffer<int> bits(x.size());
  through<Byte><<<1, static_cast<unsigned>(x.size())>>>(in, back, bits);
  suite::check(name + "_numbers", back.read(), numbers);
  suite::check(name + "_codes", bits.read(), codes);
}

// Ties go to the even fraction, what is too large becomes the largest.
KERNEL_CASE(byte_floats) {
  const float least = std::ldexp(1.f, -9), least_e5m2 = std::ldexp(1.f, -16);
  check_through<__nv_fp8_e4m3>(
      "e4m3", {0, -0.f, 1, 1.0625f, 1.1875f, -17, 448, 1e6f, -INFINITY, least, least / 2, NAN},
      {0, -0.f, 1, 1, 1.25f, -16, 448, 448, -448, least, 0, NAN},
      {0, 0x80, 0x38, 0x38, 0x3a, 0xd8, 0x7e, 0x7e, 0xfe, 1, 0, 0x7f});
  check_through<__nv_fp8_e5m2>("e5m2",
                               {0, 1, 1.125f, 1.375f, -9, 57344, 1e6f, -INFINITY, least_e5m2, NAN},
                               {0, 1, 1, 1.5f, -8, 57344, 57344, -57344, least_e5m2, NAN},
                               {0, 0x3c, 0x3c, 0x3e, 0xc8, 0x7b, 0x7b, 0xfb, 1, 0x7f});
}

// Each code, as float16 has it.
KERNEL_CASE(byte_floats_to_halves) {
  for (const auto kind : {__NV_E4M3, __NV_E5M2}) {
    std::vector<int> codes, again;
    for (int code = 0; code < 256; ++code) {
      const __half_raw half = __nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(code), kind);
      if (std::isnan(static_cast<float>(__half(half)))) continue;
      codes.push_back(code);
      again.push_back(__nv_cvt_halfraw_to_fp8(half, __NV_NOSAT, kind));
    }
    suite::check(kind == __NV_E4M3 ? "e4m3" : "e5m2", again, codes);
  }
}
