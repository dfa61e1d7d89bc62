#include "edit/wire.h"

#include <bit>

#include "base/error.h"

namespace tenon::edit {

uint64_t take_varint(std::string_view& bytes) {
  uint64_t number = 0;
  for (size_t i = 0; i < 10; ++i) {
    require(i < bytes.size(), "the bytes end within a number");
    const auto byte = static_cast<uint8_t>(bytes[i]);
    number |= uint64_t{byte & 127u} << (7 * i);
    if (byte >= 128) continue;
    bytes.remove_prefix(i + 1);
    return number;
  }
  fail(ErrorCode::kINVALID_ARGUMENT, "a number takes more than 10 bytes");
}

std::optional<Record> Records::next() {
  if (rest_.empty()) return std::nullopt;
  const std::string_view start = rest_;
  Record record;
  const uint64_t tag = take_varint(rest_);
  require(tag >> 3 != 0 && tag >> 3 < (1u << 29), "a field has the number {}", tag >> 3);
  record.field = static_cast<uint32_t>(tag >> 3);
  record.wire = static_cast<Record::Wire>(tag & 7);
  uint64_t length = 0;
  switch (record.wire) {
    case Record::kVarint:
      record.number = take_varint(rest_);
      break;
    case Record::kFixed64:
      length = 8;
      break;
    case Record::kFixed32:
      length = 4;
      break;
    case Record::kBytes:
      length = take_varint(rest_);
      break;
    default:
      fail(ErrorCode::kINVALID_ARGUMENT, "field {} is of kind {}, which ONNX does not use",
           record.field, tag & 7);
  }
  require(length <= rest_.size(), "field {} needs {} bytes, and {} are left", record.field, length,
          rest_.size());
  record.payload = rest_.substr(0, length);
  rest_.remove_prefix(length);
  record.whole = start.substr(0, start.size() - rest_.size());
  return record;
}

void append_varint(std::string& to, uint64_t number) {
  for (; number >= 128; number >>= 7) to += static_cast<char>(number | 128);
  to += static_cast<char>(number);
}

void append_number(std::string& to, uint32_t field, uint64_t number) {
  append_varint(to, uint64_t{field} << 3 | Record::kVarint);
  append_varint(to, number);
}

void append_bytes(std::string& to, uint32_t field, std::string_view bytes) {
  to += prefix_of(field, bytes.size());
  to += bytes;
}

void append_float(std::string& to, uint32_t field, float number) {
  append_varint(to, uint64_t{field} << 3 | Record::kFixed32);
  const auto bits = std::bit_cast<uint32_t>(number);
  for (int shift = 0; shift < 32; shift += 8) to += static_cast<char>(bits >> shift);
}

std::string prefix_of(uint32_t field, uint64_t length) {
  std::string prefix;
  append_varint(prefix, uint64_t{field} << 3 | Record::kBytes);
  append_varint(prefix, length);
  return prefix;
}

void append_numbers(std::vector<int64_t>& to, const Record& record) {
  if (record.wire == Record::kVarint) to.push_back(static_cast<int64_t>(record.number));
  if (record.wire != Record::kBytes) return;
  for (std::string_view rest = record.payload; !rest.empty();)
    to.push_back(static_cast<int64_t>(take_varint(rest)));
}

std::string_view bytes_field(std::string_view message, uint32_t field) {
  std::string_view found;
  Records records(message);
  while (const auto record = records.next())
    if (record->field == field && record->wire == Record::kBytes) found = record->payload;
  return found;
}

int64_t number_field(std::string_view message, uint32_t field, int64_t otherwise) {
  Records records(message);
  while (const auto record = records.next())
    if (record->field == field && record->wire == Record::kVarint)
      otherwise = static_cast<int64_t>(record->number);
  return otherwise;
}

}  // namespace tenon::edit
