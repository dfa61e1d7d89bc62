#include "tenon/session/array.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <concepts>
#include <limits>
#include <utility>

#include "guard.h"

namespace tenon::session {
namespace {

using nvinfer1::DataType;

struct TypeRow {
  DataType type;
  size_t size;
  const char* name;
};
constexpr TypeRow kTypes[] = {
    {DataType::kFLOAT, 4, "float32"}, {DataType::kHALF, 2, "float16"},
    {DataType::kINT8, 1, "int8"},     {DataType::kINT32, 4, "int32"},
    {DataType::kBOOL, 1, "bool"},     {DataType::kUINT8, 1, "uint8"},
    {DataType::kFP8, 1, "float8"},    {DataType::kBF16, 2, "bfloat16"},
    {DataType::kINT64, 8, "int64"},
};

const TypeRow* row(DataType type) {
  for (const TypeRow& r : kTypes)
    if (r.type == type) return &r;
  return nullptr;
}

// Types that C++20 has no number for.
struct Bfloat16 {
  uint16_t bits;
};
struct Bool {
  uint8_t value;
};

float from_bfloat16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}
uint16_t to_bfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40u);  // rounding could end it
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

// An element as the widest number of its kind, int64 or double: neither goes through the other.
int64_t widened(Bool v) {
  return v.value != 0;
}
double widened(Bfloat16 v) {
  return static_cast<double>(from_bfloat16(v.bits));
}
double widened(_Float16 v) {
  return static_cast<double>(v);
}
double widened(float v) {
  return static_cast<double>(v);
}
template <std::integral T> int64_t widened(T v) {
  return v;
}

// put(to, v) is false where the type of `to` cannot hold v.
template <class V> bool put(float& to, V v) {
  to = static_cast<float>(v);
  return std::isfinite(to) || !std::isfinite(static_cast<double>(v));
}
template <class V> bool put(_Float16& to, V v) {
  to = static_cast<_Float16>(v);
  return std::isfinite(static_cast<float>(to)) || !std::isfinite(static_cast<double>(v));
}
template <class V> bool put(Bfloat16& to, V v) {
  const auto value = static_cast<float>(v);
  to.bits = to_bfloat16(value);
  return std::isfinite(from_bfloat16(to.bits)) || !std::isfinite(static_cast<double>(v));
}
template <class V> bool put(Bool& to, V v) {
  to.value = v != 0;
  return v == 0 || v == 1;
}
template <std::integral T> bool put(T& to, int64_t v) {
  to = static_cast<T>(v);
  return std::in_range<T>(v);
}
// Both bounds are exact as doubles: the least of T is one, and one more than the most is a power of
// two.
template <std::integral T> bool put(T& to, double v) {
  const double end = 2 * (static_cast<double>(std::numeric_limits<T>::max() / 2) + 1);
  const bool fits =
      v >= static_cast<double>(std::numeric_limits<T>::min()) && v < end && v == std::trunc(v);
  to = fits ? static_cast<T>(v) : T{};
  return fits;
}

// Calls `call` with a null pointer to the elements' type; false for types that are no numbers here.
template <class Call> bool with_type(DataType type, const Call& call) {
  const auto with = [&]<class T>(T* none) {
    call(none);
    return true;
  };
  switch (type) {
    case DataType::kFLOAT:
      return with(static_cast<float*>(nullptr));
    case DataType::kHALF:
      return with(static_cast<_Float16*>(nullptr));
    case DataType::kBF16:
      return with(static_cast<Bfloat16*>(nullptr));
    case DataType::kINT8:
      return with(static_cast<int8_t*>(nullptr));
    case DataType::kUINT8:
      return with(static_cast<uint8_t*>(nullptr));
    case DataType::kBOOL:
      return with(static_cast<Bool*>(nullptr));
    case DataType::kINT32:
      return with(static_cast<int32_t*>(nullptr));
    case DataType::kINT64:
      return with(static_cast<int64_t*>(nullptr));
    default:
      return false;
  }
}

