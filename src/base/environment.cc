#include "base/environment.h"

#include <charconv>
#include <cstdlib>

#include "base/error.h"
#include "base/text.h"

namespace tenon {

std::optional<size_t> environment_number(const char* variable, size_t min, size_t max,
                                         std::string_view unit) {
  const char* const value = std::getenv(variable);
  if (value == nullptr) return std::nullopt;
  const std::string_view text = value;
  const char* const end = text.data() + text.size();
  size_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  require(error == std::errc() && rest == end && number >= min && number <= max,
          "the environment variable {} is '{}'; expected a number{}{} from {} to {}", variable,
          one_line(text), unit.empty() ? "" : " of ", unit, min, max);
  return number;
}

}  // namespace tenon
