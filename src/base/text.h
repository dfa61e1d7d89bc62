// Text for people to read.
#pragma once

#include <string>
#include <string_view>

namespace tenon {

/// The text on one line: control characters, which names from files may hold, are spelled as in C
/// ("\n", "\x1b").
std::string one_line(std::string_view text);

}  // namespace tenon
