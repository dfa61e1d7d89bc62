// Text of files, models and plugins for a terminal, which must not obey it.
#ifndef TENON_PRINTABLE_H
#define TENON_PRINTABLE_H

#include <string>
#include <string_view>

namespace tenon {

/// The text with control characters spelled as in C ("\n", "\x1b"): on one line, for a name in a
/// message or in a row of a table. With `keeps_lines`, for a whole message, line breaks stay.
inline std::string printable(std::string_view text, bool keeps_lines = false) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string shown;
  shown.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte >= 0x20 && byte != 0x7f) || (c == '\n' && keeps_lines))
      shown += c;
    else if (c == '\n')
      shown += "\\n";
    else if (c == '\t')
      shown += "\\t";
    else if (c == '\r')
      shown += "\\r";
    else
      (shown += "\\x") += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return shown;
}

}  // namespace tenon

#endif  // TENON_PRINTABLE_H
