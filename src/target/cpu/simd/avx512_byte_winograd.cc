// Winograd's filtering in integers with AVX-512.
#if defined(__x86_64__)
#include "target/cpu/simd/avx512_byte_finish.h"

namespace tenon::cpu {
namespace {

using namespace avx512::bytes;

using Vector = __m512i;
constexpr int64_t kChannels = sizeof(Vector) / sizeof(int16_t);

Vector plus16(Vector a, Vector b) {
  return _mm512_add_epi16(a, b);
}
Vector minus16(Vector a, Vector b) {
  return _mm512_sub_epi16(a, b);
}
template <int N> Vector times_power16(Vector a) {
  return _mm512_slli_epi16(a, N);
}
Vector plus(Vector a, Vector b) {
  return _mm512_add_epi32(a, b);
}
Vector minus(Vector a, Vector b) {
  return _mm512_sub_epi32(a, b);
}
template <int N> Vector times_power(Vector a) {
  return _mm512_slli_epi32(a, N);
}
Vector times(Vector a, int32_t b) {
  return _mm512_mullo_epi32(a, _mm512_set1_epi32(b));
}
template <int N> Vector right(Vector a) {
  return _mm512_srai_epi32(a, N);
}
Vector load_widened(const uint8_t* from, uint8_t flip) {
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  return _mm512_cvtepu8_epi16(_mm256_xor_si256(bytes, _mm256_set1_epi8(static_cast<char>(flip))));
}
Vector load(const int32_t* sums) {
  return _mm512_loadu_si512(sums);
}
void store(Vector x, int16_t* to) {
  _mm512_storeu_si512(to, x);
}

}  // namespace
}  // namespace tenon::cpu

#include "target/cpu/simd/byte_winograd_inl.h"

namespace tenon::cpu {

const ByteWinograd avx512::kByteWinograd[2] = {form<Two>(), form<Four>()};

}  // namespace tenon::cpu
#endif
