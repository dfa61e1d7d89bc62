#include "array.h"

#include <bit>
#include <cmath>
#include <limits>

#include "error.h"

namespace tenon::tool {
namespace {

using nvinfer1::DataType;

struct TypeRow {
  DataType type;
  size_t size;
  std::string_view name;
};
constexpr TypeRow kTypes[] = {
    {DataType::kFLOAT, 4, "float32"}, {DataType::kHALF, 2, "float16"},
    {DataType::kINT8, 1, "int8"},     {DataType::kINT32, 4, "int32"},
    {DataType::kBOOL, 1, "bool"},     {DataType::kUINT8, 1, "uint8"},
    {DataType::kFP8, 1, "float8"},    {DataType::kBF16, 2, "bfloat16"},
    {DataType::kINT64, 8, "int64"},
};

const TypeRow& row(DataType type) {
  for (const TypeRow& r : kTypes)
    if (r.type == type) return r;
  fail("tensors of data type {} cannot be read or written here", static_cast<int>(type));
}

float from_bfloat16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}
uint16_t to_bfloat16(float value) {
  const auto word = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>(word >> 16 | 0x40u);  // rounding could end it
  return static_cast<uint16_t>((word + 0x7fffu + (word >> 16 & 1u)) >> 16);
}

bool put(float& to, double v) {
  to = static_cast<float>(v);
  return std::isfinite(to) || !std::isfinite(v);
}
bool put(_Float16& to, double v) {
  to = static_cast<_Float16>(v);
  return std::isfinite(static_cast<float>(to)) || !std::isfinite(v);
}
// Both bounds are exact as doubles: the least of T is one, and one more than the most is a power of
// two.
template <class T> bool put(T& to, double v) {
  const double end = 2 * (static_cast<double>(std::numeric_limits<T>::max() / 2) + 1);
  const bool fits =
      v >= static_cast<double>(std::numeric_limits<T>::min()) && v < end && v == std::trunc(v);
  to = fits ? static_cast<T>(v) : T{};
  return fits;
}

struct Bfloat16 {
  uint16_t bits;
};
bool put(Bfloat16& to, double v) {
  const auto value = static_cast<float>(v);
  to.bits = to_bfloat16(value);
  return std::isfinite(from_bfloat16(to.bits)) || !std::isfinite(v);
}

struct Truth {
  uint8_t value;
};
bool put(Truth& to, double v) {
  to.value = v != 0;
  return v == 0 || v == 1;
}

template <class T>
void put_all(Array& out, const std::vector<double>& values, std::string_view name) {
  for (size_t i = 0; i < values.size(); ++i)
    if (!put(out.as<T>()[i], values[i]))
      fail("{}: element {} is {}, which {} cannot hold", name, position_text(out.shape, i),
           values[i], type_name(out.type));
}

}  // namespace

int64_t Array::count() const {
  int64_t product = 1;
  for (int64_t extent : shape) product *= extent;
  return product;
}

size_t element_size(DataType type) {
  return row(type).size;
}
std::string_view type_name(DataType type) {
  return row(type).name;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

std::vector<int64_t> to_vector(const nvinfer1::Dims& dims) {
  return {dims.d, dims.d + std::max(dims.nbDims, 0)};
}

nvinfer1::Dims to_dims(const std::vector<int64_t>& shape) {
  if (shape.size() > nvinfer1::Dims::MAX_DIMS)
    fail("shape {} has {} dimensions; at most {} are possible", shape_text(shape), shape.size(),
         static_cast<int>(nvinfer1::Dims::MAX_DIMS));
  nvinfer1::Dims dims{};
  dims.nbDims = static_cast<int32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), dims.d);
  return dims;
}

Array make_array(DataType type, const std::vector<int64_t>& shape) {
  constexpr int64_t kLargest = int64_t{1} << 40;
  int64_t product = 1;
  for (int64_t extent : shape) {
    if (extent < 0) fail("shape {} has a negative extent", shape_text(shape));
    if (__builtin_mul_overflow(product, extent, &product) || product > kLargest)
      fail("a tensor of shape {} is too large", shape_text(shape));
  }
  Array out{type, shape, {}};
  out.bytes.resize(static_cast<size_t>(product) * element_size(type));
  return out;
}

std::vector<double> numbers(const Array& array) {
  std::vector<double> out(static_cast<size_t>(array.count()));
  for (size_t i = 0; i < out.size(); ++i) switch (array.type) {
      case DataType::kFLOAT:
        out[i] = array.as<float>()[i];
        break;
      case DataType::kHALF:
        out[i] = static_cast<double>(array.as<_Float16>()[i]);
        break;
      case DataType::kBF16:
        out[i] = from_bfloat16(array.as<uint16_t>()[i]);
        break;
      case DataType::kINT8:
        out[i] = array.as<int8_t>()[i];
        break;
      case DataType::kUINT8:
        out[i] = array.as<uint8_t>()[i];
        break;
      case DataType::kBOOL:
        out[i] = array.as<uint8_t>()[i] != 0;
        break;
      case DataType::kINT32:
        out[i] = array.as<int32_t>()[i];
        break;
      case DataType::kINT64:
        out[i] = static_cast<double>(array.as<int64_t>()[i]);
        break;
      default:
        fail("{} tensors cannot be converted", type_name(array.type));
    }
  return out;
}

std::string position_text(const std::vector<int64_t>& shape, size_t i) {
  std::vector<size_t> at(shape.size());
  for (size_t axis = shape.size(); axis-- > 0; i /= static_cast<size_t>(shape[axis]))
    at[axis] = i % static_cast<size_t>(shape[axis]);
  return fmt::format("[{}]", fmt::join(at, ", "));
}

Array convert(const Array& array, DataType type, std::string_view name) {
  if (array.type == type) return array;
  Array out = make_array(type, array.shape);
  const auto values = numbers(array);
  switch (type) {
    case DataType::kFLOAT:
      put_all<float>(out, values, name);
      return out;
    case DataType::kHALF:
      put_all<_Float16>(out, values, name);
      return out;
    case DataType::kBF16:
      put_all<Bfloat16>(out, values, name);
      return out;
    case DataType::kINT8:
      put_all<int8_t>(out, values, name);
      break;
    case DataType::kUINT8:
      put_all<uint8_t>(out, values, name);
      break;
    case DataType::kBOOL:
      put_all<Truth>(out, values, name);
      break;
    case DataType::kINT32:
      put_all<int32_t>(out, values, name);
      break;
    case DataType::kINT64:
      put_all<int64_t>(out, values, name);
      break;
    default:
      fail("{}: cannot be converted to {}", name, type_name(type));
  }
  if (array.was_rounded)
    fail("{}: its float64 values need more digits than float32 has: save them as {}", name,
         type_name(type));
  return out;
}

}  // namespace tenon::tool
