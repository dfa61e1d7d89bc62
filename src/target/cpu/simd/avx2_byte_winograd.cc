// Winograd's filtering in integers with AVX2.
#if defined(__x86_64__)
#include "target/cpu/simd/avx2_byte_finish.h"

namespace tenon::cpu {
namespace {

using namespace avx2::bytes;

using Vector = __m256i;
constexpr int64_t kChannels = sizeof(Vector) / sizeof(int16_t);

Vector plus16(Vector a, Vector b) {
  return _mm256_add_epi16(a, b);
}
Vector minus16(Vector a, Vector b) {
  return _mm256_sub_epi16(a, b);
}
template <int N> Vector times_power16(Vector a) {
  return _mm256_slli_epi16(a, N);
}
Vector plus(Vector a, Vector b) {
  return _mm256_add_epi32(a, b);
}
Vector minus(Vector a, Vector b) {
  return _mm256_sub_epi32(a, b);
}
template <int N> Vector times_power(Vector a) {
  return _mm256_slli_epi32(a, N);
}
Vector times(Vector a, int32_t b) {
  return _mm256_mullo_epi32(a, _mm256_set1_epi32(b));
}
template <int N> Vector right(Vector a) {
  return _mm256_srai_epi32(a, N);
}
Vector load_widened(const uint8_t* from, uint8_t flip) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return _mm256_cvtepu8_epi16(_mm_xor_si128(bytes, _mm_set1_epi8(static_cast<char>(flip))));
}
Vector load(const int32_t* sums) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums));
}
void store(Vector x, int16_t* to) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), x);
}

}  // namespace
}  // namespace tenon::cpu

#include "target/cpu/simd/byte_winograd_inl.h"

namespace tenon::cpu {

const ByteWinograd avx2::kByteWinograd[2] = {form<Two>(), form<Four>()};

}  // namespace tenon::cpu
#endif
