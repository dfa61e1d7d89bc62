#include "ops/support/rounding.h"

#include <cstring>

#include "base/error.h"

namespace tenon {
namespace {

// One loop for each step, so that compilers vectorise both.
template <class T, class Number>
void store_all(const Requantization& r, const int32_t* sums, int64_t count, T* to,
               const Number& number) {
  if (r.step == 0) {
    const float scale = *r.scale, shift = *r.shift;
    for (int64_t i = 0; i < count; ++i) to[i] = number(static_cast<float>(sums[i]) * scale + shift);
  } else {
    for (int64_t i = 0; i < count; ++i)
      to[i] = number(static_cast<float>(sums[i]) * r.scale[i] + r.shift[i]);
  }
}

template <class T>
void store_quantized(const Requantization& r, const int32_t* sums, int64_t count, T* to) {
  const IntegerRange range = r.bounds.of(r.to);
  const float low = static_cast<float>(range.lowest) - r.zero;
  const float high = static_cast<float>(range.highest) - r.zero;
  const auto zero = static_cast<int32_t>(r.zero);
  store_all(r, sums, count, to, [&](float x) {
    return static_cast<T>(static_cast<int32_t>(rounded(x, low, high)) + zero);
  });
}

}  // namespace

void ResultBounds::visit(FieldVisitor& v) {
  v("lowest", lowest);
  v("highest", highest);
}

void ResultBounds::check(DataType to) const {
  if (!used()) return;
  require(is_byte(to), "only results of int8 and uint8 have bounds, found {}", name_of(to));
  const IntegerRange range = integer_range(to);
  require(range.lowest <= lowest && lowest < highest && highest <= range.highest,
          "expected bounds of the result from {} to {}, found {} and {}", range.lowest,
          range.highest, lowest, highest);
}

IntegerRange ResultBounds::of(DataType to) const {
  return used() ? IntegerRange{lowest, highest} : integer_range(to);
}

void Requantization::store(const int32_t* sums, int64_t count, void* out) const {
  switch (to) {
    case DataType::kINT32:
      if (out != sums) std::memcpy(out, sums, static_cast<size_t>(count) * sizeof(int32_t));
      return;
    case DataType::kFLOAT:
      return store_all(*this, sums, count, static_cast<float*>(out), [](float x) { return x; });
    case DataType::kHALF:
      return store_all(*this, sums, count, static_cast<Half*>(out),
                       [](float x) { return static_cast<Half>(x); });
    case DataType::kBF16:
      return store_all(*this, sums, count, static_cast<BFloat16*>(out),
                       [](float x) { return BFloat16(x); });
    case DataType::kINT8:
      return store_quantized(*this, sums, count, static_cast<int8_t*>(out));
    case DataType::kUINT8:
      return store_quantized(*this, sums, count, static_cast<uint8_t*>(out));
    default:
      fail(ErrorCode::kINTERNAL_ERROR, "a sum cannot become {}", name_of(to));
  }
}

}  // namespace tenon
