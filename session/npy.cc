#include "npy.h"

#include <tenon/printable.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "guard.h"

namespace tenon::session {
namespace {

using nvinfer1::DataType;

struct Descr {
  std::string_view text;  // NumPy's dtype string, without the byte order
  DataType type;
};
constexpr Descr kDescrs[] = {{"f4", DataType::kFLOAT}, {"f2", DataType::kHALF},
                             {"i1", DataType::kINT8},  {"i4", DataType::kINT32},
                             {"b1", DataType::kBOOL},  {"u1", DataType::kUINT8},
                             {"i8", DataType::kINT64}};

// What the header of an array says.
struct Header {
  std::string_view descr;
  bool is_fortran = false;  // the first axis is the fastest
  std::vector<int64_t> shape;

  bool is_swapped() const { return descr.front() == '>'; }
  std::string_view type() const { return descr.substr(1); }
};

// The text after `'key':` in the header's dictionary.
std::string_view entry(std::string_view header, std::string_view key) {
  const auto at = header.find("'" + std::string(key) + "':");
  if (at == std::string_view::npos) throw Error{"its header has no '" + std::string(key) + "'"};
  auto rest = header.substr(at + key.size() + 3);
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  return rest;
}

std::string_view parse_descr(std::string_view text) {
  const auto close = text.find('\'', 1);
  if (text.empty() || text.front() != '\'' || close == std::string_view::npos || close < 3)
    throw Error{"its header has no data type that tensors have"};
  return text.substr(1, close - 1);
}

std::vector<int64_t> parse_shape(std::string_view text) {
  const auto close = text.find(')');
  if (text.empty() || text.front() != '(' || close == std::string_view::npos)
    throw Error{"its header has a bad shape"};
  std::vector<int64_t> shape;
  for (const char *at = text.data() + 1, *end = text.data() + close; at < end;) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    int64_t extent = 0;
    const auto [next, error] = std::from_chars(at, end, extent);
    if (error != std::errc() || extent < 0) throw Error{"its header has a bad shape"};
    shape.push_back(extent);
    at = next;
  }
  return shape;
}

Header parse_header(std::string_view text) {
  Header header{parse_descr(entry(text, "descr")), false, parse_shape(entry(text, "shape"))};
  const auto order = entry(text, "fortran_order");
  header.is_fortran = order.starts_with("True");
  if (!header.is_fortran && !order.starts_with("False"))
    throw Error{"its header has a bad 'fortran_order'"};
  return header;
}

// Bytes of the elements; SIZE_MAX for more than there can be.
size_t bytes_of(const std::vector<int64_t>& shape, size_t element) {
  size_t bytes = element;
  for (const int64_t extent : shape)
    if (__builtin_mul_overflow(bytes, static_cast<size_t>(std::max<int64_t>(extent, 1)), &bytes))
      return SIZE_MAX;
  return std::ranges::count(shape, 0) > 0 ? 0 : bytes;
}

void swap_bytes(std::vector<std::byte>& bytes, size_t element) {
  for (size_t at = 0; at < bytes.size(); at += element)
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                 bytes.begin() + static_cast<std::ptrdiff_t>(at + element));
}

// From the first axis fastest to the last axis fastest.
std::vector<std::byte> to_rows(const std::vector<std::byte>& bytes,
                               const std::vector<int64_t>& shape, size_t element) {
  std::vector<std::byte> rows(bytes.size());
  std::vector<size_t> stride(shape.size(), 1), at(shape.size(), 0);
  for (size_t axis = 1; axis < shape.size(); ++axis)
    stride[axis] = stride[axis - 1] * static_cast<size_t>(shape[axis - 1]);
  size_t from = 0;
  for (size_t to = 0; to < rows.size(); to += element) {
    std::memcpy(rows.data() + to, bytes.data() + from * element, element);
    for (size_t axis = shape.size(); axis-- > 0;) {
      from += stride[axis];
      if (++at[axis] < static_cast<size_t>(shape[axis])) break;
      from -= stride[axis] * at[axis];
      at[axis] = 0;
    }
  }
  return rows;
}

std::string shortest(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

// float64, which tensors do not have, as float32.
Array rounded(const std::vector<std::byte>& doubles, const std::vector<int64_t>& shape) {
  Array array = value_of(make_array(DataType::kFLOAT, shape));
  for (size_t i = 0; i < doubles.size() / sizeof(double); ++i) {
    double value = 0;
    std::memcpy(&value, doubles.data() + i * sizeof value, sizeof value);
    const auto single = static_cast<float>(value);
    if (std::isinf(single) && !std::isinf(value))
      throw Error{"element " + position_text(shape, i) + " is " + shortest(value)
                  + ", which float32 cannot hold"};
    array.was_rounded |= single != value && !std::isnan(value);
    array.as<float>()[i] = single;
  }
  return array;
}

}  // namespace

Array parse_npy(std::vector<std::byte> file) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(file.data());
  if (file.size() < 12 || std::memcmp(bytes, "\x93NUMPY", 6) != 0)
    throw Error{"it is not a NumPy array"};
  const bool old = bytes[6] == 1;
  const size_t start = old ? 10 : 12;
  size_t length = bytes[8] | static_cast<size_t>(bytes[9]) << 8;
  if (!old) length |= static_cast<size_t>(bytes[10]) << 16 | static_cast<size_t>(bytes[11]) << 24;
  if (length > file.size() - start) throw Error{"its header is truncated"};
  const std::string text(reinterpret_cast<const char*>(bytes) + start, length);
  const Header header = parse_header(text);
  const bool is_double = header.type() == "f8";
  const auto row = std::ranges::find(kDescrs, header.type(), &Descr::text);
  if (!is_double && row == std::end(kDescrs))
    throw Error{"its data type '" + printable(header.descr) + "' is not one that tensors have"};
  const size_t element = is_double ? sizeof(double) : element_size(row->type);
  // Only the data become memory here: what the shape says is compared with them.
  file.erase(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(start + length));
  if (const size_t wanted = bytes_of(header.shape, element); file.size() != wanted)
    throw Error{"its shape " + shape_text(header.shape) + " needs " + std::to_string(wanted)
                + " bytes; it has " + std::to_string(file.size())};
  if (header.is_swapped()) swap_bytes(file, element);
  if (header.is_fortran) file = to_rows(file, header.shape, element);
  if (is_double) return rounded(file, header.shape);
  return {row->type, header.shape, std::move(file)};
}

std::vector<std::byte> npy_of(const Array& given) {
  const Array array =
      given.type == DataType::kBF16 ? value_of(convert(given, DataType::kFLOAT)) : given;
  const auto row = std::ranges::find(kDescrs, array.type, &Descr::type);
  if (row == std::end(kDescrs))
    throw Error{type_name(array.type) + " tensors cannot be written as NumPy arrays"};
  const std::string descr = (element_size(array.type) == 1 ? "|" : "<") + std::string(row->text);
  std::string extents;
  for (const int64_t extent : array.shape) extents += std::to_string(extent) + ",";
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + extents + "), }";
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  const auto length = static_cast<uint16_t>(header.size());
  std::string head("\x93NUMPY\x01\x00", 8);
  head += static_cast<char>(length & 0xff);
  head += static_cast<char>(length >> 8);
  head += header;
  std::vector<std::byte> out(head.size() + array.bytes.size());
  std::memcpy(out.data(), head.data(), head.size());
  if (!array.bytes.empty())
    std::memcpy(out.data() + head.size(), array.bytes.data(), array.bytes.size());
  return out;
}

}  // namespace tenon::session
