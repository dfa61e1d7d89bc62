// Text of files, models and plugins for a terminal, which must not obey it.
#ifndef TENON_PRINTABLE_H
#define TENON_PRINTABLE_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenon {

/// How many bytes the first character of `text` takes in UTF-8; 0 where these are none.
/// @pre the text is not empty.
inline size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const size_t extra = first < 0x80 ? 0 : first >> 5 == 6 ? 1 : first >> 4 == 14 ? 2 : 3;
  if ((extra == 3 && first >> 3 != 30) || extra >= text.size()) return 0;
  uint32_t code = extra == 0 ? first : first & (0x3fu >> extra);
  for (size_t i = 1; i <= extra; ++i) {
    if (byte(i) >> 6 != 2) return 0;
    code = code << 6 | (byte(i) & 0x3fu);
  }
  constexpr uint32_t kSmallest[] = {0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  return code < kSmallest[extra] || code > 0x10ffff || is_surrogate ? 0 : extra + 1;
}

/// The text with control characters, and bytes that are no UTF-8, spelled as in C ("\n", "\x1b"):
/// on one line, for a name in a message or in a row of a table. With `keeps_lines`, for a whole
/// message, line breaks stay.
inline std::string printable(std::string_view text, bool keeps_lines = false) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const char c = text[0];
    const auto byte = static_cast<unsigned char>(c);
    const size_t length = utf8_length(text);
    if (length > 1 || (length == 1 && byte >= 0x20 && byte != 0x7f) || (c == '\n' && keeps_lines))
      shown += text.substr(0, length);
    else if (c == '\n')
      shown += "\\n";
    else if (c == '\t')
      shown += "\\t";
    else if (c == '\r')
      shown += "\\r";
    else
      (shown += "\\x") += {kDigits[byte >> 4], kDigits[byte & 15]};
    text.remove_prefix(length > 0 ? length : 1);
  }
  return shown;
}

}  // namespace tenon

#endif  // TENON_PRINTABLE_H
