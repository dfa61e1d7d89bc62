// What the command line says when it cannot go on; main() prints it and exits with 1.
#pragma once

#include <fmt/format.h>
#include <tenon/printable.h>
#include <tenon/session/error_log.h>
#include <tenon/session/result.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tenon::tool {

class Failure : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Numbers as they are, and everything else as a text on one line: names come from files.
template <class Value> auto shown(const Value& value) {
  if constexpr (std::is_arithmetic_v<Value>)
    return value;
  else
    return printable(fmt::to_string(value));
}

template <class Value> using Shown = decltype(shown(std::declval<const Value&>()));

/// Throws a Failure, with every argument shown().
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Shown<Args>...> text, const Args&... args) {
  throw Failure(fmt::format(text, shown(args)...));
}

/// The text on one line as it is printed, with this code of tenon/error_codes.h behind it where it
/// has none: what the engine says has one.
inline std::string with_code(const std::string& text, std::string_view code) {
  const std::string line = printable(text, true);
  return line.find("[TN") != std::string::npos ? line : fmt::format("{} [{}]", line, code);
}

/// The value of a result; throws its error.
template <class T> T value_or_fail(session::Result<T> result) {
  if (!result) throw Failure(result.error());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

/// The failure of a call: what the library logged, else `otherwise`.
[[noreturn]] inline void fail_with_log(session::ErrorLog& log, const std::string& otherwise) {
  throw Failure(log.failure(otherwise).text);
}

}  // namespace tenon::tool
