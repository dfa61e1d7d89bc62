// Ends a check that cannot be made at all.
#pragma once

#include <fmt/format.h>

#include "check/check.h"

namespace tenon::check {

/// Throws a Failure; the text is formatted as fmt::format does.
template <class... Args> [[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) {
  throw Failure(fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
[[noreturn]] void fail(ErrorClass error_class, fmt::format_string<Args...> text, Args&&... args) {
  throw Failure(error_class, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace tenon::check
