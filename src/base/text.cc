#include "base/text.h"

#include <fmt/format.h>
#include <tenon/printable.h>

namespace tenon {

std::string one_line(std::string_view text) {
  return printable(text);
}

std::string short_line(std::string_view text) {
  constexpr size_t kFirst = 3000, kLast = 1000;  // contexts stand in front, the cause at the end
  if (text.size() <= kFirst + kLast) return one_line(text);
  const auto is_inside = [&](size_t i) {
    return (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80;
  };
  size_t first = kFirst, last = text.size() - kLast;
  while (first > 0 && is_inside(first)) --first;  // whole characters of UTF-8
  while (last < text.size() && is_inside(last)) ++last;
  return fmt::format("{} [{} bytes left out] {}", one_line(text.substr(0, first)), last - first,
                     one_line(text.substr(last)));
}

std::string text_or_empty(const char* text) {
  return text == nullptr ? "" : text;
}

}  // namespace tenon
