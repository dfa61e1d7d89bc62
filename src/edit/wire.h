// Protocol buffers as bytes: records found where they lie, and new ones put together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::edit {

/// One field of a message, as stored.
struct Record {
  enum Wire : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
  uint32_t field = 0;
  Wire wire = kVarint;
  std::string_view whole;    // with its tag and length
  std::string_view payload;  // of kBytes, kFixed32 and kFixed64
  uint64_t number = 0;       // of kVarint
};

/// Walks over the records of a message.
class Records {
 public:
  explicit Records(std::string_view message) : rest_(message) {}
  /// The next record; none at the end. Throws Error for what is cut off or malformed.
  std::optional<Record> next();

 private:
  std::string_view rest_;
};

/// Takes a number off the front. Throws Error for one that is cut off or longer than 10 bytes.
uint64_t take_varint(std::string_view& bytes);

void append_varint(std::string& to, uint64_t number);
/// A field with a number, with bytes (a text or message), or with a float.
void append_number(std::string& to, uint32_t field, uint64_t number);
void append_bytes(std::string& to, uint32_t field, std::string_view bytes);
void append_float(std::string& to, uint32_t field, float number);
/// The tag and length that stand before the bytes of a field.
std::string prefix_of(uint32_t field, uint64_t length);

/// The numbers of a repeated field, packed or one by one, of which the record is a part.
void append_numbers(std::vector<int64_t>& to, const Record& record);

/// The last value of a field, as a message with one of it has; the default where there is none.
std::string_view bytes_field(std::string_view message, uint32_t field);
int64_t number_field(std::string_view message, uint32_t field, int64_t otherwise = 0);

}  // namespace tenon::edit
