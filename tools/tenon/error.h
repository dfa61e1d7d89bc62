// What the command line says when it cannot go on; main() prints it and exits with 1.
#pragma once

#include <fmt/format.h>
#include <tenon/error_codes.h>
#include <tenon/printable.h>
#include <tenon/session/error_log.h>
#include <tenon/session/result.h>

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>

namespace tenon::tool {

/// Of the class that is said, else of kCommand.
class Failure : public CodedError {
 public:
  explicit Failure(const std::string& text) : CodedError(ErrorClass::kCommand, text) {}
  using CodedError::CodedError;
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

template <class... Args>
[[noreturn]] void fail(ErrorClass error_class, fmt::format_string<Shown<Args>...> text,
                       const Args&... args) {
  throw Failure(error_class, fmt::format(text, shown(args)...));
}

/// The text and what follows it, in front of the code where it has one.
inline std::string continued(const std::string& text, const std::string& more) {
  const size_t code = std::min(text.rfind(" [TN"), text.size());
  return text.substr(0, code) + more + text.substr(code);
}

/// The text as it is printed, with the code behind it.
inline std::string printed(const std::string& text, ErrorClass error_class) {
  return with_code(printable(text, true), error_class);
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
