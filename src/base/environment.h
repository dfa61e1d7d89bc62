// Numbers in environment variables.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace tenon {

/// The whole number in the environment variable; nothing when it is not set. Throws, naming the
/// variable, what it holds and what is expected, for what is no number from `min` to `max`.
/// @param unit what the number counts, for the message; "" for nothing in particular.
std::optional<size_t> environment_number(const char* variable, size_t min, size_t max,
                                         std::string_view unit = "");

}  // namespace tenon
