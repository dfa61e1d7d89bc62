#include "stage_parameters.h"

#include <tenon/printable.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tenon::server {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& expected,
                         const std::string& found) {
  throw Error{"parameters: " + name + ": expected " + expected + ", found '" + printable(found)
              + "'"};
}

// Not finite where the text is no number.
double number_of(const std::string& text) {
  double value = NAN;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && last == end ? value : NAN;
}

std::string text_of(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

}  // namespace

std::string StageParameters::take(const std::string& name) {
  const auto found = left_.extract(name);
  return found.empty() ? std::string() : found.mapped();
}

double StageParameters::number(const std::string& name, double otherwise, double min, double max) {
  const std::string text = take(name);
  if (text.empty()) return otherwise;
  const double value = number_of(text);
  if (!(value >= min && value <= max)) refuse(name, text_of(min) + " to " + text_of(max), text);
  return value;
}

int64_t StageParameters::whole(const std::string& name, int64_t otherwise, int64_t min,
                               int64_t max) {
  const double value = number(name, static_cast<double>(otherwise), static_cast<double>(min),
                              static_cast<double>(max));
  if (value != std::trunc(value)) refuse(name, "a whole number", text_of(value));
  return static_cast<int64_t>(value);
}

size_t StageParameters::choice(const std::string& name, const std::vector<std::string>& names) {
  const std::string text = take(name);
  if (text.empty()) return 0;
  const auto found = std::ranges::find(names, text);
  std::string all;
  for (const std::string& each : names) all += (all.empty() ? "" : " or ") + each;
  if (found == names.end()) refuse(name, all, text);
  return static_cast<size_t>(found - names.begin());
}

std::array<float, 3> StageParameters::three(const std::string& name,
                                            const std::array<float, 3>& otherwise) {
  const std::string text = take(name);
  if (text.empty()) return otherwise;
  std::array<float, 3> values{};
  size_t begin = 0;
  for (size_t i = 0; i < 3; ++i) {
    const size_t end = i < 2 ? text.find(',', begin) : text.size();
    const double value =
        end == std::string::npos ? NAN : number_of(text.substr(begin, end - begin));
    if (!std::isfinite(value)) refuse(name, "three numbers, as 0.5,0.5,0.5", text);
    values[i] = static_cast<float>(value);
    begin = end + 1;
  }
  return values;
}

void StageParameters::finish() const {
  if (!left_.empty())
    throw Error{"parameters: the backend has no '" + printable(left_.begin()->first) + "'"};
}

}  // namespace tenon::server
