#include "range.h"

#include <tenon/printable.h>
#include <tenon/session/result.h>

#include <charconv>
#include <cmath>
#include <sstream>

namespace tenon::load {
namespace {

constexpr size_t kMaxLevels = 1000;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  if (text.empty() || text.back() == separator) parts.emplace_back();
  return parts;
}

}  // namespace

std::vector<double> parse_range(const std::string& option, const std::string& text) {
  const auto refuse = [&] {
    throw session::Error{option + ": expected numbers above 0, as 8, 1:64:8 or 1,8,64, found '"
                         + printable(text) + "'"};
  };
  const auto number_of = [&](const std::string& digits) {
    double number = 0;
    const char* const last = digits.data() + digits.size();
    const auto [end, error] = std::from_chars(digits.data(), last, number);
    if (error != std::errc() || end != last || !std::isfinite(number) || number <= 0) refuse();
    return number;
  };
  std::vector<double> levels;
  for (const std::string& part : split(text, ',')) {
    const std::vector<std::string> fields = split(part, ':');
    if (fields.size() > 3) refuse();
    const double from = number_of(fields[0]);
    const double to = fields.size() > 1 ? number_of(fields[1]) : from;
    const double step = fields.size() > 2 ? number_of(fields[2]) : 1;
    if (to < from) refuse();
    const double count = std::floor((to - from) / step * (1 + 1e-12)) + 1;
    if (count + static_cast<double>(levels.size()) > kMaxLevels)
      throw session::Error{option + ": expected at most " + std::to_string(kMaxLevels)
                           + " levels, found '" + printable(text) + "'"};
    for (int i = 0; i < static_cast<int>(count); ++i) levels.push_back(from + step * i);
  }
  return levels;
}

}  // namespace tenon::load
