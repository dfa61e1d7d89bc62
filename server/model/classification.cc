#include "classification.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <numeric>

#include "datatype.h"
#include "guard.h"
#include "tensor_memory.h"

namespace tenon::server {
namespace {

using session::value_of;

// Elements of BYTES, one behind the other, as the protocol writes them.
class BytesWriter {
 public:
  void add(std::string_view element) {
    const auto length = static_cast<uint32_t>(element.size());
    for (int shift = 0; shift < 32; shift += 8)
      all_.push_back(static_cast<char>(length >> shift & 0xff));
    all_ += element;
  }
  Tensor tensor() const {
    Tensor made = heap_tensor({static_cast<int64_t>(all_.size())}, DataType::kUINT8);
    if (!all_.empty()) std::memcpy(value_of(made.cpu()), all_.data(), all_.size());
    return made;
  }

 private:
  std::string all_;
};

float number_of(float value) {
  return value;
}
float number_of(_Float16 value) {
  return static_cast<float>(value);
}
struct BFloat16 {
  uint16_t bits;
};
float number_of(BFloat16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}
template <std::integral T> int64_t number_of(T value) {
  return static_cast<int64_t>(value);
}

// Whether one goes before the other.
bool is_better(float one, float other) {
  if (std::isnan(one) || std::isnan(other)) return !std::isnan(one) && std::isnan(other);
  return one > other;
}
bool is_better(int64_t one, int64_t other) {
  return one > other;
}

template <class T>
void add_classes(const T* values, size_t elements, size_t count,
                 const std::vector<std::string>& labels, BytesWriter& to) {
  std::vector<size_t> order(elements);
  std::iota(order.begin(), order.end(), size_t{0});
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(order.begin(), end, order.end(), [&](size_t one, size_t other) {
    const auto a = number_of(values[one]), b = number_of(values[other]);
    return is_better(a, b) || (!is_better(b, a) && one < other);
  });
  for (auto index = order.begin(); index != end; ++index) {
    char number[32];
    std::string text(number,
                     std::to_chars(number, number + sizeof number, number_of(values[*index])).ptr);
    text += ':' + std::to_string(*index);
    if (*index < labels.size() && !labels[*index].empty()) text += ':' + labels[*index];
    to.add(text);
  }
}

template <class T>
Tensor classes_of(Tensor& scores, size_t items, size_t count,
                  const std::vector<std::string>& labels) {
  const auto* const values = static_cast<const T*>(value_of(scores.cpu()));
  const size_t elements = items == 0 ? 0 : static_cast<size_t>(scores.numel()) / items;
  BytesWriter classes;
  for (size_t item = 0; item < items; ++item)
    add_classes(values + item * elements, elements, count, labels, classes);
  return classes.tensor();
}

Tensor classes_of(Tensor& scores, size_t items, size_t count,
                  const std::vector<std::string>& labels) {
  switch (scores.type()) {
    case DataType::kFLOAT:
      return classes_of<float>(scores, items, count, labels);
    case DataType::kHALF:
      return classes_of<_Float16>(scores, items, count, labels);
    case DataType::kBF16:
      return classes_of<BFloat16>(scores, items, count, labels);
    case DataType::kINT8:
      return classes_of<int8_t>(scores, items, count, labels);
    case DataType::kUINT8:
      return classes_of<uint8_t>(scores, items, count, labels);
    case DataType::kINT32:
      return classes_of<int32_t>(scores, items, count, labels);
    case DataType::kINT64:
      return classes_of<int64_t>(scores, items, count, labels);
    default:
      throw Error{"classification: " + std::string(datatype_name(scores.type()))
                  + " has no best classes"};
  }
}

}  // namespace

Shape classify(Tensor& output, size_t count, bool has_batch,
               const std::vector<std::string>& labels) {
  const Shape& shape = output.shape();
  has_batch = has_batch && !shape.empty();
  const size_t items = has_batch ? static_cast<size_t>(shape[0]) : 1;
  count = std::min(count, static_cast<size_t>(output.count(has_batch ? 1 : 0)));
  Shape of_strings;
  if (has_batch) of_strings.push_back(shape[0]);
  of_strings.push_back(static_cast<int64_t>(count));
  output = classes_of(output, items, count, labels);
  return of_strings;
}

std::vector<std::string_view> bytes_elements(Tensor& tensor) {
  const auto* at = static_cast<const char*>(value_of(tensor.cpu()));
  const char* const end = at + tensor.bytes();
  std::vector<std::string_view> elements;
  while (end - at >= 4) {
    uint32_t length = 0;
    for (int i = 0; i < 4; ++i)
      length |= static_cast<uint32_t>(static_cast<uint8_t>(at[i])) << 8 * i;
    at += 4;
    elements.emplace_back(at, std::min<size_t>(length, static_cast<size_t>(end - at)));
    at += elements.back().size();
  }
  return elements;
}

}  // namespace tenon::server