bool is_integer(DataType type) {
  return type == DataType::kINT8 || type == DataType::kUINT8 || type == DataType::kBOOL
         || type == DataType::kINT32 || type == DataType::kINT64;
}

// The fewest digits that read back as the same number, with an exponent where it would be long.
std::string text_of(double v) {
  const double size = std::abs(v);
  const bool is_short = size == 0 || (size >= 1e-4 && size < 1e16);
  char text[32];
  const auto [end, error] =
      std::to_chars(text, text + sizeof text, v,
                    is_short ? std::chars_format::fixed : std::chars_format::scientific);
  return {text, end};
}
std::string text_of(int64_t v) {
  return std::to_string(v);
}

template <class To, class From>
void copy_elements(Array& out, const Array& array, std::string_view name) {
  const size_t count = out.bytes.size() / sizeof(To);
  for (size_t i = 0; i < count; ++i) {
    const auto value = widened(array.as<From>()[i]);
    if (!put(out.as<To>()[i], value))
      throw Error{std::string(name) + ": element " + position_text(out.shape, i) + " is "
                  + text_of(value) + ", which " + type_name(out.type) + " cannot hold"};
  }
}

template <class Number> std::vector<Number> elements(const Array& array) {
  std::vector<Number> out(static_cast<size_t>(array.count()));
  const bool fine = with_type(array.type, [&]<class T>(T*) {
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<Number>(widened(array.as<T>()[i]));
  });
  if (!fine) throw Error{type_name(array.type) + " tensors cannot be converted"};
  return out;
}

}  // namespace

int64_t Array::count() const {
  int64_t product = 1;
  for (const int64_t extent : shape) product *= extent;
  return product;
}

size_t element_size(DataType type) {
  const TypeRow* r = row(type);
  return r == nullptr ? 0 : r->size;
}

std::string type_name(DataType type) {
  const TypeRow* r = row(type);
  return r == nullptr ? "data type " + std::to_string(static_cast<int>(type)) : r->name;
}

Result<Array> make_array(DataType type, const Shape& shape) {
  return guard([&] {
    constexpr int64_t kLargest = int64_t{1} << 40;
    const size_t size = element_size(type);
    if (size == 0) throw Error{"tensors of " + type_name(type) + " cannot be read or written here"};
    const bool is_empty = std::ranges::find(shape, 0) != shape.end();
    int64_t product = is_empty ? 0 : 1;
    for (const int64_t extent : shape) {
      if (extent < 0) throw Error{"shape " + shape_text(shape) + " has a negative extent"};
      if (__builtin_mul_overflow(product, extent, &product) || product > kLargest)
        throw Error{"a tensor of shape " + shape_text(shape) + " is too large"};
    }
    Array out{type, shape, {}};
    out.bytes.resize(static_cast<size_t>(product) * size);
    return out;
  });
}

Result<Array> convert(const Array& array, DataType type, std::string_view name) {
  return guard([&] {
    if (array.type == type) return array;
    Array out = value_of(make_array(type, array.shape));
    bool has_source = false;
    const bool has_target = with_type(type, [&]<class To>(To*) {
      has_source = with_type(array.type,
                             [&]<class From>(From*) { copy_elements<To, From>(out, array, name); });
    });
    if (!has_target) throw Error{std::string(name) + ": cannot be converted to " + type_name(type)};
    if (!has_source) throw Error{type_name(array.type) + " tensors cannot be converted"};
    if (array.was_rounded && is_integer(type))
      throw Error{std::string(name)
                  + ": its float64 values need more digits than float32 has: save them as "
                  + type_name(type)};
    return out;
  });
}

Result<std::vector<double>> numbers(const Array& array) {
  return guard([&] { return elements<double>(array); });
}

Result<std::vector<int64_t>> integers(const Array& array) {
  return guard([&] {
    if (!is_integer(array.type)) throw Error{type_name(array.type) + " tensors hold no integers"};
    return elements<int64_t>(array);
  });
}

}  // namespace tenon::session
